// The report: everything that can be known here, put together and without secrets. Nothing is changed for it, and whatever
// fails is part of it.
import { isOnlyHere, mayBeOpen, makesFirstKey } from '../access/open-mode.js'
import type { Config } from '../config/schemas.js'
import type { ReadSettings } from '../config/sources.js'
import type { NameCommand } from '../program.js'
import type { Count } from '../store/sqlite/examination.js'
import { version } from '../version.js'
import { askChats, type SeenChat } from './chats.js'
import { locateDatabase, seeDatabase, type SeenDatabase } from './database-seen.js'
import { type DiskRoom, measureDisk } from './disk-room.js'
import { type LogEnd, readLogEnd } from './log-lines.js'
import { createMask, type Mask } from './mask.js'
import { describePlatform, type Platform } from './platform.js'
import { type Problem, problemsIn } from './problems.js'
import { type SeenRules, seeRules } from './rules-seen.js'
import { findRunning, type Running } from './running.js'
import { secretsOf, type SeenSetting, seeSettings } from './settings-seen.js'

/** As `--json` prints it: names are only ever added. A part is null where it could not be looked at. */
export interface Report {
  made_at_iso: string
  problems: Problem[]
  warnings: string[]
  versions: { holdpoint: string; node: string; sqlite: string | null; better_sqlite3: string | null }
  platform: Platform | null
  settings: SeenSetting[]
  /** Null also where there is no rules file. */
  rules: SeenRules | null
  database: SeenDatabase | null
  access: Access
  service: Running | null
  channels: SeenChat[] | null
  callbacks: { is_signed: boolean; allowed_hosts: number }
  clock: Clock
  disk: DiskRoom | null
  log: LogEnd | null
}

export interface Access {
  /** `no_key_yet`: nobody is let in without one. `keys_lost`: there was one. Null where it cannot be known. */
  mode: 'open' | 'keys' | 'no_key_yet' | 'keys_lost' | null
  /** Nobody but this machine's users is meant to reach it. */
  is_only_here: boolean | null
  /** The first start makes the first key. */
  makes_first_key: boolean | null
}

export interface Clock {
  now_iso: string
  time_zone: string
  latest_on_record_iso: string | null
  /** By how much the clock is before that; 0 if it is not. */
  behind_seconds: number
}

/** What the report is made from, beside the machine. */
export interface Question {
  read: ReadSettings
  warnings: string[]
  /** How many lines of the log. */
  lines: number
  nameCommand: NameCommand
  progress: (text: string) => void
}

/** For tests. */
export interface Machine {
  now(): number
  measureDisk: typeof measureDisk
  /** How long a chat may take to answer. */
  chatTimeoutMs: number
}

const thisMachine: Machine = { now: Date.now, measureDisk, chatTimeoutMs: 5000 }

/** A part that could not be looked at, and why. */
export interface Failure {
  part: string
  error: string
}

export async function makeReport(question: Question, machine: Machine = thisMachine): Promise<Report> {
  const { read, lines, progress } = question
  const { config } = read
  const failures: Failure[] = []
  const look = async <T>(part: string, run: () => T | Promise<T>): Promise<T | null> => {
    try {
      return await run()
    } catch (error) {
      failures.push({ part, error: (error as Error).message })
      return null
    }
  }
  const now = machine.now()
  const platform = await look('platform', describePlatform)
  const driver = await look('SQLite', async () => (await import('../store/sqlite/driver.js')).driverVersions())
  const rules = await look('rules', () => (config.policy === undefined ? null : seeRules(config.policy)))
  const { dbPath } = config
  const place = dbPath === undefined ? null : await look('database', () => locateDatabase(dbPath))
  progress('asking the chats and the service …')
  // Before the database is checked: while that lasts, no answer is heard.
  const [channels, service] = await Promise.all([
    look('channels', () => askChats(read, machine.chatTimeoutMs)),
    place && look('service', () => findRunning(place.file, config)),
  ])
  const database =
    place && (await look('database', () => seeDatabase(place, service?.is_running ?? false, now, progress)))
  const log = await look('log', () => readLogEnd(service?.pid ?? null, lines, platform?.container != null))
  const found: Omit<Report, 'problems'> = {
    made_at_iso: iso(now),
    warnings: [...question.warnings, ...(rules?.warnings ?? []).map((one) => `rules, ${one}`)],
    versions: {
      holdpoint: version,
      node: process.version,
      sqlite: driver?.sqlite ?? null,
      better_sqlite3: driver?.driver ?? null,
    },
    platform,
    settings: seeSettings(read),
    rules,
    database,
    access: accessOf(database, config),
    service,
    channels,
    callbacks: {
      is_signed: config.callbackSecret !== undefined,
      allowed_hosts: config.callbackAllow?.length ?? 0,
    },
    clock: tellTime(machine.now(), database?.latest_at_iso ?? null),
    disk: place && (await look('disk', () => machine.measureDisk(place.file))),
    log,
  }
  const problems = problemsIn(found, { ...question, failures })
  const spared = rules?.sha256 ?? null
  const mask = createMask(secretsOf(read), spared === null ? [] : [spared])
  const { made_at_iso, ...rest } = found
  return maskAll({ made_at_iso, problems, ...rest }, mask)
}

/** Every text in it, wherever it stands. */
function maskAll<T>(value: T, mask: Mask): T {
  if (typeof value === 'string') return mask(value) as T
  if (Array.isArray(value)) return value.map((one: unknown) => maskAll(one, mask)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, maskAll<unknown>(one, mask)])) as T
}

function accessOf(database: SeenDatabase | null, { host, auth, publicUrl }: Partial<Config>): Access {
  const exposure = host === undefined || auth === undefined ? null : { host, auth }
  return {
    mode: modeOf(database, exposure),
    is_only_here: host === undefined ? null : isOnlyHere({ host, publicUrl }),
    makes_first_key: exposure && makesFirstKey(exposure),
  }
}

function modeOf(
  database: SeenDatabase | null,
  exposure: { host: string; auth: 'auto' | 'keys' } | null,
): Access['mode'] {
  const keys = database?.counts.keys
  const isNew = database?.state === 'absent' || database?.state === 'empty'
  if (database === null || exposure === null || (keys == null && !isNew)) return null
  if (total(keys ?? 0) > 0) return 'keys'
  if (database.has_marker) return 'keys_lost'
  return mayBeOpen(exposure) ? 'open' : 'no_key_yet'
}

/** How many there are of all kinds. */
export function total(count: Count): number {
  if (count === null) return 0
  return typeof count === 'number' ? count : Object.values(count).reduce<number>((sum, one) => sum + total(one), 0)
}

function tellTime(now: number, latest: string | null): Clock {
  const behindMs = latest === null ? 0 : Date.parse(latest) - now
  return {
    now_iso: iso(now),
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    latest_on_record_iso: latest,
    behind_seconds: Math.max(0, Math.ceil(behindMs / 1000)),
  }
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
