// Reading deliveries: a subject's, and what a channel has to do.
import type { ChannelName, DeliveryKey, MessageRef } from '../../core/model.js'
import { deliveries as table } from '../records.js'
import type { Deliveries, Due, Turn } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { read } from './reading.js'

/** So many destinations of a share are looked at one by one. */
const maxDestinations = 256

type DueRow = Omit<Due, 'isInLog' | 'isResolved'> & { isInLog: number; isResolved: number }

function toDue({ isInLog, isResolved, ...due }: DueRow): Due {
  return { ...due, isInLog: isInLog === 1, isResolved: isResolved === 1 }
}

export function readDeliveries(db: Database.Database): Omit<Deliveries, 'claim' | 'release' | 'drop' | 'note'> {
  // Alarms are few: they are looked for only where there is no confirmation.
  const found = (index: string, condition: string) =>
    db.prepare(`SELECT confirmation_id AS subjectId, channel, destination, occasion, state, deliveries.share, next_at AS dueAt,
        coalesce(created_at, (SELECT created_at FROM alarms WHERE alarms.id = confirmation_id)) AS createdAt,
        deadline, coalesce(status, 'pending') <> 'pending' AS isResolved,
        EXISTS (SELECT 1 FROM deliveries AS log WHERE log.confirmation_id = deliveries.confirmation_id
          AND log.channel = 'log' AND log.state = 'sent') AS isInLog
      FROM deliveries INDEXED BY ${index} LEFT JOIN confirmations ON confirmations.id = confirmation_id
      WHERE channel = @channel AND coalesce(leased_until, 0) <= @now AND ${condition} AND createdAt IS NOT NULL
      ORDER BY next_at LIMIT @limit`)
  const due = (index: string, condition: string) =>
    found(index, `deliveries.share = @share AND next_at <= @now AND ${condition}`)
  const sql = {
    of: db.prepare(`SELECT ${table.columns()} FROM deliveries WHERE confirmation_id = ?`).raw(),
    ofMessage: db
      .prepare(`SELECT ${table.columns()} FROM deliveries WHERE channel = ? AND chat = ? AND message = ? LIMIT 1`)
      .raw(),
    followed: db
      .prepare(
        `SELECT ${table.columns()} FROM deliveries INDEXED BY deliveries_followed
        WHERE channel = ? AND shown IS NOT NULL AND (confirmation_id, destination, occasion) > (?, ?, ?)
        ORDER BY confirmation_id, destination, occasion LIMIT ?`,
      )
      .raw(),
    firstShare: db
      .prepare(`SELECT min(share) FROM deliveries INDEXED BY deliveries_turn WHERE channel = ? AND next_at IS NOT NULL`)
      .pluck(),
    nextShare: db
      .prepare(
        `SELECT min(share) FROM deliveries INDEXED BY deliveries_turn
        WHERE channel = ? AND share > ? AND next_at IS NOT NULL`,
      )
      .pluck(),
    due: due('deliveries_turn', 'destination NOT IN (SELECT value FROM json_each(@except))'),
    dueTo: due('deliveries_to', "destination = @destination AND destination <> ''"),
    dueToAll: due('deliveries_turn', "destination = '' AND destination = @destination"),
    collected: found(
      'deliveries_collected',
      "state = 'collected' AND destination = @destination AND deliveries.share = @share",
    ),
    nextShareCollected: db
      .prepare(
        `SELECT min(share) FROM deliveries INDEXED BY deliveries_collected
        WHERE state = 'collected' AND channel = ? AND destination = ? AND share > ?`,
      )
      .pluck(),
    firstShareCollected: db
      .prepare(
        `SELECT min(share) FROM deliveries INDEXED BY deliveries_collected
        WHERE state = 'collected' AND channel = ? AND destination = ?`,
      )
      .pluck(),
    firstPlaceCollected: db
      .prepare(
        `SELECT min(destination) FROM deliveries INDEXED BY deliveries_collected
        WHERE state = 'collected' AND channel = ?`,
      )
      .pluck(),
    nextPlaceCollected: db
      .prepare(
        `SELECT min(destination) FROM deliveries INDEXED BY deliveries_collected
        WHERE state = 'collected' AND channel = ? AND destination > ?`,
      )
      .pluck(),
    asked: found(
      'deliveries_due',
      "occasion >= 'asked:' AND occasion < 'asked;' AND destination = @destination AND next_at <= @now",
    ),
    nextDestination: db
      .prepare(
        `SELECT min(destination) FROM deliveries INDEXED BY deliveries_to
        WHERE channel = ? AND share = ? AND destination > ? AND destination <> '' AND next_at IS NOT NULL`,
      )
      .pluck(),
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
  function sharesAfter(channel: ChannelName, last: string): Generator<string> {
    return roundFrom(
      last,
      () => sql.firstShare.get(channel) as string | null,
      (share) => sql.nextShare.get(channel, share) as string | null,
    )
  }

  /** As many of each share as there is room for, the first of each before the second of any. */
  function inTurns(shares: Iterable<string>, limit: number, ofShare: (share: string, limit: number) => Due[]): Due[] {
    const firsts: Due[] = []
    for (const share of shares) {
      firsts.push(...ofShare(share, 1))
      if (firsts.length === limit) return firsts
    }
    if (firsts.length === 0) return []
    const each = Math.floor(limit / firsts.length)
    const columns = each === 1 ? firsts.map((one) => [one]) : firsts.map(({ share }) => ofShare(share, each))
    return Array.from({ length: each }, (_, row) => columns.flatMap((column) => column[row] ?? [])).flat()
  }

  /**
   * Where a share has something queued that is not full, so that what is queued for those that are need not be looked through;
   * null where all of it goes to the chat itself, which has room, or to so many that this is dearer.
   */
  function openDestinations(channel: ChannelName, share: string, full: ReadonlySet<string>): string[] | null {
    const hasHome = channel !== 'callback' && !full.has('')
    const open = hasHome ? [''] : []
    let last: string | null = ''
    for (let count = 0; count <= maxDestinations; count++) {
      last = sql.nextDestination.get(channel, share, last) as string | null
      if (last === null) return count === 0 && hasHome ? null : open
      if (!full.has(last)) open.push(last)
    }
    return null
  }

  return {
    of: read((id: string) => (sql.of.all(id) as SqlValue[][]).map((row) => table.read(row))),
    ofMessage: read((channel: ChannelName, { chat, id }: MessageRef) => {
      const row = sql.ofMessage.get(channel, chat, id) as SqlValue[] | undefined
      return row && table.read(row)
    }),
    followed: read((channel: ChannelName, after: DeliveryKey | null, limit: number) => {
      const { subjectId, destination, occasion } = after ?? { subjectId: '', destination: '', occasion: '' }
      const rows = sql.followed.all(channel, subjectId, destination, occasion, limit) as SqlValue[][]
      return rows.map((row) => table.read(row))
    }),
    due: read((channel: ChannelName, now: number, limit: number, turn: Turn) => {
      const { after, fullShares, fullDestinations, only } = turn
      const full = new Set(fullDestinations)
      const except = JSON.stringify(fullDestinations)
      const ofShare = (share: string, limit: number): Due[] => {
        const asked = { channel, share, now, limit }
        const open = only !== undefined ? [only] : full.size === 0 ? null : openDestinations(channel, share, full)
        if (open === null) return (sql.due.all({ ...asked, except }) as DueRow[]).map(toDue)
        const to = (destination: string) =>
          (destination === '' ? sql.dueToAll : sql.dueTo).all({ ...asked, destination })
        const rows = open.flatMap(to) as DueRow[]
        return rows
          .sort((a, b) => a.dueAt - b.dueAt)
          .slice(0, limit)
          .map(toDue)
      }
      const shares = sharesAfter(channel, after)
      return inTurns(fullShares.length === 0 ? shares : without(shares, fullShares), limit, ofShare)
    }),
    collected: read((channel: ChannelName, destination: string, now: number, limit: number, after: string) => {
      const shares = roundFrom(
        after,
        () => sql.firstShareCollected.get(channel, destination) as string | null,
        (share) => sql.nextShareCollected.get(channel, destination, share) as string | null,
      )
      const ofShare = (share: string, limit: number) =>
        (sql.collected.all({ channel, destination, share, now, limit }) as DueRow[]).map(toDue)
      return inTurns(shares, limit, ofShare)
    }),
    placesOfCollected: read((channel: ChannelName) => {
      const places: string[] = []
      let place = sql.firstPlaceCollected.get(channel) as string | null
      for (; place !== null; place = sql.nextPlaceCollected.get(channel, place) as string | null) places.push(place)
      return places
    }),
    asked: read((channel: ChannelName, destination: string, now: number, limit: number) =>
      (sql.asked.all({ channel, destination, now, limit }) as DueRow[]).map(toDue),
    ),
    nextDue: read((channel: ChannelName, time: number) => {
      const next = [sql.nextDue.get(channel, time), sql.nextFree.get(channel, time)] as (number | undefined)[]
      const earliest = Math.min(...next.map((at) => at ?? Infinity))
      return earliest === Infinity ? undefined : earliest
    }),
    countUndelivered: read(() => sql.countUndelivered.get() as number),
  }
}

/** Once round, from the one behind this to this one itself. */
function* roundFrom(
  last: string,
  first: () => string | null,
  next: (share: string) => string | null,
): Generator<string> {
  for (let share = next(last); share !== null; share = next(share)) yield share
  let share = first()
  for (; share !== null && share <= last; share = next(share)) yield share
}

function* without(all: Iterable<string>, these: string[]): Generator<string> {
  for (const one of all) if (!these.includes(one)) yield one
}
