// Whether the files that are open are still those at their path. SQLite goes on writing to a database that was deleted, and
// what it writes there is gone with the process.
import { type BigIntStats, statSync } from 'node:fs'

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

/** Both throw an Outage, and from then on always: what comes back later may lack what was refused meanwhile, or have more. */
export interface Place {
  /** Before a commit. */
  assertUntouched(): void
  /** After one: what the database is like now is our own doing. */
  settle(): void
}

/**
 * Call it once the database, its log and its lock are open. The database itself changes at checkpoints alone, which are part
 * of our commits: whatever else changes it has overwritten it.
 */
export function watchPlace(file: string): Place {
  const opened = new Map([file, `${file}-wal`, `${file}-shm`, `${file}.lock`].map((one) => [one, identify(one)]))
  let contents = describe(file)
  let lost: string | undefined
  const assert = (find: () => string | undefined) => {
    lost ??= find()
    if (lost !== undefined) {
      throw new Outage(`${lost} was removed, replaced or overwritten while it was in use`, displaced)
    }
  }
  const findMoved = () => [...opened].find(([one, identity]) => identity !== null && identify(one) !== identity)?.[0]
  return {
    assertUntouched: () => assert(() => findMoved() ?? (describe(file) === contents ? undefined : file)),
    settle() {
      assert(findMoved)
      contents = describe(file)
    },
  }
}

/** Null if it is not there, or cannot be looked at. */
function look(file: string): BigIntStats | null {
  try {
    return statSync(file, { bigint: true })
  } catch {
    return null
  }
}

function identify(file: string): string | null {
  const found = look(file)
  return found && `${found.dev}:${found.ino}`
}

function describe(file: string): string | null {
  const found = look(file)
  return found && `${found.size}:${found.mtimeNs}`
}
