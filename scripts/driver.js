// After every npm ci or npm install in a clone: sees to it that better-sqlite3 is there, in the version that fits this Node.
// The lockfile names 13. A packed Holdpoint needs none of this: npm takes the newest version that fits by itself.
import { execFileSync, execSync } from 'node:child_process'
import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const place = path('../node_modules/better-sqlite3')
const node20 = path('node20')
const source = join(node20, 'node_modules/better-sqlite3')
const binary = join(source, 'build/Release/better_sqlite3.node')

/** A firewall may let a download hang for minutes; one that works is over sooner. */
const downloadMs = 15_000

try {
  if (!existsSync(place)) fetchDriver()
} catch (error) {
  const said = [error.stdout, error.stderr].map((one) => String(one ?? '').trimEnd()).filter((one) => one !== '')
  console.error([...said, error.message.split('\n')[0], '', ...advice()].join('\n'))
  process.exitCode = 1
}

function fetchDriver() {
  if (Number(process.versions.napi) >= 10) {
    // It comes with its binaries. The lockfile cannot say so: npm 10 wants to compile it, and drops it where that fails.
    npm('install --ignore-scripts --no-save', path('..'))
    return
  }
  // It needs Node-API 10, and npm leaves it out. 12 takes its place, with a lockfile of its own.
  if (!existsSync(binary)) {
    console.log(`SQLite for Node ${process.versions.node}: fetched, or else compiled, which takes about a minute …`)
    npm('ci --ignore-scripts', node20)
    if (!download()) compile()
  }
  // A link that leads nowhere does not exist, and is in the way.
  rmSync(place, { force: true })
  symlinkSync('../scripts/node20/node_modules/better-sqlite3', place, 'junction')
}

/** Its binary as its makers publish it, beside the source. */
function download() {
  if (process.env.npm_config_build_from_source !== undefined) return false
  try {
    const fetcher = join(node20, 'node_modules/prebuild-install/bin.js')
    execFileSync(process.execPath, [fetcher], { cwd: source, stdio: 'pipe', timeout: downloadMs })
  } catch {
    return false
  }
  return existsSync(binary)
}

/** Against the headers that came with this Node, where they did; else node-gyp fetches them. */
function compile() {
  const nodedir = process.env.npm_config_nodedir ?? ownHeaders()
  npm('rebuild better-sqlite3 --foreground-scripts', node20, {
    JOBS: process.env.JOBS ?? 'max',
    npm_config_build_from_source: 'true',
    ...(nodedir === undefined ? {} : { npm_config_nodedir: nodedir }),
  })
}

function ownHeaders() {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, 'include/node/node.h')) ? prefix : undefined
}

/** What npm says is kept back, and shown if it fails. */
function npm(command, cwd, env = {}) {
  execSync(`npm ${command} --no-audit --no-fund`, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' })
}

function advice() {
  if (Number(process.versions.napi) >= 10) return ['better-sqlite3 could not be installed; the reason stands above.']
  return [
    `SQLite could not be compiled for Node ${process.versions.node}. Use Node 22.14 or newer, where nothing is compiled.`,
    'To stay with Node 20: install Python 3, make and a C++ compiler; and where nodejs.org cannot be reached, name a folder',
    'that has include/node/node.h in it: npm_config_nodedir=/path npm ci',
  ]
}
