// The architecture as docs/architecture.md states it, held against the sources: who may import whom, and what is pure.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))
const architecture = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

interface Row {
  room: string
  isPure: boolean
  rooms: string[]
  packages: string[]
}

interface Import {
  /** `src/core/vote.ts:3`. */
  place: string
  room: string
  /** As it is written. */
  path: string
  /** The room that it leads to, or the package; null for Node's own. */
  target: string | null
}

const rows = readTable(architecture)
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, room: roomOf(file), text: readFileSync(join(root, 'src', file), 'utf8') }))
const imports = sources.flatMap(({ file, text }) => importsOf(file, text))

/** The table whose first column is `room`. */
function readTable(markdown: string): Row[] {
  const lines = /^\| room \|.*\n\|[ |-]*\n((?:\|.*\n)+)/m.exec(markdown)![1]!.trim().split('\n')
  return lines.map((line) => {
    const [name, rooms, packages] = line.split('|').slice(1, 4)
    const list = (cell: string) => cell.split(',').flatMap((one) => one.trim() || [])
    const [, room, pure] = /^(\S+)( \(pure\))?$/.exec(name!.trim())!
    return { room: room!, isPure: pure !== undefined, rooms: list(rooms!), packages: list(packages!) }
  })
}

/** The folder or file directly in src: core/ for core/model.ts, app.ts for itself. */
function roomOf(file: string): string {
  const [first, ...rest] = file.split('/')
  return rest.length > 0 ? `${first}/` : first!
}

function importsOf(file: string, text: string): Import[] {
  return ts.preProcessFile(text).importedFiles.map(({ fileName: path, pos }) => ({
    place: `src/${file}:${text.slice(0, pos).split('\n').length}`,
    room: roomOf(file),
    path,
    target: path.startsWith('.')
      ? roomOf(join(file, '..', path).replace(/\.js$/, '.ts'))
      : path.startsWith('node:')
        ? null
        : path.split('/', path.startsWith('@') ? 2 : 1).join('/'),
  }))
}

/** Every import that the table does not allow, and everything it allows that no file uses. */
function problemsWith(rows: Row[], imports: Import[]): string[] {
  const allowed = ({ rooms, packages }: Row) => [...rooms, ...packages]
  const forbidden = imports.flatMap(({ place, room, path, target }) => {
    if (target === null || target === room) return []
    const row = rows.find((one) => one.room === room)
    if (row === undefined || allowed(row).includes(target)) return []
    return [
      `${place} imports '${path}', and ${room} may not import from ${target}. Move what is needed to where ${room} may ` +
        `reach it, or add ${target} to the row of ${room} in docs/architecture.md and say why in the commit.`,
    ]
  })
  const unused = rows.flatMap((row) =>
    allowed(row)
      .filter((target) => !imports.some((one) => one.room === row.room && one.target === target))
      .map(
        (target) =>
          `No file of ${row.room} imports from ${target}: take it out of the row of ${row.room} in docs/architecture.md.`,
      ),
  )
  return [...forbidden, ...unused]
}

/** The rooms of a circle, the first named again at the end; null if there is none. */
function findCircle(rows: Row[]): string[] | null {
  const safe = new Set<string>()
  const walk = (room: string, path: string[]): string[] | null => {
    if (path.includes(room)) return [...path.slice(path.indexOf(room)), room]
    if (safe.has(room)) return null
    for (const next of rows.find((row) => row.room === room)?.rooms ?? []) {
      const circle = walk(next, [...path, room])
      if (circle !== null) return circle
    }
    safe.add(room)
    return null
  }
  return rows.reduce<string[] | null>((found, { room }) => found ?? walk(room, []), null)
}

