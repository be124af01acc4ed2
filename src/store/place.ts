// Whether the files that are open are still those at their path. SQLite goes on writing to a database that was deleted, and
// what it writes there is gone with the process.
import { statSync } from 'node:fs'

/** What is written cannot be relied on. */
export class Outage extends Error {
  override name = 'Outage'
  readonly code: string
  /** It may be kept all the same. */
  readonly isUnknown: boolean

  constructor(message: string, code: string, isUnknown = false) {
    super(message)
    this.code = code
    this.isUnknown = isUnknown
  }
}

export const displaced = 'DISPLACED'

/**
 * Call it once the database and its log are open. What it returns throws an Outage when one of them was removed or
 * replaced, and from then on always: what comes back later may lack what was refused meanwhile, or have more.
 */
export function watchPlace(file: string): () => void {
  const opened = new Map([file, `${file}-wal`, `${file}-shm`].map((one) => [one, identify(one)]))
  let gone: string | undefined
  return () => {
    gone ??= [...opened].find(([one, identity]) => identity !== null && identify(one) !== identity)?.[0]
    if (gone !== undefined) throw new Outage(`${gone} was removed or replaced while it was in use`, displaced)
  }
}

/** Null if it is not there, or cannot be looked at. */
function identify(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
