// What a program loads that uses the client: its own files and the canonical form, and nothing else of the server.
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { root } from '../e2e/program.js'

const adapters = readdirSync(join(root, 'dist/src/client/adapters'))
  .filter((name) => name.endsWith('.js') && name !== 'tool.js')
  .map((name) => `./adapters/${name}`)

/** Imports it, and prints what came with it: modules as they are loaded, and what was required or linked. */
const probe = (module: string) => `
import { createRequire, register } from 'node:module'
const hook = 'export const load = (url, context, next) => (process._rawDebug(url), next(url, context))'
register('data:text/javascript,' + encodeURIComponent(hook))
await import(${JSON.stringify(new URL(module, new URL('dist/src/client/', `file://${root}`)).href)})
process._rawDebug(...Object.keys(createRequire('/').cache), ...process.report.getReport().sharedObjects)
`

t.test('of the server nothing is loaded but the canonical form, and of packages nothing at all', async (t) => {
  const base = new URL('dist/src/', `file://${root}`).href
  for (const module of ['./index.js', ...adapters]) {
    const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', probe(module)])
    const loaded = stderr.split(/\s+/).filter((one) => one.startsWith('file:'))
    const own = loaded.filter((url) => url.startsWith(base)).map((url) => url.slice(base.length))
    t.equal(own.length, loaded.length, `${module}: ${loaded.join(' ')}`)
    t.ok(own.length > 1)
    const others = own.filter((file) => !file.startsWith('client/'))
    t.same([...new Set(others)], ['core/canonical.js'], module)
    t.notMatch(stderr, /node_modules|sqlite/, module)
  }
})
