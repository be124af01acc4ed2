// Sessions put into a database by hand, for tests that need many, or old ones.
import { runs, sessions } from '../../src/store/records.js'
import { migrate } from '../../src/store/sqlite/database.js'
import Database from '../../src/store/sqlite/driver.js'
import { type PastRun, type Run, type Session, unknownSession } from '../../src/sessions/session.js'

export const runOf = (id: string, at: number, messages = 0): Run => ({
  id,
  createdAt: at,
  lastActiveAt: at,
  messages,
  submissions: 0,
})

export const sessionOf = (key: string, run: Run | null, fields: Partial<Session> = {}): Session => ({
  ...unknownSession('', key),
  version: 1,
  run,
  ...fields,
})

export const pastOf = (key: string, run: Run, fields: Partial<PastRun> = {}): PastRun => ({
  ...run,
  requester: '',
  key,
  endedAt: run.lastActiveAt,
  reason: 'manual',
  ...fields,
})

/** Into a database that nobody has open; made if it is not there. */
export function seed(dbPath: string, all: Session[], past: PastRun[] = []): void {
  const db = new Database(dbPath)
  db.pragma('page_size = 4096')
  db.pragma('journal_mode = WAL')
  migrate(db)
  const [insert, insertRun] = [db.prepare(sessions.insert), db.prepare(runs.insert)]
  db.transaction(() => {
    for (const one of all) insert.run(sessions.insertValues(one))
    for (const one of past) insertRun.run(runs.insertValues(one))
  })()
  db.close()
}
