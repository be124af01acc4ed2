// The report for a person: plain text, at most 100 columns wide, safe for a terminal.
import { visibleLine } from '../core/visible.js'
import type { Count } from '../store/sqlite/examination.js'
import type { SeenChat } from './chats.js'
import type { SeenDatabase } from './database-seen.js'
import type { LogEnd } from './log-lines.js'
import type { Report } from './report.js'
import type { SeenSetting } from './settings-seen.js'

const width = 100
/** Names stand in a column of their own, in most parts of the same width. */
const least = 22
type Row = [name: string, text: string]

export function reportText(report: Report): string {
  const { versions, platform, disk, clock, callbacks } = report
  return [
    `Holdpoint doctor, ${report.made_at_iso}. Secrets are masked; read it before you hand it on.`,
    ...problemParts(report),
    section('Versions', [
      ['Holdpoint', versions.holdpoint],
      ['Node', versions.node],
      ['SQLite', versions.sqlite ?? 'not known'],
      ['better-sqlite3', versions.better_sqlite3 ?? 'not loaded'],
    ]),
    section(
      'Platform',
      platform && [
        ['System', `${platform.os} ${platform.release}, ${platform.arch}`],
        ['Container', platform.container ?? 'none that is known'],
        ['Memory', sayMemory(platform)],
        ['CPUs', String(platform.cpus)],
      ],
    ),
    section(
      'Settings, as this command was given them; a service that was started otherwise has others',
      report.settings.map((one): Row => [one.name, saySetting(one)]),
    ),
    section('Rules', rulesRows(report)),
    section('Database', report.database && databaseRows(report.database)),
    section('Access', accessRows(report)),
    section('Service', serviceRows(report)),
    section('Channels', [
      ...(report.channels ?? []).map((one): Row => [one.name, sayChat(one)]),
      ['callbacks', sayCallbacks(callbacks)],
    ]),
    section('Clock', [
      ['Now', `${clock.now_iso}, time zone ${clock.time_zone}`],
      ['Latest on record', clock.latest_on_record_iso ?? 'none'],
      ['Behind the record', clock.behind_seconds === 0 ? 'no' : `${clock.behind_seconds} s`],
    ]),
    section(
      'Disk',
      disk && [
        ['Folder', disk.folder],
        ['Room', `${size(disk.free_bytes)} free of ${size(disk.total_bytes)}`],
        ['Writable', disk.is_writable ? 'yes' : 'not by this user'],
        ['File system', saySystem(disk)],
      ],
    ),
    section('Log', report.log && logRows(report.log), report.log?.lines ?? []),
  ].join('\n\n')
}

function problemParts({ problems, warnings }: Report): string[] {
  const list = problems.flatMap(({ problem, next }, index) => [
    ...hang(`${String(index + 1).padStart(3)}. `, problem),
    ...hang('     Next: ', next),
  ])
  return [
    problems.length === 0 ? 'No problems found.' : [`Problems: ${problems.length}`, ...list].join('\n'),
    ...(warnings.length === 0 ? [] : [['Warnings:', ...warnings.flatMap((one) => hang('  - ', one))].join('\n')]),
  ]
}

function saySetting({ value, from, is_secret, is_wrong }: SeenSetting): string {
  if (from === null) return 'not set'
  const shown = is_wrong ? 'wrong, so it is not shown' : is_secret ? 'set, not shown' : (value ?? 'not shown')
  return `${shown} (${from})`
}

function rulesRows({ rules, settings }: Report): Row[] {
  if (rules === null) {
    const isSet = settings.some(({ name, from }) => name === 'policy' && from !== null)
    return [['File', isSet ? 'could not be looked at' : 'none; every action gets what is built in']]
  }
  return [
    ['File', rules.path],
    ...(rules.error === null ? [] : [['Error', rules.error] as Row]),
    ...(rules.sha256 === null ? [] : [['SHA-256', rules.sha256] as Row]),
    ['Rules', rules.rules === null ? 'cannot be used' : String(rules.rules)],
    ...rules.mistakes.map((one): Row => ['Mistake', one]),
  ]
}

/** In the order of what is looked for first. */
const states: Record<SeenDatabase['state'], string> = {
  absent: 'there is none yet; the first start makes it',
  empty: 'there is nothing in it yet',
  ours: 'whole',
  newer: 'whole, but written by a newer Holdpoint',
  foreign: 'of another program',
  damaged: 'damaged',
  unreadable: 'could not be looked at',
}

function databaseRows(seen: SeenDatabase): Row[] {
  return [
    ['Path', seen.path],
    ...(seen.file === seen.path ? [] : [['Real path', seen.file] as Row]),
    ['State', `${states[seen.state]}${seen.looked_at === 'copy' ? ' (a copy was looked at)' : ''}`],
    ...(seen.error === null ? [] : [['Error', seen.error] as Row]),
    ...seen.damage.map((one): Row => ['Damage', one]),
    ...(seen.size_bytes === null ? [] : [['Size', saySize(seen)] as Row]),
    ...(seen.schema === null ? [] : [['Schema', `${seen.schema}; this program knows ${seen.known_schema!}`] as Row]),
    ['Marker of a first key', seen.has_marker ? 'there' : 'none'],
    ...Object.entries(seen.counts).map(([name, count]): Row => [name.replaceAll('_', ' '), sayCount(count)]),
  ]
}