t.test('the tree and the table in docs/architecture.md name what is in src, each once', async (t) => {
  const listed = readdirSync(join(root, 'src'), { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
  const tree = /^src\/\n((?: {2}.*\n)+)/m.exec(architecture)![1]!
  t.same([...tree.matchAll(/^ {2}(\S+) +\S/gm)].map((line) => line[1]!).sort(), listed, 'the tree')
  t.same(rows.map(({ room }) => room).sort(), listed, 'the table')
})

t.test('every import is in the table, and everything in the table is imported', async (t) => {
  for (const problem of problemsWith(rows, imports)) t.fail(problem)
})

t.test('a failure names the file, the line and what to do', async (t) => {
  const table = '| room | may import from | packages |\n| --- | --- | --- |\n| a/ | c.ts | zod |\n| b/ (pure) | | |\n'
  const text = "import 'node:fs'\nimport type { B } from '../b/b.js'\nexport * from '@x/y/z'\nimport './own.js'\n"
  const [b, package_, c, zod, ...rest] = problemsWith(readTable(table), importsOf('a/a.ts', text))
  t.match(b, /^src\/a\/a\.ts:2 imports '\.\.\/b\/b\.js', and a\/ may not import from b\/\. .* row of a\/ in docs/)
  t.match(package_, /^src\/a\/a\.ts:3 imports '@x\/y\/z', and a\/ may not import from @x\/y\. /)
  t.match(c, /^No file of a\/ imports from c\.ts: take it out of the row of a\/ in docs\/architecture\.md\.$/)
  t.match(zod, 'imports from zod')
  t.same(rest, [])
})

t.test('no rooms import in a circle', async (t) => {
  const circle = findCircle(rows)
  t.equal(circle, null, `${circle?.join(' imports from ')}: one of these has to go`)
  const row = (room: string, ...rooms: string[]): Row => ({ room, isPure: false, rooms, packages: [] })
  t.same(findCircle([row('a', 'b', 'c'), row('b', 'c'), row('c', 'b')]), ['b', 'c', 'b'], 'one is found')
})

/** Fastify's, and in package.json because its newer versions warn on Node 20. */
const unimported = ['light-my-request']
t.test('every dependency is imported somewhere', async (t) => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'optionalDependencies',
    object
  >
  const used = new Set([...rows.flatMap(({ packages }) => packages), ...unimported])
  t.same(Object.keys({ ...dependencies, ...optionalDependencies }).sort(), [...used].sort())
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
const hashing = /^import \{ hash \} from 'node:crypto'$/m
/** From text to values and nothing else. */
const pureLibraries = ['yaml', 'zod']
/** What runs in a browser, which has a clock. */
const isForBrowsers = (file: string) => file.startsWith('web/browser/')
t.test('the pure rooms know no clock, no chance, and of Node nothing but hashing', async (t) => {
  const isPure = (room: string) => rows.some((row) => row.room === room && row.isPure)
  for (const { room, packages } of rows.filter((row) => row.isPure)) {
    t.same(
      packages.filter((name) => !pureLibraries.includes(name)),
      [],
      `the packages of ${room} are pure`,
    )
  }
  for (const { place, path } of imports.filter(({ room, target }) => target === null && isPure(room))) {
    const [file, line] = place.split(':') as [string, string]
    const text = readFileSync(join(root, file), 'utf8').split('\n')[Number(line) - 1]!
    t.match(text, hashing, `${place} imports '${path}', and its room is pure: take the value as an argument`)
  }
  for (const { file, text } of sources.filter(({ file, room }) => isPure(room) && !isForBrowsers(file))) {
    const impure = /Date\.now|new Date\(\)|Math\.random|\bcrypto\.|performance\.|setTimeout|process\./
    t.notMatch(text, impure, `src/${file} is pure`)
  }
})

t.test('nothing but server.ts reads the environment, and the client for whoever uses it', async (t) => {
  const readers = sources.filter(({ text }) => /process\.env/.test(text)).map(({ file }) => file)
  t.same(readers.sort(), ['client/place.ts', 'server.ts'])
})
