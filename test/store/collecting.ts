// Run as a program, with --expose-gc: makes statements, iterators and databases, forgets them, and lets the garbage
// collector find them, on the main thread and on others. An argument is the folder of another better-sqlite3 to do that to.
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type BetterSqlite3 from 'better-sqlite3'

const folder = isMainThread ? process.argv[2] : (workerData as string | undefined)
const Database =
  folder === undefined
    ? (await import('../../src/store/sqlite/driver.js')).default
    : (createRequire(import.meta.url)(folder) as typeof BetterSqlite3)

/**
 * Lets the garbage collector come from everywhere: called for, as a task of its own, and out of compiled code that finds
 * no room for a new object. In the last, V8 knows no current context: that is where better-sqlite3 12 aborts.
 */
async function collect(): Promise<void> {
  const shelf: object[] = []
  for (let n = 0; n < 300_000; n++) shelf[n % 64] = { n }
  for (const type of ['minor', 'major'] as const) {
    globalThis.gc!({ type, execution: 'sync' })
    await globalThis.gc!({ type, execution: 'async' })
  }
}

function make(): BetterSqlite3.Database {
  const db = new Database(':memory:')
  db.exec('CREATE TABLE numbers (n INTEGER PRIMARY KEY)')
  db.function('twice', (n: number) => 2 * n)
  const insert = db.prepare('INSERT INTO numbers VALUES (?)')
  db.transaction(() => {
    for (let n = 0; n < 20; n++) insert.run(n)
  })()
  return db
}

function forget(): void {
  const closed = make()
  const open = make()
  for (let n = 0; n < 50; n++) {
    closed.prepare(`SELECT twice(n) FROM numbers WHERE n > ${n}`).all()
    open.prepare(`SELECT ${n} FROM numbers`).iterate().next()
    try {
      closed.prepare(`SELECT ${n} FROM nowhere`)
    } catch {
      // A statement that never came to be.
    }
  }
  closed.close()
}

// Kept until the end, when everything is torn down at once.
const kept = make()
const statement = kept.prepare('SELECT count(*) FROM numbers')
for (let round = 0; round < 10; round++) {
  forget()
  await collect()
}
if (statement.pluck().get() !== 20) throw new Error('What was kept was lost.')

if (isMainThread) {
  const [finished, stopped] = [1, 2].map(() => new Worker(new URL(import.meta.url), { workerData: folder }))
  stopped!.once('message', () => void stopped!.terminate())
  await Promise.all([once(finished!, 'exit'), once(stopped!, 'exit')])
  process.stdout.write('collected\n')
} else {
  parentPort!.postMessage('collected')
}
