// Garbage collection of session ids: finding those that are idle, what keeps one, and removing it.
import type { CollectableRun } from '../../sessions/collect.js'
import type { RunPage, RunPlace } from '../store.js'
import type Database from './driver.js'
import { read } from './reading.js'

/** A run as it was read, packed for the way to the writer's thread. */
export type PackedRun = [
  isCurrent: 0 | 1,
  requester: string,
  sessionKey: string,
  id: string,
  messages: number,
  lastActiveAt: number,
]

export function packRun({ isCurrent, requester, key, id, messages, lastActiveAt }: CollectableRun): PackedRun {
  return [isCurrent ? 1 : 0, requester, key, id, messages, lastActiveAt]
}

type RunRow = [
  at: number,
  tie: number | string,
  requester: string,
  key: string,
  platform: string | null,
  id: string,
  createdAt: number,
  lastActiveAt: number,
  messages: number,
  submissions: number,
]

/** A current one may have been active a little after it was listed: it is among those that are read, and judged by the rest. */
export function readIdle(db: Database.Database) {
  const current = db
    .prepare(
      `SELECT listed_at, arrival, requester, session_key, platform, run_id, run_created_at, last_active_at, messages,
        submissions FROM sessions INDEXED BY sessions_active
      WHERE run_id IS NOT NULL AND listed_at <= ? AND (listed_at, arrival) > (?, ?)
      ORDER BY listed_at, arrival LIMIT ?`,
    )
    .raw()
  const past = db
    .prepare(
      `SELECT last_active_at, id, requester, session_key, platform, id, created_at, last_active_at, messages, submissions
      FROM session_runs INDEXED BY session_runs_active WHERE last_active_at <= ? AND (last_active_at, id) > (?, ?)
      ORDER BY last_active_at, id LIMIT ?`,
    )
    .raw()
  const { isFree } = watchRuns(db)

  return {
    idle: read((until: number, limit: number, after: RunPlace | null): RunPage => {
      const [kind, at, tie]: RunPlace = after ?? ['current', -1, 0]
      const rows = (kind === 'current' ? current : past).all(until, at, tie, limit) as RunRow[]
      const last = rows.length < limit ? undefined : rows.at(-1)
      const runs = rows.map((row) => toRun(row, kind === 'current'))
      if (last !== undefined) return { runs, next: [kind, last[0], last[1]] as RunPlace }
      return { runs, next: kind === 'current' ? ['past', -1, ''] : null }
    }),

    collectable: read((runs: CollectableRun[], now: number) => runs.filter((run) => isFree(packRun(run), now))),
  }
}

function toRun(row: RunRow, isCurrent: boolean): CollectableRun {
  const [, , requester, key, platform, id, createdAt, lastActiveAt, messages, submissions] = row
  return { requester, key, platform, id, createdAt, lastActiveAt, messages, submissions, isCurrent }
}

/** What keeps a run. */
function watchRuns(db: Database.Database) {
  const value = (text: string) => db.prepare(text).pluck()
  const sql = {
    // As it was read: neither used since, nor rotated, nor suspended, nor waiting for what is pending to rotate.
    current: value(`SELECT 1 FROM sessions WHERE requester = ? AND session_key = ? AND run_id = ? AND messages = ?
      AND last_active_at = ? AND suspended_at IS NULL AND due_at IS NULL`),
    // The same, and not to come back. What a suspended session was before, whoever looks into that may want to see.
    past: db
      .prepare(
        `SELECT ended_at FROM session_runs WHERE id = @id AND messages = @messages AND last_active_at = @lastActiveAt
        AND NOT EXISTS (SELECT 1 FROM sessions WHERE requester = @requester AND session_key = @sessionKey
          AND (suspended_at IS NOT NULL OR due_to = @id))`,
      )
      .pluck(),
    // What is from before there were session ids may be of any.
    open: value(`SELECT 1 FROM confirmations INDEXED BY confirmations_session_open
      WHERE share = @requester AND session_key = @sessionKey AND session_key <> '' AND due_at IS NOT NULL
        AND created_at <= @until AND coalesce(session_id, @id) = @id LIMIT 1`),
    // In open mode all requesters are one.
    granted: value(`SELECT 1 FROM grants INDEXED BY grants_session
      WHERE session_key = @sessionKey AND scope = 'session' AND revoked_at IS NULL
        AND (max_uses IS NULL OR uses < max_uses) AND (expires_at IS NULL OR expires_at > @now)
        AND (@requester = '' OR requester IN ('', @requester)) LIMIT 1`),
  }
  const isGranted = (requester: string, sessionKey: string, now: number) =>
    sql.granted.get({ requester, sessionKey, now }) !== undefined

  function isFree([isCurrent, requester, sessionKey, id, messages, lastActiveAt]: PackedRun, now: number): boolean {
    const isOpen = (until: number) => sql.open.get({ requester, sessionKey, id, until }) !== undefined
    if (isCurrent === 1) {
      const stands = sql.current.get(requester, sessionKey, id, messages, lastActiveAt) !== undefined
      return stands && !isOpen(Number.MAX_SAFE_INTEGER) && !isGranted(requester, sessionKey, now)
    }
    const endedAt = sql.past.get({ requester, sessionKey, id, messages, lastActiveAt }) as number | undefined
    return endedAt !== undefined && !isOpen(endedAt)
  }

  return { isFree, isGranted }
}

/** For the writer, inside a transaction. */
export function collectRuns(db: Database.Database) {
  const { isFree, isGranted } = watchRuns(db)
  // What must outlive a run: streaks, which only a person's approval ends, and the way to the earlier ids.
  const forget =
    db.prepare(`DELETE FROM sessions WHERE requester = @requester AND session_key = @sessionKey AND run_id IS NULL
    AND failures = 0 AND steps = 0 AND waits_until <= @now AND coalesce(repeats, 0) <= 1
    AND suspended_at IS NULL AND due_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM session_runs WHERE requester = @requester AND session_key = @sessionKey)`)
  const end =
    db.prepare(`UPDATE sessions SET run_id = NULL, run_created_at = NULL, last_active_at = NULL, listed_at = NULL, messages = 0,
    submissions = 0, reset_at = NULL, version = version + 1 WHERE requester = ? AND session_key = ?`)
  const removePast = db.prepare('DELETE FROM session_runs WHERE id = ?')

  function remove(run: PackedRun, now: number): boolean {
    if (!isFree(run, now)) return false
    const [isCurrent, requester, sessionKey, id] = run
    if (isCurrent === 1) end.run(requester, sessionKey)
    else removePast.run(id)
    // What was given to every requester of the key, and ended for this one, must not come back. A current one has no such.
    if (isCurrent === 1 || !isGranted(requester, sessionKey, now)) forget.run({ requester, sessionKey, now })
    return true
  }

  /** Answers which of them went, by their places. */
  return (runs: PackedRun[], now: number): number[] => runs.flatMap((run, place) => (remove(run, now) ? [place] : []))
}
