// Writes what is made from the code: openapi.yaml, policy.schema.json, the types of the client, the schema of the database
// for the test that holds on to it, and the tables in docs/.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../src/app.js'
import { readInvocation } from '../src/invocation.js'
import { silentLogger } from '../src/log.js'
import { rulesJsonSchema } from '../src/policy/schema.js'
import { migrate, schemaOf } from '../src/store/sqlite/database.js'
import Database from '../src/store/sqlite/driver.js'
import { openSqliteStore } from '../src/store/sqlite/sqlite.js'
import { onThisThread } from '../src/store/sqlite/writing.js'
import { clientTypesFile, createClientTypes } from './client-types.js'
import { createTables, renewTables } from './tables.js'

const openapi = await describeApi()
write('openapi.yaml', openapi)
write('policy.schema.json', rulesJsonSchema())
write(clientTypesFile, await createClientTypes(openapi, clientTypesFile))
write('test/store/schema.sql', schemaOf(migrated()))
const tables = createTables(openapi)
for (const name of readdirSync('docs').filter((one) => one.endsWith('.md'))) {
  const file = join('docs', name)
  write(file, await renewTables(readFileSync(file, 'utf8'), tables, file))
}

async function describeApi(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-docs-'))
  const invocation = readInvocation(['--db-path', join(folder, 'empty.db')], {})
  if (invocation.command !== 'serve') throw new Error('unreachable')
  const store = openSqliteStore(invocation.config.dbPath, onThisThread)
  const { openapi } = await buildApp(invocation.config, { store, log: silentLogger })
  const text = openapi()
  await store.close()
  rmSync(folder, { recursive: true })
  return text
}

function migrated(): Database.Database {
  const db = new Database(':memory:')
  migrate(db)
  return db
}

function write(file: string, text: string): void {
  if (readFileSync(file, 'utf8') === text) return
  writeFileSync(file, text)
  console.log(`${file} is new.`)
}
