// What completes commands, flags and ids in a shell: a script for each, made from the table of commands.
import { roles } from '../access/role.js'
import { type Command, commands, ConfigProblems, groups, isSwitch, type Option } from '../command.js'
import { otherSettings, type OtherSetting, settingEntries, settings } from '../config/settings.js'
import { quote } from '../program.js'
import { hostNames } from './install/host.js'

export const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

interface Flag {
  flag: string
  takes: string
  help: string
  short?: string
}

/** What can stand at a place: these words, files, or the ids of what waits. */
type Values = { words: readonly string[] } | 'files' | 'ids' | 'anything'

interface Entry {
  name: string
  help: string
  flags: Flag[]
  argument: Values | null
}

export function completionFor(shell: string): string {
  const write = Object.hasOwn(writers, shell) ? writers[shell as Shell] : null
  if (write === null) throw new ConfigProblems([`completion: the shells are ${shells.join(', ')}`])
  return write()
}

const writers: Record<Shell, () => string> = { bash: writeBash, zsh: writeZsh, fish: writeFish }

// -- what there is -------------------------------------------------------------------------------------------------------

/** Ids of requests; what else is called ID is not listed as quickly. */
const byRequest = ['show', 'approve', 'deny']

const common = [otherSettings.config, otherSettings.help].map(flagOf)

const entries: Entry[] = [
  {
    name: 'serve',
    help: 'run the service',
    flags: [...settingEntries.flatMap(([, one]) => (one.flag === undefined ? [] : [flagOf(one)])), ...common],
    argument: null,
  },
  ...Object.entries<Command>(commands).map(([name, { help, options, settings: used, argument }]): Entry => {
    const own = Object.entries<Option>(options).map(([flag, one]) => ({ flag, ...one }))
    const shared = used
      .map((key): OtherSetting => settings[key])
      .flatMap((one) => (one.flag === undefined ? [] : [flagOf(one)]))
    return {
      name,
      help,
      flags: [...own, ...shared, ...common],
      argument: argument === undefined ? null : valuesOf(argument, name),
    }
  }),
]

function valuesOf(takes: string, command = ''): Values {
  if (takes === 'FILE' || takes === 'DIR') return 'files'
  if (takes === 'HOST') return { words: hostNames }
  if (takes === 'ROLE') return { words: roles }
  if (takes === 'SHELL') return { words: shells }
  if (takes === 'ID' && byRequest.includes(command)) return 'ids'
  const words = takes.split('|').filter((word) => /^[a-z]+$/.test(word))
  return words.length > 0 ? { words } : 'anything'
}

function flagOf({ flag, takes, help, short }: OtherSetting): Flag {
  return { flag: flag!, takes, help, ...(short === undefined ? {} : { short }) }
}

/** Of a group's name, or of nothing: what may follow. */
function wordsAfter(group: string | null): { word: string; help: string }[] {
  if (group !== null) {
    const inside = entries.filter(({ name }) => name.startsWith(`${group} `))
    return inside.map(({ name, help }) => ({ word: name.split(' ')[1]!, help }))
  }
  const alone = entries.filter(({ name }) => !name.includes(' '))
  const all = [...alone.map(({ name, help }) => ({ word: name, help })), { word: 'help', help: 'about a command' }]
  return [...all, ...Object.entries(groups).map(([word, help]) => ({ word, help }))]
}

const allFlags = [...new Map(entries.flatMap(({ flags }) => flags).map((one) => [one.flag, one])).values()]
const valued = allFlags.filter(({ flag }) => !isSwitch(flag))

function spellings({ flag, short }: Flag): string[] {
  return [`--${flag}`, ...(short === undefined ? [] : [`-${short}`])]
}

/** Whole ids stand first on each line where nobody reads. */
const listIds = "holdpoint pending 2>/dev/null | awk 'NR > 1 { print $1 }'"

// -- bash ----------------------------------------------------------------------------------------------------------------

function writeBash(): string {
  return `# Completes holdpoint in bash: source <(holdpoint completion bash)
_holdpoint() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${valued.flatMap(spellings).join('|')}) [[ \${COMP_WORDS[i + 1]} == '=' ]] && ((i++)); ((i++)) ;;
      -*) ;;
      *) command="$command \${COMP_WORDS[i]}" ;;
    esac
  done
  command=\${command# }
  [[ $cur == '=' ]] && cur=''
  [[ $prev == '=' ]] && prev=\${COMP_WORDS[COMP_CWORD - 2]}
  case $prev in
${valued.map((one) => `    ${spellings(one).join('|')}) ${bashValues(valuesOf(one.takes))}; return ;;`).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    case $command in
${entries
  .map(({ name, flags }) => {
    const isPrefix = name === 'serve' ? "''|'serve'" : `${quote(name)}|${quote(`${name} `)}*`
    return `      ${isPrefix}) ${bashWords([...flags.map(({ flag }) => `--${flag}`), ...(name === 'serve' ? ['--version'] : [])])} ;;`
  })
  .join('\n')}
    esac
    return
  fi
  case $command in
    '') ${bashWords(wordsAfter(null).map(({ word }) => word))} ;;
${Object.keys(groups)
  .map((group) => `    ${quote(group)}) ${bashWords(wordsAfter(group).map(({ word }) => word))} ;;`)
  .join('\n')}
${entries
  .filter(({ argument }) => argument !== null && argument !== 'anything')
  .map(({ name, argument }) => `    ${quote(name)}) ${bashValues(argument!)} ;;`)
  .join('\n')}
  esac
}
complete -F _holdpoint holdpoint
`
}

