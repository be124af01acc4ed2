// Compiles what changed since the last build: node scripts/build.js for everything, node scripts/build.js src for the program.
// With nothing to do it is over at once, and needs no compiler. What has lost its source goes from dist too.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const isAll = process.argv[2] !== 'src'
const config = isAll ? 'tsconfig.json' : 'tsconfig.src.json'
/** What runs in a browser knows other libraries than the rest does. */
const browserFolder = 'src/web/browser/'
const browserConfig = `${browserFolder}tsconfig.json`
/** What the package exports, described for the compilers of others: src/index.ts, src/client and whatever they import. */
const typesConfig = 'tsconfig.types.json'
const types = 'dist/types'
const configs = ['tsconfig.json', 'tsconfig.src.json', browserConfig, typesConfig]
const programFolders = ['src', 'integrations']
const folders = [...programFolders, 'test', 'bench', 'scripts'].filter((folder) => existsSync(folder))
/** Plugins are copied to where their hosts look for them, so each has its client with it. This one is copied as it stands. */
const pythonClient = 'clients/python/holdpoint'
const pythonClientOutput = 'dist/integrations/hermes/client'
/** And of these, what was built of them. */
const bundled = {
  'dist/integrations/openclaw/client': 'dist/src/client',
  'dist/integrations/openclaw/core/canonical.js': 'dist/src/core/canonical.js',
}
/** Each source with its hash and its output's. It is there whenever the compiler has ended by itself, and only then. */
const stamp = 'dist/.built'
/** The compiler's own. Both ways to build share it, so it always tells of what is in dist. */
const compilerState = 'dist/.tsbuildinfo'

// Before the compiler reads them: what is saved while it works is then new to the next build.
const built = [...(isAll ? folders : programFolders), pythonClient].filter((folder) => existsSync(folder))
const sources = new Map(built.flatMap(sourcesIn).map((file) => [file, hashOf(...configs, file)]))
const found = readStamp()
const stale = folders.flatMap(outputsIn).filter((output) => !existsSync(sourceOf(output)))
stale.forEach((output) => [output, `${output}.map`].forEach((file) => rmSync(file, { force: true })))
const isWhole = existsSync(join(types, 'index.d.ts')) && bundles().every(([output]) => existsSync(output))
if (!isWhole || ![...sources.keys()].every(isCurrent)) process.exitCode = await build()

async function build() {
  if (found === null) console.error('Building, once. This takes a few seconds …')
  // Without the stamp nothing in dist is trusted: that is how a build that was interrupted is found.
  rmSync(stamp, { force: true })
  if (found === null || ![...sources.keys()].map(outputOf).every((output) => existsSync(output))) {
    rmSync(compilerState, { force: true })
  }
  // Written whole each time: what the package exports no longer is then gone by itself.
  rmSync(types, { recursive: true, force: true })
  const isForBrowser = (source) => source.startsWith(join(browserFolder))
  const isBrowserCurrent = [...sources.keys()].filter(isForBrowser).every(isCurrent)
  const projects = [config, ...(isBrowserCurrent ? [] : [browserConfig]), typesConfig]
  const statuses = await Promise.all(projects.map(compile))
  if (statuses.includes(null)) return 1
  for (const source of sources.keys()) if (!source.endsWith('.ts')) copy(source)
  for (const [output, from] of bundles()) {
    rmSync(output, { recursive: true, force: true })
    cpSync(from, output, { recursive: true, filter: (file) => !/[/\\]adapters$|\.map$/.test(file) })
  }
  const status = Math.max(...statuses)
  writeStamp(status === 0 ? [...sources.keys()] : [])
  return status
}

/** Its exit code; null if it was killed. */
function compile(project) {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const child = spawn(process.execPath, [compiler, '-p', project], { stdio: 'inherit' })
  return new Promise((resolve) => child.on('exit', resolve))
}

/** Those of what there is. */
function bundles() {
  return Object.entries(bundled).filter(([, from]) => existsSync(from.replace(/^dist./, '').replace(/\.js$/, '.ts')))
}

/** What browsers and the hosts of plugins get as it stands. */
function copy(source) {
  mkdirSync(dirname(outputOf(source)), { recursive: true })
  copyFileSync(source, outputOf(source))
}

function isCurrent(source) {
  return existsSync(outputOf(source)) && found?.[source] === entryOf(source)
}

function entryOf(source) {
  return `${sources.get(source)} ${hashOf(outputOf(source))}`
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(stamp, 'utf8'))
  } catch {
    return null
  }
}

function writeStamp(built) {
  // npx runs it as a program.
  if (existsSync('dist/src/server.js')) chmodSync('dist/src/server.js', 0o755)
  mkdirSync('dist', { recursive: true })
  const entries = built.map((source) => [source, entryOf(source)])
  // In one step: half a stamp would be none, but why leave one.
  writeFileSync(`${stamp}.new`, JSON.stringify(Object.fromEntries(entries)))
  renameSync(`${stamp}.new`, stamp)
}

function hashOf(...files) {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(file)).update('\0')
  return hash.digest('hex')
}

function sourcesIn(folder) {
  const kinds = /^(integrations|clients)\b/.test(folder) ? /\.(ts|json|py|typed|yaml)$/ : /\.(ts|css|svg)$/
  return filesIn(folder).filter((file) => kinds.test(file) && !/\.d\.ts$|pyrightconfig\.json$/.test(file))
}

function outputsIn(folder) {
  return existsSync(join('dist', folder))
    ? filesIn(join('dist', folder)).filter((file) => /\.(js|css|svg)$/.test(file) && !isBundled(file))
    : []
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => !file.includes('node_modules'))
    .map((file) => join(folder, file))
}

function isBundled(output) {
  return Object.keys(bundled).some((one) => output.startsWith(join(one)))
}

function outputOf(source) {
  const inside = source.startsWith(join(pythonClient))
  return inside
    ? source.replace(join(pythonClient), join(pythonClientOutput))
    : join('dist', source.replace(/\.ts$/, '.js'))
}

function sourceOf(output) {
  return output.replace(/^dist./, '').replace(/\.js$/, '.ts')
}
