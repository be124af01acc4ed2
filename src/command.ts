// What the program can be asked for beside serving, and how that is read from the command line.
const chatIds = {
  telegram: { takes: 'ID', help: 'by which Telegram knows this person; none removes it' },
  discord: { takes: 'ID', help: 'by which Discord knows this person; none removes it' },
}

/** What the program can be asked for beside serving. Arguments stand for themselves, options are flags of their own. */
export const commands = {
  'keys add': {
    help: 'make a key and print it, this once',
    options: {
      name: { takes: 'NAME', help: 'whom it belongs to' },
      role: { takes: 'ROLE', help: 'agent, operator, auditor or admin' },
      'expires-in': { takes: 'TIME', help: 'how long it is good, as 90d, 12h, 30m or seconds; for ever if left out' },
      ...chatIds,
    },
  },
  'keys list': { help: 'list the keys, never their secrets', options: { json: { takes: '', help: 'as JSON' } } },
  'keys revoke': { argument: 'KEY', help: 'revoke a key, by its id, or all keys of a name', options: {} },
  'keys rotate': {
    argument: 'KEY',
    help: 'make a key in the place of another, by its id or its name',
    options: { overlap: { takes: 'TIME', help: 'how long the old one stays good (default 1d)' } },
  },
  'people set': {
    help: 'name somebody, and say by which ids the chats know them',
    options: {
      name: { takes: 'NAME', help: 'who it is' },
      ...chatIds,
    },
  },
  'people list': { help: 'list everyone there is', options: { json: { takes: '', help: 'as JSON' } } },
  backup: { argument: 'FILE', help: 'copy the database, also while it is in use, into a new file', options: {} },
  restore: {
    argument: 'FILE',
    help: 'put a backup in the place of the database, while no service runs; the old one is kept',
    options: {},
  },
  'policy check': { argument: 'FILE', help: 'say everything that is wrong with a file of rules', options: {} },
  'policy explain': {
    argument: 'ACTION',
    help: 'say what would happen to an action under the rules of --policy, and why',
    options: { details: { takes: 'JSON', help: 'the details it would come with' } },
  },
} as const satisfies Record<string, Command>
export type CommandName = keyof typeof commands

interface Command {
  argument?: string
  help: string
  options: Record<string, { takes: string; help: string }>
}

/** A command as it was given. */
export interface Order {
  name: CommandName
  argument: string
  options: Partial<Record<string, string | true>>
}

/** The command, or null for serving. */
export function readOrder(words: string[], problems: string[]): Order | null {
  if (words.length === 0 || (words.length === 1 && words[0] === 'serve')) return null
  const length = Object.hasOwn(commands, words[0]!) ? 1 : 2
  const name = words.slice(0, length).join(' ')
  if (!Object.hasOwn(commands, name)) {
    const kinds = Object.keys(commands).filter((one) => one.startsWith(`${name} `))
    if (kinds.length > 0) {
      problems.push(`${name}: say which: ${kinds.join(', ')}`)
      return null
    }
    // A word that follows a flag which is not ours may be a secret.
    const said = /^[a-z][a-z -]{0,40}$/.test(name) ? `${name}: there` : 'there'
    problems.push(`${said} is no such command; see --help`)
    return null
  }
  const { argument: wanted } = commands[name as CommandName] as Command
  const [argument, ...more] = words.slice(length)
  if (wanted !== undefined && (argument ?? '').trim() === '') problems.push(`${name}: say which ${wanted}`)
  const excess = wanted === undefined ? words.slice(length) : more
  if (excess.length > 0) problems.push(`${excess[0]}: ${name} takes no such argument; see --help`)
  return { name: name as CommandName, argument: argument ?? '', options: {} }
}

/** The options that a command has of its own. */
export function optionsOf(order: Order | null): string[] {
  return order === null ? [] : Object.keys((commands[order.name] as Command).options)
}

export const everyOption = Object.values<Command>(commands).flatMap(({ options }) => Object.keys(options))

export const commandHelp = Object.entries<Command>(commands)
  .map(([name, command]) => commandLines(name, command))
  .join('\n')

function commandLines(name: string, { argument, help, options }: Command): string {
  const lines = Object.entries(options).map(([option, { takes, help }]) =>
    `    ${`--${option} ${takes}`.padEnd(25)} ${help}`.trimEnd(),
  )
  return [`  ${`${name} ${argument ?? ''}`.padEnd(27)} ${help}`, ...lines].join('\n')
}
