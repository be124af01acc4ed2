// The SQLite driver: better-sqlite3 in the version that fits this Node, or a sentence that says how to get it. Nothing else
// loads it.
import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'
import { StoreRefused } from '../store.js'

/**
 * 13 is for Node-API 10, which Node has from 22.14 on; 12 for the Nodes before. Where 13 runs, 12 is refused: compiled
 * against the headers of Node 24.19 or later it aborts the process when a statement is collected, at an arbitrary moment.
 */
export function loadDriver(from: string | URL, { node, napi } = process.versions): typeof BetterSqlite3 {
  const fits = Number(napi) >= 10 ? '13' : '12'
  const install =
    fits === '13'
      ? 'Install version 13: npm install --ignore-scripts better-sqlite3@13, or in a clone of Holdpoint npm ci.'
      : 'Install version 12: npm install better-sqlite3@12, or in a clone of Holdpoint npm ci. It is compiled, with Python 3, ' +
        'make and a C++ compiler; Node 22.14 and later need none of that.'
  const require = createRequire(from)

  let version: string
  try {
    version = (require('better-sqlite3/package.json') as { version: string }).version
  } catch {
    throw new StoreRefused(
      `better-sqlite3, which keeps the database, is missing: it was left out or could not be compiled. ${install}`,
    )
  }
  if (version.split('.', 1)[0] !== fits) {
    const because = fits === '13' ? 'it may abort the process at any moment' : 'it needs Node 22.14 or later'
    throw new StoreRefused(`better-sqlite3 ${version} is not for Node ${node}: ${because}. ${install}`)
  }

  const Driver = require('better-sqlite3') as typeof BetterSqlite3
  try {
    // The binary is loaded with the first database.
    new Driver(':memory:').close()
  } catch (error) {
    const because = (error as Error).message.split('\n', 1)[0]!.replace(/[.:]$/, '')
    throw new StoreRefused(
      `better-sqlite3 ${version} does not load on Node ${node} (${process.platform} ${process.arch}): ${because}. ` +
        (fits === '13'
          ? 'Delete node_modules/better-sqlite3/prebuilds and compile it: npm run build-release --prefix node_modules/better-sqlite3.'
          : install),
    )
  }
  return Driver
}

const Database = loadDriver(import.meta.url)
// The types come under the same name.
// eslint-disable-next-line @typescript-eslint/no-namespace
declare namespace Database {
  type Database = BetterSqlite3.Database
  type RunResult = BetterSqlite3.RunResult
}
export default Database

/** Which versions keep the database. */
export function driverVersions(): { driver: string; sqlite: string } {
  const { version } = createRequire(import.meta.url)('better-sqlite3/package.json') as { version: string }
  const db = new Database(':memory:')
  try {
    return { driver: version, sqlite: db.prepare('SELECT sqlite_version()').pluck().get() as string }
  } finally {
    db.close()
  }
}
