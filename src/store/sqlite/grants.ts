// Reading grants.
import { canonical } from '../../core/canonical.js'
import { type Grant, maxExactDetails, type Scope } from '../../whitelist/grant.js'
import { grants as table, hashOfDetails } from '../records.js'
import type { Cursor, Grants, Page } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { anyGrant, type AssertKnown, read } from './reading.js'

/** `noteGrant` is told of each grant that is committed. */
export function readGrants(
  db: Database.Database,
  assertKnown: AssertKnown,
): Grants & { noteGrant(grant: Grant): void } {
  const columns = table.columns()
  const rows = (text: string) => db.prepare(text).raw()
  const isLive = 'revoked_at IS NULL AND (max_uses IS NULL OR uses < max_uses)'
  const sql = {
    get: rows(`SELECT ${columns} FROM grants WHERE id = ?`),
    ofScope: rows(`SELECT ${columns} FROM grants WHERE ${table.whereKey}`),
    // In the words of the index on what is live, which is all that is read of what there ever was.
    covering: rows(`SELECT ${columns} FROM grants INDEXED BY grants_live
      WHERE action = @action AND session_key IN ('', @sessionKey) AND details_hash IN ('', @hash)
        AND coalesce(expires_at, 9007199254740991) > @now AND ${isLive}`),
    list: rows(`SELECT created_at, arrival, ${columns} FROM grants
      WHERE ${isLive} AND (expires_at IS NULL OR expires_at > @now) AND (created_at, arrival) < (@createdAt, @arrival)
      ORDER BY created_at DESC, arrival DESC LIMIT @limit`),
    ofSession: rows(`SELECT ${columns} FROM grants INDEXED BY grants_session
      WHERE session_key = ? AND scope = 'session' AND ${isLive} AND (expires_at IS NULL OR expires_at > ?)
      ORDER BY arrival LIMIT ?`),
  }
  // Few actions ever have a grant, and every submission asks: the others are not looked up.
  const actionsWithGrants = new Set(db.prepare('SELECT DISTINCT action FROM grants').pluck().all() as string[])

  return {
    mayCover: (action) => actionsWithGrants.has(action),

    noteGrant: ({ action }) => void actionsWithGrants.add(action),

    get: read((id: string) => first(sql.get.get(id))),

    // The key's columns are those of the scope.
    ofScope: read((scope: Scope) => first(sql.ofScope.get(...table.keyValues(scope as Grant)))),

    covering: read((action: string, sessionKey: string, details: string | null, now: number) => {
      if (!actionsWithGrants.has(action)) return []
      // Those of a grant are short. As submissions have them, only the order of their members differs.
      const isShort = details !== null && details.length <= maxExactDetails
      const hash = isShort ? hashOfDetails(canonical(JSON.parse(details))) : ''
      return (sql.covering.all({ action, sessionKey, hash, now }) as SqlValue[][]).map((row) => table.read(row))
    }),

    ofSession: read((sessionKey: string, now: number, limit: number) => {
      assertKnown(anyGrant)
      return (sql.ofSession.all(sessionKey, now, limit) as SqlValue[][]).map((row) => table.read(row))
    }),

    list: read((now: number, limit: number, after: Cursor | null): Page<Grant> => {
      assertKnown(anyGrant)
      const [createdAt, arrival] = after ?? [Number.MAX_SAFE_INTEGER, 0]
      const found = sql.list.all({ now, createdAt, arrival, limit: limit + 1 }) as [...Cursor, ...SqlValue[]][]
      const last = found[limit - 1]
      return {
        items: found.slice(0, limit).map((row) => table.read(row, 2)),
        next: found.length > limit && last !== undefined ? [last[0], last[1]] : null,
      }
    }),
  }
}

function first(row: unknown): Grant | undefined {
  return row === undefined ? undefined : table.read(row as SqlValue[])
}
