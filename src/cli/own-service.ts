// A service for one command, where none runs: the same app on the same database, reached by a socket of its own.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../app.js'
import type { Config } from '../config/schemas.js'
import { listenLocally } from '../listen.js'
import { silentLogger } from '../log.js'
import { loadRules } from '../rules-file.js'
import { refuseDamaged } from '../store/sqlite/database.js'
import { openSqliteStore } from '../store/sqlite/sqlite.js'
import { onThisThread } from '../store/sqlite/writing.js'

/** Without need the rules are not read: whoever makes a key may have a file of them that is wrong. */
export async function withService(
  config: Config,
  needsRules: boolean,
  use: (socket: string) => Promise<void>,
): Promise<void> {
  const umask = process.umask(0o077)
  const rules = needsRules && config.policy !== undefined ? loadRules(config.policy) : null
  const store = openSqliteStore(config.dbPath, onThisThread)
  const refuse = refuseDamaged(config.dbPath)
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-'))
  try {
    const { app, service, routeLocal } = await buildApp(config, { store, log: silentLogger, rules }).catch(refuse)
    await service.startPeople().catch(refuse)
    await app.ready()
    const socket = join(folder, 'socket')
    const close = await listenLocally(socket, routeLocal)
    try {
      await use(socket)
    } finally {
      await close()
      await app.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await store.close()
    // What the command writes besides is for whoever it was for.
    process.umask(umask)
  }
}
