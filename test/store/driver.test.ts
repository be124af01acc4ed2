import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { loadDriver } from '../../src/store/sqlite/driver.js'
import { root } from '../e2e/program.js'
import { temporaryFolder } from '../support.js'

interface Ended {
  code: unknown
  signal: unknown
  stdout: string
  stderr: string
}

const runNode = (...args: string[]) =>
  new Promise<Ended>((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, signal: error?.signal ?? null, stdout, stderr }),
    )
  })

t.test('statements, iterators and databases that nobody closes are collected, and nothing aborts', async (t) => {
  const ended = await runNode('--expose-gc', fileURLToPath(new URL('collecting.js', import.meta.url)))
  t.same(ended, { code: 0, signal: null, stdout: 'collected\n', stderr: '' })
})

/** A folder where better-sqlite3 has this version and does this. */
function withDriver(t: Test, version: string, text = 'module.exports = class { close() {} }'): string {
  const folder = temporaryFolder(t)
  const home = join(folder, 'node_modules/better-sqlite3')
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'better-sqlite3', version }))
  writeFileSync(join(home, 'index.js'), text)
  return folder
}
const load = (folder: string, node: string, napi: string) =>
  loadDriver(join(folder, 'any.js'), { ...process.versions, node, napi })

t.test('each Node gets the better-sqlite3 that fits it, and refuses the other', async (t) => {
  const twelve = withDriver(t, '12.11.1')
  const thirteen = withDriver(t, '13.1.1')
  t.ok(load(twelve, '20.20.2', '9'))
  for (const node of ['22.23.3', '24.21.0', '26.10.0']) {
    t.ok(load(thirteen, node, '10'))
    t.throws(() => load(twelve, node, '10'), {
      name: 'StoreRefused',
      message:
        `better-sqlite3 12.11.1 is not for Node ${node}: it may abort the process at any moment. ` +
        'Install version 13: npm install --ignore-scripts better-sqlite3@13, or in a clone of Holdpoint npm ci.',
    })
  }
  t.throws(() => load(thirteen, '20.20.2', '9'), {
    name: 'StoreRefused',
    message: /13\.1\.1 is not for Node 20\.20\.2: it needs Node 22\.14 or later\. .* npm install better-sqlite3@12/,
  })
})

t.test('a better-sqlite3 that is missing or does not load is told with what to do', async (t) => {
  const empty = temporaryFolder(t)
  t.throws(() => load(empty, '24.21.0', '10'), { name: 'StoreRefused', message: /is missing: .*better-sqlite3@13/ })
  t.throws(() => load(empty, '20.20.2', '9'), { name: 'StoreRefused', message: /is missing: .*a C\+\+ compiler/ })

  const broken =
    'module.exports = class { constructor() { throw new Error("Cannot find module x.node\\nRequire stack:") } }'
  t.throws(() => load(withDriver(t, '13.1.1', broken), '24.21.0', '10'), {
    name: 'StoreRefused',
    message:
      /13\.1\.1 does not load on Node 24\.21\.0 .*: Cannot find module x\.node\. Delete .*prebuilds and compile it: npm run build-release/,
  })
})

t.test('the program refuses to start with the wrong one, in one sentence, and still helps', async (t) => {
  const fits = Number(process.versions.napi) >= 10 ? 13 : 12
  const home = withDriver(t, `${fits === 13 ? 12 : 13}.0.0`)
  for (const name of readdirSync(join(root, 'node_modules')).filter((one) => one !== 'better-sqlite3')) {
    symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name))
  }
  cpSync(join(root, 'dist/src'), join(home, 'dist/src'), { recursive: true })
  cpSync(join(root, 'package.json'), join(home, 'package.json'))
  const program = join(home, 'dist/src/server.js')

  const refused = await runNode(program, '--db-path', join(home, 'test.db'))
  t.match(refused, { code: 1, stdout: '', stderr: /^better-sqlite3 .* is not for Node .*\n$/ })
  t.notOk(readdirSync(home).includes('test.db'), 'nothing was made')
  t.match(await runNode(program, '--help'), { code: 0, stdout: /holdpoint/i })
})
