// What is wrong, from what was seen: each problem with what to do next.
import { chatTitles } from '../core/model.js'
import type { ReadSettings } from '../config/sources.js'
import { counted } from '../core/length.js'
import { type NameCommand, quote } from '../program.js'
import type { Count } from '../store/sqlite/examination.js'
import type { Failure, Report } from './report.js'

export interface Problem {
  /** Names are only ever added. */
  code: string
  problem: string
  next: string
}

type Seen = Omit<Report, 'problems'>

interface Circumstances {
  read: ReadSettings
  failures: Failure[]
  nameCommand: NameCommand
}

/** Room for about 100,000 confirmations: enough time to make more. */
const littleRoom = 256 * 1024 * 1024
/** Commits may overtake each other by that, and clocks are set to the second. */
const toleratedSeconds = 2

/** The most urgent first. */
export function problemsIn(seen: Seen, circumstances: Circumstances): Problem[] {
  const looks = [
    withProgram,
    withSettings,
    withDatabase,
    withKeys,
    withService,
    withRules,
    withChats,
    withClock,
    withDisk,
    withMessages,
  ]
  return looks.flatMap((look) => look(seen, circumstances))
}

type Look = (seen: Seen, circumstances: Circumstances) => Problem[]

const withProgram: Look = (_, { failures }) =>
  failures.map(({ part, error }) =>
    part === 'SQLite'
      ? problem('driver_missing', error, 'Do what it says; until then the service cannot start.')
      : problem('not_looked_at', `The ${part} could not be looked at: ${error}`, 'Say so in the bug report.'),
  )

const withSettings: Look = (_, { read }) =>
  read.problems.map(({ unquoted }) =>
    problem('settings_wrong', `A setting is wrong. ${unquoted}.`, 'Correct it: the service does not start with it.'),
  )

const withDatabase: Look = ({ database, service, versions }, { nameCommand }) => {
  // Without the driver nothing is known of it, which is said above.
  if (database === null || versions.sqlite === null) return []
  const { state, file, damage, error, schema, known_schema, names } = database
  const restore = `Stop the service, keep a copy of the file, and restore a backup: ${nameCommand('restore FILE')}`
  switch (state) {
    case 'damaged':
      return [problem('database_damaged', `The database is damaged: ${damage.join('; ')}.`, restore)]
    case 'foreign':
      return [
        problem(
          'database_foreign',
          'The database belongs to another program.',
          'Move it away, or choose another file with --db-path.',
        ),
      ]
    case 'newer':
      return [
        problem(
          'database_newer',
          `The database was written by a newer Holdpoint: schema ${schema!}, and this one knows ${known_schema!}.`,
          'Upgrade Holdpoint, or choose another file with --db-path.',
        ),
      ]
    case 'unreadable':
      return [
        problem(
          'database_unreadable',
          `The database could not be looked at: ${error!}.`,
          'Run this as the user who runs the service, and see that --db-path names the right file.',
        ),
      ]
    default:
      return names !== null && names > 1 && service?.is_running !== true
        ? [
            problem(
              'database_names',
              `The database has ${names} names (hard links), so the service does not open it.`,
              `Remove the others: find / -samefile ${quote(file)}`,
            ),
          ]
        : []
  }
}

const withKeys: Look = ({ access, database, service }, { nameCommand }) => {
  const make = `Make a key: ${nameCommand('keys add --name NAME --role admin')}`
  const isOpen = access.mode === 'open' || service?.auth === 'open'
  if (isOpen && access.is_only_here === false) {
    return [problem('open_to_others', 'There is no key, and others can reach the service: everyone may approve.', make)]
  }
  if (access.mode === 'keys_lost') {
    return [
      problem(
        'keys_lost',
        'The database has no key, but there was one: it was lost or replaced. Nobody is let in.',
        `Restore a backup: ${nameCommand('restore FILE')}; or make a key: ${nameCommand('keys add --name NAME --role admin')}`,
      ),
    ]
  }
  if (access.mode === 'no_key_yet' && access.makes_first_key === false && database?.state !== 'absent') {
    return [problem('no_key', 'There is no key, and nobody is let in without one.', make)]
  }
  const keys = database?.counts.keys
  if (access.mode === 'keys' && countOf(keys, 'live') === 0) {
    return [problem('no_live_key', 'Every key has expired or is revoked: nobody is let in.', make)]
  }
  return []
}

