// After every npm ci or npm install in a clone: sees to it that better-sqlite3 is there, in the version that fits this Node.
// The lockfile names 13. A packed Holdpoint needs none of this: npm takes the newest version that fits by itself.
import { execSync } from 'node:child_process'
import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const run = (command, cwd) => execSync(`${command} --no-audit --no-fund`, { cwd, stdio: 'inherit' })
const place = path('../node_modules/better-sqlite3')

if (!existsSync(place)) {
  if (Number(process.versions.napi) >= 10) {
    // It comes with its binaries. The lockfile cannot say so: npm 10 wants to compile it, and drops it where that fails.
    run('npm install --ignore-scripts', path('..'))
  } else {
    // It needs Node-API 10, and npm leaves it out. 12 takes its place, compiled and with a lockfile of its own.
    if (!existsSync(path('node20/node_modules/better-sqlite3/build/Release/better_sqlite3.node'))) {
      run('npm ci', path('node20'))
    }
    // A link that leads nowhere does not exist, and is in the way.
    rmSync(place, { force: true })
    symlinkSync('../scripts/node20/node_modules/better-sqlite3', place, 'junction')
  }
}
