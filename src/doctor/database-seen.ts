// The database as a report shows it.
import { lstatSync, realpathSync, statSync } from 'node:fs'
import { isMarked } from '../store/sqlite/marker.js'
import { type StoreRefused } from '../store/store.js'
import type { Counts, Examination } from '../store/sqlite/examination.js'

export interface SeenDatabase {
  path: string
  /** Where links lead. */
  file: string
  /** `absent`: there is none yet. `unreadable`: the error says why. */
  state: 'absent' | 'empty' | 'ours' | 'newer' | 'foreign' | 'damaged' | 'unreadable'
  /** Without a service, a copy: nothing beside the database changes. */
  looked_at: 'itself' | 'copy' | null
  size_bytes: number | null
  wal_bytes: number | null
  /** More than one, and a second Holdpoint could open it by another. */
  names: number | null
  schema: number | null
  known_schema: number | null
  damage: string[]
  error: string | null
  counts: Counts
  /** The latest time on record. */
  latest_at_iso: string | null
  /** There was a key once. */
  has_marker: boolean
}

type Place = Pick<SeenDatabase, 'path' | 'file' | 'size_bytes' | 'wal_bytes' | 'names' | 'has_marker'> & {
  problem: string | null
}

export function locateDatabase(path: string): Place {
  const none = { path, file: path, size_bytes: null, wal_bytes: null, names: null, has_marker: false, problem: null }
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    const has_marker = isMarked(path)
    if (found === undefined) return { ...none, has_marker }
    const file = realpathSync(path)
    return {
      path,
      file,
      size_bytes: found.size,
      wal_bytes: sizeOf(`${file}-wal`),
      names: found.nlink,
      has_marker: has_marker || isMarked(file),
      problem: found.isFile() ? null : 'it is no file',
    }
  } catch (error) {
    return { ...none, problem: (error as NodeJS.ErrnoException).code ?? (error as Error).message }
  }
}

export async function seeDatabase(
  { problem, ...place }: Place,
  isInUse: boolean,
  now: number,
  progress: (text: string) => void,
): Promise<SeenDatabase> {
  const unknown = { schema: null, known_schema: null, damage: [], error: null, counts: {}, latest_at_iso: null }
  const seen: SeenDatabase = { ...place, ...unknown, state: 'absent', looked_at: null }
  if (problem !== null) return { ...seen, state: 'unreadable', error: problem }
  if (place.size_bytes === null) return seen
  try {
    // Only now: without the driver the rest of the report is needed all the more.
    const { examineDatabase, knownSchema } = await import('../store/sqlite/examination.js')
    const found = examineDatabase(place.file, isInUse, now, progress)
    return {
      ...seen,
      state: stateOf(found, knownSchema),
      looked_at: isInUse ? 'itself' : 'copy',
      schema: found.schema,
      known_schema: knownSchema,
      damage: found.damage,
      counts: found.counts,
      latest_at_iso: found.latestAt === null ? null : new Date(found.latestAt).toISOString(),
    }
  } catch (error) {
    const { message, isDamaged = false } = error as StoreRefused
    if (isDamaged) return { ...seen, state: 'damaged', damage: [message] }
    return { ...seen, state: 'unreadable', error: message }
  }
}

function stateOf({ owner, schema, damage }: Examination, known: number): SeenDatabase['state'] {
  if (damage.length > 0) return 'damaged'
  if (owner !== 'ours') return owner
  return schema !== null && schema > known ? 'newer' : 'ours'
}

function sizeOf(file: string): number {
  return lstatSync(file, { throwIfNoEntry: false })?.size ?? 0
}
