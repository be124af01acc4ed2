// What all reading from SQLite has in common: bounds on what one call reads, and what a failing database is to the caller.
import { OutcomeUnknown, StoreDamaged, StoreDisplaced, StoreUnavailable } from '../store.js'
import Database from './driver.js'
import { displaced } from './place.js'

/** Bounds what one listing reads and answers with in one piece: as much as one request may hold. */
export const maxPageBytes = 1024 * 1024

/** Throws if a failed commit may have changed this record, or one of this kind. */
export type AssertKnown = (record: string) => void

/** What is read together: one that is in doubt stands for all. */
export const anyGrant = 'the whitelist'
export const anyConfirmation = 'a confirmation'

/** Reads are synchronous underneath. */
export function read<A extends unknown[], T>(query: (...args: A) => T): (...args: A) => Promise<T> {
  const reading = readNow(query)
  return async (...args) => reading(...args)
}

/** A failing database is an outage, not a bug. */
export function readNow<A extends unknown[], T>(query: (...args: A) => T): (...args: A) => T {
  return (...args) => {
    try {
      return query(...args)
    } catch (error) {
      if (error instanceof Database.SqliteError) throw toError({ error: error.message, code: error.code })
      throw error
    }
  }
}

/** What SQLite reports is the disk's or the file's fault; a broken constraint is ours. */
export function toError({
  error,
  code,
  isUnknown = false,
}: {
  error: string
  code: string
  isUnknown?: boolean
}): Error {
  if (isUnknown) return new OutcomeUnknown(`${error} (${code})`)
  if (code === '' || code.startsWith('SQLITE_CONSTRAINT')) return new Error(`${error} ${code}`.trim())
  if (code === displaced) return new StoreDisplaced(error)
  return new (code.startsWith('SQLITE_CORRUPT') ? StoreDamaged : StoreUnavailable)(`${error} (${code})`)
}

/** At least one row, and no more than fit. */
export function takeSome<T>(
  rows: IterableIterator<unknown>,
  size: (row: T) => number,
  limit = Infinity,
  maxBytes = maxPageBytes,
): { items: T[]; isAll: boolean } {
  const items: T[] = []
  let bytes = 0
  for (const row of rows as IterableIterator<T>) {
    bytes += size(row)
    if (items.length === limit || (bytes > maxBytes && items.length > 0)) return { items, isAll: false }
    items.push(row)
  }
  return { items, isAll: true }
}