function saySize({ size_bytes, wal_bytes }: SeenDatabase): string {
  const wal = (wal_bytes ?? 0) === 0 ? '' : `, and its -wal ${size(wal_bytes!)}`
  return `${size(size_bytes!)}${wal}`
}

function sayCount(count: Count): string {
  if (count === null) return 'not known'
  if (typeof count === 'number') return String(count)
  const parts = Object.entries(count).map(([name, one]) =>
    typeof one === 'object' && one !== null ? `${name} (${sayCount(one)})` : `${name} ${sayCount(one)}`,
  )
  return parts.length === 0 ? '0' : parts.join(', ')
}

const modes: Record<string, string> = {
  open: 'open: there is no key yet, and everyone who reaches it may approve',
  keys: 'keys',
  no_key_yet: 'keys; there is none yet',
  keys_lost: 'keys; there was one, and it is lost',
}

function accessRows({ access }: Report): Row[] {
  return [
    ['Mode', access.mode === null ? 'not known' : modes[access.mode]!],
    ['Reached', access.is_only_here === null ? 'not known' : access.is_only_here ? 'from this machine' : 'by others'],
  ]
}

const ways = { socket: 'at the socket of the database', port: 'at the port of the settings', no: 'no' }

function serviceRows({ service, versions }: Report): Row[] | null {
  if (service === null) return null
  if (!service.is_running) {
    return [
      ['Running', 'none on this database'],
      ...(service.at_port === null
        ? []
        : [['At the port', `another Holdpoint answers, version ${service.at_port}`] as Row]),
    ]
  }
  const same = service.version === versions.holdpoint ? 'the same as this program' : 'another than this program'
  return [
    ['Running', service.pid === null ? 'yes' : `yes, as process ${service.pid}`],
    ['Answers', ways[service.reached_by ?? 'no']],
    ['Version', service.version === null ? 'not known' : `${service.version}, ${same}`],
    ['Access', service.auth ?? 'not known'],
    ['Pending', service.pending === null ? 'not known' : String(service.pending)],
  ]
}

function sayChat({ state, as, error }: SeenChat): string {
  switch (state) {
    case 'not_set_up':
      return 'not set up'
    case 'wrong_settings':
      return 'not asked: its settings are wrong'
    case 'reachable':
      return `reachable${as === null ? '' : `, as ${as}`}`
    default:
      return `${state}: ${error ?? ''}`
  }
}

function sayCallbacks({ is_signed, allowed_hosts }: Report['callbacks']): string {
  const hosts = allowed_hosts === 0 ? '' : `; private hosts that may be called: ${allowed_hosts}`
  return `${is_signed ? 'signed' : 'off: there is no secret to sign them with'}${hosts}`
}

function saySystem({ file_system, is_network }: NonNullable<Report['disk']>): string {
  const name = file_system ?? 'not known'
  return is_network === true ? `${name}, over a network` : name
}

function sayMemory({ memory_bytes, memory_free_bytes, memory_limit_bytes }: NonNullable<Report['platform']>): string {
  const limit = memory_limit_bytes === null ? '' : `, limited to ${size(memory_limit_bytes)}`
  return `${size(memory_free_bytes)} free of ${size(memory_bytes)}${limit}`
}

function logRows({ file, where, lines }: LogEnd): Row[] {
  if (file === null) return [['Where', where ?? '']]
  return [
    ['File', file],
    ['Last lines', String(lines.length)],
  ]
}

function section(title: string, rows: Row[] | null, lines: string[] = []): string {
  const shown: Row[] = rows ?? [['Error', 'could not be looked at']]
  const column = Math.max(least, ...shown.map(([name]) => name.length))
  return [
    title,
    ...shown.flatMap(([name, text]) => hang(`  ${name.padEnd(column)}  `, text)),
    ...lines.flatMap((line) => hang('  | ', line)),
  ].join('\n')
}

/** The text behind a head, its further lines below where it begins. */
function hang(head: string, text: string): string[] {
  const [first = '', ...more] = wrap(visibleLine(text), width - head.length)
  return [`${head}${first}`.trimEnd(), ...more.map((one) => `${' '.repeat(head.length)}${one}`)]
}

/** At spaces, and where there is none within the width, anywhere. */
function wrap(text: string, room: number): string[] {
  const lines: string[] = []
  let left = text
  while (left.length > room) {
    const space = left.lastIndexOf(' ', room)
    const end = space > room / 2 ? space : room
    lines.push(left.slice(0, end))
    left = left.slice(end).replace(/^ /, '')
  }
  return [...lines, left]
}

function size(bytes: number): string {
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let number = bytes / 1024
  while (number >= 1024 && units.length > 1) {
    number /= 1024
    units.shift()
  }
  return `${number < 10 && number % 1 !== 0 ? number.toFixed(1) : Math.round(number)} ${units[0]!}`
}
