// Writes openapi.yaml from the routes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../src/app.js'
import { readInvocation } from '../src/config.js'
import { silentLogger } from '../src/log.js'
import { openSqliteStore } from '../src/store/sqlite.js'
import { onThisThread } from '../src/store/writing.js'

const folder = mkdtempSync(join(tmpdir(), 'holdpoint-openapi-'))
const invocation = readInvocation(['--db-path', join(folder, 'empty.db')], {})
if (invocation.command !== 'serve') throw new Error('unreachable')
const store = openSqliteStore(invocation.config.dbPath, onThisThread)
const { openapi } = await buildApp(invocation.config, { store, log: silentLogger })
writeFileSync('openapi.yaml', openapi())
await store.close()
rmSync(folder, { recursive: true })
