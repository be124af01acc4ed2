// The architecture as docs/architecture.md draws it, held against the imports of src.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))
const architecture = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
const order = /^core <- .*$/m.exec(architecture)![0].split(' <- ')
const pure = ['core', 'access', 'policy', 'whitelist', 'audit', 'web']
/** What runs in a browser, which has a clock. */
const browserScript = 'web/browser/page.ts'

interface Source {
  /** Relative to src. */
  file: string
  unit: string
  text: string
  imports: string[]
}

const sources: Source[] = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => {
    const text = readFileSync(join(root, 'src', file), 'utf8')
    const imports = [...text.matchAll(/\bfrom\s+'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g)].map((one) => one[1] ?? one[2]!)
    return { file, unit: unitOf(file), text, imports }
  })

/** The folder or file directly under src: core/model.ts belongs to core, app.ts to app. */
function unitOf(file: string): string {
  return file.split('/')[0]!.replace(/\.[tj]s$/, '')
}

/** The unit that a relative import leads to. */
function targetOf({ file }: Source, path: string): string {
  return unitOf(join(file, '..', path))
}

t.test('everything in src has a place in the order, and everything in the order is in src', async (t) => {
  t.ok(sources.length > 30, 'the sources are found')
  t.same([...new Set(sources.map(({ unit }) => unit))].sort(), order.toSorted())
})

t.test('a file imports from its own folder or from further left', async (t) => {
  for (const source of sources) {
    for (const path of source.imports.filter((one) => one.startsWith('.'))) {
      const target = targetOf(source, path)
      const from = order.indexOf(source.unit)
      const to = order.indexOf(target)
      if (target !== source.unit && !(to >= 0 && to < from)) {
        t.fail(`src/${source.file} imports ${path}, but ${target} does not stand left of ${source.unit}`)
      }
    }
  }
})

t.test('the scan sees every way to import', async (t) => {
  const count = sources.reduce((sum, { imports }) => sum + imports.length, 0)
  const keywords = sources.reduce((sum, { text }) => sum + [...text.matchAll(/^import\b|^export .* from /gm)].length, 0)
  t.ok(count >= keywords, `${count} imports seen, ${keywords} statements`)
})

const homes: Record<string, string[]> = {
  fastify: ['routes', 'app'],
  '@fastify/rate-limit': ['routes'],
  'better-sqlite3': ['store'],
  // Fastify's, and named because its newer versions warn on Node 20.
  'light-my-request': [],
  undici: ['notify'],
  pino: ['log'],
  'pino-pretty': ['log'],
  'prom-client': ['metrics'],
  uuid: ['app'],
  yaml: ['policy', 'config', 'routes'],
  zod: ['policy', 'config', 'routes'],
}
t.test('every package is imported only where it belongs', async (t) => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'optionalDependencies',
    object
  >
  const names = Object.keys({ ...dependencies, ...optionalDependencies })
  t.same(Object.keys(homes).sort(), names.sort(), 'every dependency has a home')
  for (const { file, unit, imports } of sources) {
    for (const name of imports.filter((one) => !one.startsWith('.') && !one.startsWith('node:'))) {
      if (!homes[name]?.includes(unit)) t.fail(`src/${file} imports ${name}`)
    }
  }
})

t.test('better-sqlite3 is loaded by store/sqlite/driver.ts alone, which knows the version that fits', async (t) => {
  for (const folder of ['src', 'test', 'bench', 'scripts']) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.includes('node_modules')) continue
      const text = readFileSync(join(root, folder, file), 'utf8')
      t.notMatch(text, /^import (?!type ).*'better-sqlite3'/m, `${folder}/${file}`)
    }
  }
})

/** A hash is a function of its input; the rest of node:crypto makes chance. */
const hashing = /^import \{ hash \} from 'node:crypto'$/gm
/** From text to values and nothing else; where they may be used, the test above knows. */
const pureLibraries = ['yaml', 'zod']
t.test('the pure folders know no clock, no chance, and of the outside nothing but hashing and parsing', async (t) => {
  for (const { file, text, imports } of sources.filter(({ unit }) => pure.includes(unit))) {
    const outside = imports.filter((one) => !one.startsWith('.') && !pureLibraries.includes(one))
    const hashes = [...text.matchAll(hashing)].map(() => 'node:crypto')
    t.same(outside, hashes, `src/${file} imports nothing else from outside`)
    if (file === browserScript) continue
    t.notMatch(
      text,
      /Date\.now|new Date\(\)|Math\.random|\bcrypto\.|performance\.|setTimeout|process\./,
      `src/${file} is pure`,
    )
  }
})

t.test('pages know the records and nothing else', async (t) => {
  const web = sources.filter(({ unit }) => unit === 'web')
  const targets = web.flatMap((source) => source.imports.map((path) => targetOf(source, path)))
  t.same([...new Set(targets)].sort(), ['core', 'web'])
})

t.test('nothing but server.ts reads the environment', async (t) => {
  const readers = sources.filter(({ text }) => /process\.env/.test(text)).map(({ file }) => file)
  t.same(readers, ['server.ts'])
})

t.test('the tree in docs/architecture.md is what ls src shows', async (t) => {
  const tree = /^src\/\n((?: {2}.*\n)+)/m.exec(architecture)![1]!
  const drawn = [...tree.matchAll(/^ {2}(\S+) +\S/gm)].map((line) => line[1]!)
  const listed = readdirSync(join(root, 'src'), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  )
  t.same(drawn.toSorted(), listed.toSorted())
})
