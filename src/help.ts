// What --help shows: the program on one screen, and each command and group by itself, at most 80 columns wide.
import {
  type Command,
  commandNameOf,
  commands,
  commandsOf,
  groups,
  type Option,
  sayUnknown,
  screenLines,
} from './command.js'
import { otherSettings, type OtherSetting, type Setting, settingEntries, settings } from './config/settings.js'

const width = 80
/** What the first screen names; serve --help has the rest. */
const mainFlags = ['port', 'db-path', 'config', 'help', 'version']

/** The text, or which command was meant if there is none of that name. `call` is how the program is called here. */
export function helpOn(topic: string[], call = 'holdpoint'): { text: string } | { problem: string } {
  const [first] = topic
  if (first === undefined || first === 'help') return { text: overview(call) }
  if (first === 'serve') return { text: serveHelp(call) }
  const name = commandNameOf(topic)
  if (name !== null) return { text: commandHelp(name, commands[name], call) }
  if (topic.length === 1 && Object.hasOwn(groups, first)) return { text: groupHelp(first, call) }
  return { problem: sayUnknown(topic) }
}

function overview(call: string): string {
  const together = ({ names, takes, help }: (typeof screenLines)[number]): Line => [`${names.join('|')} ${takes}`, help]
  const [waiting, deciding, ...others] = screenLines.map(together)
  const alone = Object.entries<Command>(commands).filter(
    ([name]) => !name.includes(' ') && !screenLines.some(({ names }) => names.includes(name)),
  )
  const flags = [
    ...settingEntries.flatMap(([, { flag, takes }]) =>
      flag !== undefined && mainFlags.includes(flag) ? [`--${flag} ${takes}`] : [],
    ),
    ...Object.values<OtherSetting>(otherSettings).flatMap((one) =>
      one.flag === undefined ? [] : [flagOf(one).trimEnd()],
    ),
  ]
  return page(
    'Holdpoint holds irreversible actions until a person approves or denies them.',
    usage(call, '[command] [flags]'),
    section('Commands', [
      ['serve', 'run the service (the default)'],
      waiting!,
      deciding!,
      ...Object.entries(groups).map(([group, help]): Line => [
        `${group} ${commandsOf(group)
          .map(([name]) => name.split(' ')[1]!)
          .join('|')}`,
        help,
      ]),
      ...others,
      ...alone.map(([name, { argument, help }]): Line => [`${name} ${argument ?? ''}`, help.split(/[,;]/)[0]!]),
    ]),
    fill(`Flags: ${flags.join('; ')}.`),
    readOn(call, ['serve', 'approve']),
  )
}

function serveHelp(call: string): string {
  const names = [...new Set(settingEntries.map(([, { group }]) => group))]
  return page(
    'Runs the service until SIGTERM or SIGINT. SIGHUP reads the rules again.',
    usage(call, '[serve] [flags]'),
    fill(
      'A flag wins over its environment variable, in brackets, that over the file of --config, and the file over the default. What has no flag is never taken from the command line, where other users of the machine could read it.',
    ),
    ...names.map((group) =>
      section(
        group,
        settingEntries.filter(([, one]) => one.group === group).map(([, one]): Line => lineOf(one)),
      ),
    ),
    section(
      'Besides',
      Object.values<OtherSetting>(otherSettings).map((one): Line => lineOf(one)),
    ),
    'holdpoint.sample.yaml shows every setting with its default.',
  )
}

function groupHelp(group: string, call: string): string {
  return page(
    `${group}: ${groups[group]!}.`,
    usage(call, `${group} COMMAND [flags]`),
    section(
      'Commands',
      commandsOf(group).map(([name, { argument, help }]): Line => [`${name} ${argument ?? ''}`, help]),
    ),
    readOn(call, [commandsOf(group)[0]![0]]),
  )
}

function commandHelp(name: string, command: Command, call: string): string {
  const {
    argument,
    help,
    options,
    settings: used,
    more = '',
    exits = '0 done, 1 refused, 2 called wrongly',
    example,
  } = command
  const own = Object.entries<Option>(options).map(([flag, one]): Line => [flagOf({ flag, ...one }), one.help])
  const shared = used.length === 0 ? [] : [...used.map((key) => settings[key]), otherSettings.config].map(lineOf)
  return page(
    fill(`${help[0]!.toUpperCase()}${help.slice(1)}.`),
    usage(call, `${name}${argument === undefined ? '' : ` ${argument}`}${own.length === 0 ? '' : ' [options]'}`),
    ...(own.length === 0 ? [] : [section('Options', own)]),
    ...(shared.length === 0 ? [] : [section('Flags', shared)]),
    fill(more),
    `Example:\n${onItsOwn(call, example)}`,
    `Exit codes: ${exits}.`,
  )
}

function usage(call: string, words: string): string {
  const line = `Usage: ${call} ${words}`
  return line.length <= width ? line : `Usage:\n${onItsOwn(call, words)}`
}

/** Where to read on: each command with its --help. */
function readOn(call: string, commands: string[]): string {
  const all = commands.map((command) => `${command} --help`)
  const line = `More: ${all.map((words) => `${call} ${words}`).join(', ')}`
  return line.length <= width ? line : ['More:', ...all.map((words) => onItsOwn(call, words))].join('\n')
}

/** A command that a shell takes as it stands. A path of any length comes before the words, so these may need a line. */
function onItsOwn(call: string, words: string): string {
  const line = `${call} ${words}`
  return `  ${line.length + 2 <= width ? line : `${call} \\\n    ${words}`}`
}

type Line = [name: string, text: string]

function lineOf(one: Setting | OtherSetting): Line {
  const { flag, env, help, default: preset } = one
  const standard = preset === undefined ? '' : ` (default ${preset})`
  if (flag === undefined) return [env!, `${help}${standard}`]
  return [flagOf(one), `${help}${standard}${env === undefined ? '' : ` [${env}]`}`]
}

function flagOf({ flag, short, takes }: OtherSetting): string {
  return `--${flag!}${short === undefined ? '' : `, -${short}`} ${takes}`
}

function page(...parts: string[]): string {
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

/** Names on the left, text on the right. A name that is too long has a line of its own, unless the text is short. */
function section(title: string, lines: Line[]): string {
  const indent = 2 + Math.min(28, Math.max(...lines.map(([name]) => name.trimEnd().length))) + 2
  const rows = lines.flatMap(([name, text]) => {
    const left = `  ${name.trimEnd()}`
    const [first, ...rest] = wrap(text, width - indent)
    const more = rest.map((one) => `${' '.repeat(indent)}${one}`)
    if (left.length > indent - 2 && left.length + 2 + text.length <= width) return [`${left}  ${text}`]
    if (left.length > indent - 2) return [left, `${' '.repeat(indent)}${first!}`, ...more]
    return [`${left.padEnd(indent)}${first!}`, ...more]
  })
  return [`${title}:`, ...rows].join('\n')
}

function fill(text: string): string {
  return wrap(text, width).join('\n')
}

function wrap(text: string, room: number): string[] {
  return text.split(' ').reduce<string[]>(
    (lines, word) => {
      const last = lines.at(-1)!
      if (last === '') lines[lines.length - 1] = word
      else if (last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`
      else lines.push(word)
      return lines
    },
    [''],
  )
}
