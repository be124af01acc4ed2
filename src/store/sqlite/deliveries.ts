// Reading deliveries: a subject's, and what a channel has to do.
import type { ChannelName } from '../../core/model.js'
import { deliveries as table } from '../records.js'
import type { Deliveries, Due, Turn } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { read } from './reading.js'

export function readDeliveries(db: Database.Database): Omit<Deliveries, 'claim' | 'release'> {
  const sql = {
    of: db.prepare(`SELECT ${table.columns()} FROM deliveries WHERE confirmation_id = ?`).raw(),
    firstShare: db
      .prepare(`SELECT min(share) FROM deliveries INDEXED BY deliveries_turn WHERE channel = ? AND next_at IS NOT NULL`)
      .pluck(),
    nextShare: db
      .prepare(
        `SELECT min(share) FROM deliveries INDEXED BY deliveries_turn
        WHERE channel = ? AND share > ? AND next_at IS NOT NULL`,
      )
      .pluck(),
    // Alarms are few: they are looked for only where there is no confirmation.
    due: db.prepare(`SELECT confirmation_id AS subjectId, destination, deliveries.share,
        coalesce(created_at, (SELECT created_at FROM alarms WHERE alarms.id = confirmation_id)) AS createdAt,
        deadline, EXISTS (SELECT 1 FROM deliveries AS log WHERE log.confirmation_id = deliveries.confirmation_id
          AND log.channel = 'log' AND log.state = 'sent') AS isInLog
      FROM deliveries INDEXED BY deliveries_turn LEFT JOIN confirmations ON confirmations.id = confirmation_id
      WHERE channel = @channel AND deliveries.share = @share AND next_at <= @now AND coalesce(leased_until, 0) <= @now
        AND destination NOT IN (SELECT value FROM json_each(@except)) AND createdAt IS NOT NULL
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
    countUndelivered: db
      .prepare("SELECT count(*) FROM deliveries WHERE next_at IS NOT NULL AND channel <> 'log'")
      .pluck(),
  }
  /** The shares of a channel that have something queued, once round, this one last. */
  function* sharesAfter(channel: ChannelName, last: string): Generator<string> {
    const next = (share: string) => sql.nextShare.get(channel, share) as string | null
    for (let share = next(last); share !== null; share = next(share)) yield share
    let share = sql.firstShare.get(channel) as string | null
    for (; share !== null && share <= last; share = next(share)) yield share
  }

  return {
    of: read((id: string) => (sql.of.all(id) as SqlValue[][]).map((row) => table.read(row))),
    due: read((channel: ChannelName, now: number, limit: number, { after, fullShares, fullDestinations }: Turn) => {
      const except = JSON.stringify(fullDestinations)
      const ofShare = (share: string, limit: number) => {
        const rows = sql.due.all({ channel, share, now, except, limit }) as (Omit<Due, 'isInLog'> & {
          isInLog: number
        })[]
        return rows.map((row): Due => ({ ...row, isInLog: row.isInLog === 1 }))
      }
      const firsts: Due[] = []
      for (const share of sharesAfter(channel, after)) {
        if (!fullShares.includes(share)) firsts.push(...ofShare(share, 1))
        if (firsts.length === limit) return firsts
      }
      if (firsts.length === 0) return []
      const each = Math.floor(limit / firsts.length)
      const columns = each === 1 ? firsts.map((one) => [one]) : firsts.map(({ share }) => ofShare(share, each))
      return Array.from({ length: each }, (_, row) => columns.flatMap((column) => column[row] ?? [])).flat()
    }),
    nextDue: read((channel: ChannelName, time: number) => {
      const next = [sql.nextDue.get(channel, time), sql.nextFree.get(channel, time)] as (number | undefined)[]
      const earliest = Math.min(...next.map((at) => at ?? Infinity))
      return earliest === Infinity ? undefined : earliest
    }),
    countUndelivered: read(() => sql.countUndelivered.get() as number),
  }
}
