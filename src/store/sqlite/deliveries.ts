// Reading deliveries: a confirmation's, and what a channel has to do.
import type { ChannelName } from '../../core/model.js'
import { deliveries as table } from '../records.js'
import type { Deliveries, Due } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { read } from './reading.js'

export function readDeliveries(db: Database.Database): Omit<Deliveries, 'claim'> {
  const sql = {
    of: db.prepare(`SELECT ${table.columns()} FROM deliveries WHERE confirmation_id = ?`).raw(),
    due: db.prepare(`SELECT confirmation_id AS confirmationId, destination, created_at AS createdAt
      FROM deliveries CROSS JOIN confirmations ON id = confirmation_id
      WHERE channel = @channel AND next_at <= @now AND coalesce(leased_until, 0) <= @now
        AND destination NOT IN (SELECT value FROM json_each(@except))
      ORDER BY next_at LIMIT @limit`),
    nextDue: db
      .prepare(
        'SELECT next_at FROM deliveries WHERE channel = ? AND next_at > ? AND leased_until IS NULL ORDER BY next_at LIMIT 1',
      )
      .pluck(),
    nextFree: db
      .prepare(
        'SELECT leased_until FROM deliveries WHERE channel = ? AND leased_until > ? ORDER BY leased_until LIMIT 1',
      )
      .pluck(),
    countUndelivered: db.prepare('SELECT count(*) FROM deliveries WHERE next_at IS NOT NULL').pluck(),
  }
  return {
    of: read((id: string) => (sql.of.all(id) as SqlValue[][]).map((row) => table.read(row))),
    due: read(
      (channel: ChannelName, now: number, limit: number, except: string[]) =>
        sql.due.all({ channel, now, except: JSON.stringify(except), limit }) as Due[],
    ),
    nextDue: read((channel: ChannelName, time: number) => {
      const next = [sql.nextDue.get(channel, time), sql.nextFree.get(channel, time)] as (number | undefined)[]
      const earliest = Math.min(...next.map((at) => at ?? Infinity))
      return earliest === Infinity ? undefined : earliest
    }),
    countUndelivered: read(() => sql.countUndelivered.get() as number),
  }
}