const withService: Look = ({ service, versions }) => {
  if (service === null || !service.is_running) return []
  const who = service.pid === null ? 'A process' : `Process ${service.pid}`
  if (service.reached_by === null) {
    return [
      problem(
        'service_silent',
        `${who} has the database open, and does not answer.`,
        'It may be starting, or be a command that is about to end: ask again. If it stays so, see its log and restart it.',
      ),
    ]
  }
  if (service.version !== null && service.version !== versions.holdpoint) {
    return [
      problem(
        'other_version',
        `The running service is version ${service.version}, and this program ${versions.holdpoint}.`,
        'Restart the service after an upgrade, or call the program that it was started with.',
      ),
    ]
  }
  return []
}

const withRules: Look = ({ rules }, { nameCommand }) => {
  if (rules === null) return []
  if (rules.error !== null) {
    return [problem('rules_unreadable', `The rules: ${rules.error}.`, 'See that --policy names the right file.')]
  }
  if (rules.mistakes.length === 0) return []
  return [
    problem(
      'rules_wrong',
      `The rules have ${counted(rules.mistakes.length, 'mistake')}; a service does not start with them, and a running one ` +
        'goes on with those it has.',
      `Correct them: ${nameCommand(`policy check ${quote(rules.path)}`)}`,
    ),
  ]
}

const withChats: Look = ({ channels }) =>
  (channels ?? []).flatMap(({ name, state, error, mend }) => {
    const chat = chatTitles[name]
    if (state === 'refused') return [problem(`${name}_refused`, `${chat} says no: ${error!}.`, mend!)]
    if (state === 'reachable' && mend !== null) {
      return [problem(`${name}_settings`, `${chat} can be used, but its settings are out of date.`, mend)]
    }
    if (state !== 'unreachable') return []
    const reach = 'See whether this machine reaches it, and ask again. Requests are told in the log meanwhile.'
    return [problem(`${name}_unreachable`, `${chat} was not reached: ${error!}.`, reach)]
  })

const withClock: Look = ({ clock }) => {
  if (clock.behind_seconds <= toleratedSeconds) return []
  return [
    problem(
      'clock_behind',
      `The clock is ${counted(clock.behind_seconds, 'second')} behind the latest time on record.`,
      'Set the clock right before the service is started again: what waits would expire.',
    ),
  ]
}

const withDisk: Look = ({ disk, service }) => {
  if (disk === null) return []
  return [
    ...(disk.free_bytes < littleRoom
      ? [
          problem(
            'disk_nearly_full',
            `The disk of the database has ${Math.floor(disk.free_bytes / 1024 / 1024)} MiB left.`,
            'Make room: on a full disk nothing is taken and nothing is approved.',
          ),
        ]
      : []),
    ...(!disk.is_writable && service?.is_running !== true
      ? [
          problem(
            'disk_not_writable',
            'This user may not write to the database, or to its folder.',
            'Run this as the user who runs the service; if it is, give that user the folder.',
          ),
        ]
      : []),
    ...(disk.is_network === true
      ? [
          problem(
            'disk_on_network',
            `The database is on a network file system (${disk.file_system!}), where SQLite cannot keep commits safe.`,
            'Move it to a local disk, with --db-path.',
          ),
        ]
      : []),
  ]
}

const withMessages: Look = ({ database, service }) => {
  const untold = numberOf(database?.counts.expired_untold_last_day)
  const stuck = numberOf(database?.counts.undelivered_for_10_minutes)
  return [
    ...(untold === 0
      ? []
      : [
          problem(
            'expired_untold',
            `${counted(untold, 'request')} expired in the last 24 hours before anyone was told.`,
            'Find out why in the log, and tell whoever asked. Nothing was approved.',
          ),
        ]),
    ...(stuck === 0
      ? []
      : [
          problem(
            'undelivered',
            `${counted(stuck, 'message')} could not be delivered for more than 10 minutes.`,
            service?.is_running === true
              ? 'GET /confirm/ID has what each chat or callback answered, under deliveries.'
              : 'Start the service: it goes on sending them.',
          ),
        ]),
  ]
}

function problem(code: string, said: string, next: string): Problem {
  return { code, problem: said, next }
}

function numberOf(count: Count | undefined): number {
  return typeof count === 'number' ? count : 0
}

/** How many have this label, at any depth. */
function countOf(count: Count | undefined, label: string): number {
  if (typeof count !== 'object' || count === null) return 0
  return Object.entries(count).reduce(
    (sum, [name, one]) => sum + (name === label ? numberOf(one) : countOf(one, label)),
    0,
  )
}