function bashValues(values: Values): string {
  if (values === 'anything') return ':'
  if (values === 'files') return `compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur"))`
  if (values === 'ids') return `COMPREPLY=($(compgen -W "$(${listIds})" -- "$cur"))`
  return bashWords(values.words)
}

function bashWords(words: readonly string[]): string {
  return `COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$cur"))`
}

// -- zsh -----------------------------------------------------------------------------------------------------------------

function writeZsh(): string {
  return `#compdef holdpoint
# Completes holdpoint in zsh, after compinit: source <(holdpoint completion zsh)
_holdpoint() {
  local command='' prev=\${words[CURRENT-1]} i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case \${words[i]} in
      ${valued.flatMap(spellings).join('|')}) ((i++)) ;;
      -*) ;;
      *) command="$command \${words[i]}" ;;
    esac
  done
  command=\${command# }
  case $prev in
${valued.map((one) => `    ${spellings(one).join('|')}) ${zshValues(valuesOf(one.takes))}; return ;;`).join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    case $command in
${entries
  .map(({ name, flags }) => {
    const isPrefix = name === 'serve' ? "''|'serve'" : `${quote(name)}|${quote(`${name} `)}*`
    return `      ${isPrefix}) ${zshWords(flags.map(({ flag, help }) => ({ word: `--${flag}`, help })))} ;;`
  })
  .join('\n')}
    esac
    return
  fi
  case $command in
    '') ${zshWords(wordsAfter(null))} ;;
${Object.keys(groups)
  .map((group) => `    ${quote(group)}) ${zshWords(wordsAfter(group))} ;;`)
  .join('\n')}
${entries
  .filter(({ argument }) => argument !== null && argument !== 'anything')
  .map(({ name, argument }) => `    ${quote(name)}) ${zshValues(argument!)} ;;`)
  .join('\n')}
  esac
}
compdef _holdpoint holdpoint
`
}

function zshValues(values: Values): string {
  if (values === 'anything') return '_message value'
  if (values === 'files') return '_files'
  if (values === 'ids') return `compadd -- $(${listIds})`
  return `compadd -- ${values.words.join(' ')}`
}

function zshWords(words: { word: string; help: string }[]): string {
  return `found=(${words.map(({ word, help }) => quoted(`${word}:${help}`)).join(' ')}); _describe holdpoint found`
}

// -- fish ----------------------------------------------------------------------------------------------------------------

function writeFish(): string {
  const isAt = (place: string) => quoted(`test (__holdpoint_command) = ${quoted(place)}`)
  const isIn = (name: string) => quoted(`string match -qr -- ${quoted(`^${name}( |$)`)} (__holdpoint_command)`)
  const line = (condition: string, rest: string) => `complete -c holdpoint -n ${condition} ${rest}`
  return `# Completes holdpoint in fish: holdpoint completion fish > ~/.config/fish/completions/holdpoint.fish
function __holdpoint_command
  set -l command
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1
      set skip 0
    else if contains -- $word ${valued.flatMap(spellings).join(' ')}
      set skip 1
    else if not string match -q -- '-*' $word
      set -a command $word
    end
  end
  echo "$command"
end
complete -c holdpoint -f
${wordsAfter(null)
  .map(({ word, help }) => line(isAt(''), `-a ${word} -d ${quoted(help)}`))
  .join('\n')}
${Object.keys(groups)
  .flatMap((group) => wordsAfter(group).map(({ word, help }) => line(isAt(group), `-a ${word} -d ${quoted(help)}`)))
  .join('\n')}
${entries
  .flatMap(({ name, flags, argument }) => [
    ...flags.map((one) => line(name === 'serve' ? isAt('') : isIn(name), fishFlag(one))),
    ...(argument === null || argument === 'anything' ? [] : [line(isAt(name), fishValues(argument))]),
  ])
  .join('\n')}
`
}

function fishFlag({ flag, short, takes, help }: Flag): string {
  const value = isSwitch(flag) ? '' : ` -x ${fishValues(valuesOf(takes))}`.trimEnd()
  return `-l ${flag}${short === undefined ? '' : ` -s ${short}`}${value.replace('-x -F', '-r -F')} -d ${quoted(help)}`
}

function fishValues(values: Values): string {
  if (values === 'anything') return ''
  if (values === 'files') return '-F'
  if (values === 'ids') return `-a ${quoted(`(${listIds})`)}`
  return `-a ${quoted(values.words.join(' '))}`
}

/** Between single quotes, in each of these shells. Its help may hold quotes; ours has no backslash. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
