// The table of commands beside serving, and how the command line is read: a command, its argument and options, the flags.
import { parseArgs } from 'node:util'
import { nearTo } from './core/closest.js'
import { type HostName, waits } from './hooks/waits.js'
import { fileKey, generalFlags, type Key, otherSettings, type OtherSetting, settingEntries } from './config/settings.js'

const chatIds = {
  telegram: { takes: 'ID', help: 'by which Telegram knows this person; none removes it' },
  discord: { takes: 'ID', help: 'by which Discord knows this person; none removes it' },
  slack: { takes: 'ID', help: 'by which Slack knows this person; none removes it' },
}
const json = { takes: '', help: 'as JSON' }
/** More of the log is for the log itself. */
export const maxLogLines = 1000
export const defaultLogLines = 50
/** How a command that speaks HTTP finds the service, and shows who asks. */
const service = {
  url: { takes: 'URL', help: 'where the service is [HOLDPOINT_URL]' },
  'key-file': { takes: 'FILE', help: 'a file with the key; without it, that of the environment [HOLDPOINT_KEY]' },
}
const by = { takes: 'NAME', help: 'who does it, while there is no key; with one, a comment' }
const reason = { takes: 'TEXT', help: 'why', short: 'm' }
const digest = { takes: 'DIGEST', help: 'do not ask if this is its digest, or the first 16 digits or more' }
const requester = { takes: 'NAME', help: "whose session it is, where several have this key; '' from open mode" }
const reach = 'It goes through the running service if there is one, else into the database itself.'

/** Of what is listed and exported. */
const filters = {
  events: { takes: '', help: 'the history, event by event, in place of the requests' },
  action: { takes: 'NAME', help: 'only of this action' },
  requester: { takes: 'NAME', help: 'only of this requester' },
  session: { takes: 'KEY', help: 'only of this session' },
  since: { takes: 'TIME', help: 'from this time on: a date, a time with its zone, epoch seconds; or 7d, 12h, 30m ago' },
  until: { takes: 'TIME', help: 'before this time' },
  status: { takes: 'LIST', help: 'only requests in these states, as approved,denied' },
  'resolved-by': { takes: 'NAME', help: 'only requests that this one resolved' },
  'voted-by': { takes: 'NAME', help: 'only requests on which this one voted' },
  'resolved-since': { takes: 'TIME', help: 'only requests that were resolved from this time on' },
  'resolved-until': { takes: 'TIME', help: 'only requests that were resolved before this time' },
  type: { takes: 'LIST', help: 'only events of these types, as claimed,reported' },
  of: { takes: 'ID', help: 'only events of this request' },
  actor: { takes: 'NAME', help: 'only events by this one' },
  channel: { takes: 'NAME', help: 'only events through this channel' },
}

const sayRules = 'Where none runs, limits are those of --policy.'
const httpOrSocket =
  'With a URL or a key it asks over HTTP. With neither it goes through the socket of --db-path, as the user who runs the service; where none runs, it opens the database itself.'
const overHttp = 'It goes over HTTP alone, without a URL to the address at which the service on this machine listens.'
const shortIds = 'Of the ID the last six characters or more will do, where only one request of the last week ends so.'
const httpExits = '0 done, 1 refused, 2 called wrongly, 3 the service is not reached'
const dashes = 'A key that begins with a dash stands last, behind --.'

/** Of the answer to a host's hook. */
const hookOptions = (host: HostName) => ({
  timeout: {
    takes: 'SECONDS',
    help: `for how long the host waits for its hook, as its own settings say (default ${waits[host].usual})`,
  },
  ...service,
})
const closedHook =
  'Nothing but a clear yes of the service is told as a yes: where it is away, slow or not understood, or anything here is wrong, the answer is no, while the host still listens. A service that is away is tried again for three seconds.'

/** What the program can be asked for beside serving. Arguments stand for themselves, options are flags of their own. */
export const commands = {
  pending: {
    help: 'list what waits for a decision, the next deadline first',
    options: {
      action: { takes: 'NAME', help: 'only requests for this action' },
      session: { takes: 'KEY', help: 'only those of a session' },
      ...service,
      json,
    },
    more: `On a terminal an ID is its end, which the other commands take. ${httpOrSocket}`,
    settings: ['dbPath'],
    exits: httpExits,
    example: 'pending --action send_mail',
  },
  show: {
    argument: 'ID',
    help: 'show a request, whole',
    options: { ...service, json },
    more: `${shortIds} ${httpOrSocket}`,
    settings: ['dbPath'],
    exits: httpExits,
    example: 'show 6f6b1e',
  },
  approve: {
    argument: 'ID',
    help: 'show a request, whole, and approve it once you say yes',
    options: {
      reason,
      typed: { takes: 'NAME', help: "the action's name, where its rule wants it typed" },
      remember: {
        takes: 'session|global',
        help: 'let the action pass without asking from now on, too: in its session, or in any',
      },
      digest,
      by,
      ...service,
      json,
    },
    more: `${shortIds} Where nobody can be asked, --digest is needed: show prints it. ${overHttp}`,
    settings: ['port'],
    exits: httpExits,
    example: 'approve 6f6b1e',
  },
  deny: {
    argument: 'ID',
    help: 'deny a request',
    options: { reason: { ...reason, help: 'why; the agent is told' }, digest, by, ...service, json },
    more: `${shortIds} By such an end it is shown first, and you are asked; where nobody can be, the whole ID or --digest is needed. ${overHttp}`,
    settings: ['port'],
    exits: httpExits,
    example: "deny 6f6b1e -m 'not before the audit'",
  },
  watch: {
    help: 'follow what waits, live, and decide it, on the whole screen',
    options: { by, ...service },
    more: `Its keys stand on its last line; ? shows all of them. A request can be approved once all of it was on the screen. ${overHttp}`,
    settings: ['port'],
    exits: httpExits,
    example: 'watch',
  },
  'whitelist list': {
    help: 'list what passes without asking',
    options: { ...service, json },
    more: httpOrSocket,
    settings: ['dbPath'],
    exits: httpExits,
    example: 'whitelist list',
  },
  'whitelist add': {
    argument: 'ACTION',
    help: 'let an action pass without asking',
    options: {
      session: { takes: 'KEY', help: 'only in this session' },
      requester: { takes: 'NAME', help: 'only for this requester' },
      when: { takes: 'JSON', help: 'only with details that meet these conditions' },
      details: { takes: 'JSON', help: 'only with exactly these details' },
      ttl: { takes: 'TIME', help: 'how long, as 90d, 12h, 30m or seconds; until it is revoked if left out' },
      'max-uses': { takes: 'N', help: 'how often' },
      reason,
      by,
      ...service,
      json,
    },
    more: `The same again sets its terms anew. ${httpOrSocket} Where no service runs, rules are those of --policy.`,
    settings: ['dbPath', 'policy'],
    exits: httpExits,
    example: `whitelist add restart_worker --ttl 1h --when '{"worker":3}'`,
  },
  'whitelist revoke': {
    argument: 'ID',
    help: 'take back what passes without asking',
    options: { by, ...service, json },
    more: `Of the ID the last six characters or more will do, where only one entry ends so. ${httpOrSocket}`,
    settings: ['dbPath'],
    exits: httpExits,
    example: 'whitelist revoke 8f0e2a51',
  },
  audit: {
    help: 'list what happened, the newest first: requests as they stand, or events',
    options: {
      ...filters,
      limit: { takes: 'N', help: 'how many at most, up to 10000 (default 50)' },
      ...service,
      json,
    },
    more: `With --events the newest stands last. ${httpOrSocket}`,
    settings: ['dbPath'],
    exits: httpExits,
    example: 'audit --status denied --since 7d',
  },
  export: {
    help: 'take away what happened, the oldest first, as JSON Lines or CSV',
    options: {
      format: { takes: 'jsonl|csv', help: 'left out: as the FILE is called, else jsonl' },
      output: { takes: 'FILE', help: 'the file to write, which appears when it is whole; left out: standard output' },
      resume: { takes: '', help: 'go on with what was begun, or add what is new to the FILE' },
      force: { takes: '', help: 'take the place of a FILE that is there' },
      ...filters,
      ...service,
      json: { takes: '', help: 'what was written, as JSON; with --output' },
    },
    more: `What breaks off is taken up again by itself. If that fails, what came so far stands beside FILE, and the same command with --resume goes on. CSV is safe to open in a spreadsheet. ${httpOrSocket}`,
    settings: ['dbPath'],
    exits: httpExits,
    example: 'export --output audit.csv --since 2026-01-01',
  },
  digest: {
    argument: 'FILE',
    help: 'compute the digest that an approval is bound to, from a submission or a record as JSON',
    options: { requester: { takes: 'NAME', help: 'who submits it; with keys that is the owner of the key' }, json },
    more: 'FILE may be -, which is standard input. It is read as the service reads a body: a field that does not exist, a name that stands twice or a number that does not survive being read is refused. Of a record the digest must be its own. Nothing is asked of a service.',
    settings: [],
    example: 'digest submission.json',
  },
  mcp: {
    help: 'be an MCP server for an agent, on standard input and output',
    options: {
      session: { takes: 'KEY', help: 'the session of what does not name another' },
      ...service,
    },
    more: `For the settings of a host, which starts it and ends it by closing its input. Its tools ask, wait, claim, report and withdraw; none approves. With an agent's key what is asked is the agent's own. ${overHttp}`,
    settings: ['port'],
    exits: '0 the host is gone, 2 called wrongly',
    example: 'mcp --key-file agent.key',
  },
  'keys add': {
    help: 'make a key and print it, this once',
    options: {
      name: { takes: 'NAME', help: 'whom it belongs to; needed' },
      role: { takes: 'ROLE', help: 'agent, operator, auditor or admin; needed' },
      'expires-in': { takes: 'TIME', help: 'how long it is good, as 90d, 12h, 30m or seconds; for ever if left out' },
      ...chatIds,
      json,
    },
    more: `The key alone goes to standard output, everything else to standard error. The first key ends open mode. ${reach}`,
    settings: ['dbPath'],
    example: 'keys add --name alice --role operator --expires-in 90d',
  },
  'keys list': {
    help: 'list the keys, never their secrets',
    options: { json },
    more: reach,
    settings: ['dbPath'],
    example: 'keys list --json',
  },
  'keys revoke': {
    argument: 'KEY',
    help: 'revoke a key, by its id, or all keys of a name',
    options: { json },
    more: `At once: who is signed in with it is out. ${reach}`,
    settings: ['dbPath'],
    example: 'keys revoke alice',
  },
  'keys rotate': {
    argument: 'KEY',
    help: 'make a key in the place of another, by its id or its name',
    options: { overlap: { takes: 'TIME', help: 'how long the old one stays good (default 1d)' }, json },
    more: reach,
    settings: ['dbPath'],
    example: 'keys rotate alice --overlap 1h',
  },
  signin: {
    argument: 'NAME',
    help: 'print a link by which somebody signs in once, and on a terminal its QR code',
    options: { json },
    more: "For a person's key that is good and no agent's, by the name of its owner or by its id. The link is good for five minutes, and for one browser. It alone goes to standard output, everything else to standard error. It leads to the running service, so one must run.",
    settings: ['dbPath'],
    example: 'signin alice',
  },
  'people set': {
    help: 'name somebody, and say by which ids the chats know them',
    options: {
      name: { takes: 'NAME', help: 'who it is; needed' },
      ...chatIds,
      json,
    },
    more: reach,
    settings: ['dbPath'],
    example: 'people set --name alice --telegram 123456789',
  },
  'people list': {
    help: 'list everyone there is',
    options: { json },
    more: reach,
    settings: ['dbPath'],
    example: 'people list',
  },
  'sessions list': {
    help: 'list sessions, the latest active first',
    options: {
      platform: { takes: 'NAME', help: 'only those of a platform, as telegram' },
      requester: { takes: 'NAME', help: 'only those of a requester' },
      suspended: { takes: '', help: 'only those that are suspended' },
      'active-minutes': { takes: 'N', help: 'only those that were active within so many minutes' },
      json,
    },
    more: `A key that is no plain word is shown as a shell takes it. ${reach} ${sayRules}`,
    settings: ['dbPath', 'policy'],
    example: 'sessions list --suspended',
  },
  'sessions show': {
    argument: 'KEY',
    help: 'show a session: its counts, grants, what is pending, the last outcomes, earlier session ids',
    options: { requester, text: { takes: '', help: "as the text for an agent's prompt" }, json },
    more: `${dashes} ${reach} ${sayRules}`,
    settings: ['dbPath', 'policy'],
    example: 'sessions show agent:main:telegram:dm:42',
  },
  'sessions reset': {
    argument: 'KEY',
    help: 'begin a session anew: its grants end, and so does a suspension',
    options: { requester, json },
    more: `It gets another session id once nothing is pending or claimed. ${dashes} ${reach}`,
    settings: ['dbPath', 'policy'],
    example: 'sessions reset agent:main:telegram:dm:42',
  },
  'sessions suspend': {
    argument: 'KEY',
    help: 'take nothing from a session any more, until it is resumed or reset',
    options: { requester, reason: { ...reason, help: 'why; the agent is told' }, json },
    more: `${dashes} ${reach}`,
    settings: ['dbPath', 'policy'],
    example: "sessions suspend release --reason 'it went astray'",
  },
  'sessions resume': {
    argument: 'KEY',
    help: 'let a suspended session go on',
    options: { requester, reason, json },
    more: `${dashes} ${reach}`,
    settings: ['dbPath', 'policy'],
    example: 'sessions resume agent:main:telegram:dm:42',
  },
  'sessions switch': {
    argument: 'KEY',
    help: 'go back to an earlier id of a session: its counts come back, its grants do not',
    options: { to: { takes: 'ID', help: 'which, as sessions show lists them; needed' }, requester, json },
    more: `${dashes} ${reach}`,
    settings: ['dbPath', 'policy'],
    example: 'sessions switch release --to 019b7765-1c7f-7b14-8f0e-2a51c6f6d1e3',
  },
  'sessions gc': {
    help: 'remove sessions that nobody needs: empty ones, and short ones that were not active for long',
    options: {
      'empty-hours': {
        takes: 'HOURS',
        help: 'without any message, and begun and last active so long ago (default 24)',
      },
      'trivial-max': { takes: 'N', help: 'with at most so many messages ... (default 5)' },
      'trivial-days': { takes: 'DAYS', help: '... and last active so long ago (default 7)' },
      'max-age-days': { takes: 'DAYS', help: 'last active so long ago, whatever it has (default off)' },
      source: { takes: 'PLATFORM', help: 'of this platform alone' },
      'dry-run': { takes: '', help: 'only show what would go' },
      json,
      yes: { takes: '', help: 'do not ask first' },
    },
    more: `Each session id is judged by itself, those that were rotated away, too. Age is counted from the last activity. One stays that was used in the last hour, has something pending, claimed or still to be claimed, is suspended or due, or has a whitelist entry that stands. No request and no event is ever removed, and no streak of denials forgotten. ${reach}`,
    settings: ['dbPath'],
    example: 'sessions gc --source telegram --dry-run',
  },
  'policy check': {
    argument: 'FILE',
    help: 'say everything that is wrong with a file of rules',
    options: { json },
    more: 'A file that cannot be used is refused: exit code 1.',
    settings: [],
    example: 'policy check rules.yaml',
  },
  'policy explain': {
    argument: 'ACTION',
    help: 'say what would happen to an action under the rules of --policy, and why',
    options: { details: { takes: 'JSON', help: 'the details it would come with' }, json },
    settings: ['policy'],
    example: `policy explain pay --policy rules.yaml --details '{"n":5}'`,
  },
  'policy schema': {
    help: 'print the JSON Schema of a file of rules, for editors',
    options: {},
    settings: [],
    example: 'policy schema',
  },
  'notify test': {
    help: 'send a test message through each chat, and say what is wrong where it does not arrive',
    options: { json },
    more: 'It is sent by this command itself, with the settings it is given: say the variables with which the service is started.',
    exits: '0 all work, 1 some do not or none is set up, 2 called wrongly',
    settings: ['notifyTimeout'],
    example: 'notify test',
  },
  backup: {
    argument: 'FILE',
    help: 'copy the database, also while it is in use, into a new file',
    options: { json },
    settings: ['dbPath'],
    example: 'backup /var/backups/holdpoint.db',
  },
  restore: {
    argument: 'FILE',
    help: 'put a backup in the place of the database, while no service runs; the old one is kept',
    options: { json },
    more: 'What the backup would bring back to life is ended: pending requests, approvals, whitelist entries, links. If no key is good any more, one for an administrator is made and printed.',
    settings: ['dbPath'],
    example: 'restore /var/backups/holdpoint.db',
  },
  completion: {
    argument: 'SHELL',
    help: 'print what completes commands and flags, in bash, zsh or fish',
    options: {},
    more: 'For bash: source <(holdpoint completion bash) in ~/.bashrc. For zsh: the same with zsh, in ~/.zshrc after compinit. For fish: holdpoint completion fish > ~/.config/fish/completions/holdpoint.fish.',
    settings: [],
    example: 'completion bash',
  },
  'hook claude-code': {
    help: "answer Claude Code's hooks: PreToolUse, PostToolUse and PostToolUseFailure",
    options: hookOptions('claude-code'),
    more: `The call stands on standard input, the decision on standard output. ${closedHook} Name "onFailure": "block" beside the command: without it Claude Code makes the call where this is killed. ${overHttp}`,
    settings: ['port'],
    exits: '0 the decision is on standard output, 2 no',
    example: 'hook claude-code --timeout 600 --key-file ~/claude-code.key',
  },
  'hook codex': {
    help: "answer Codex's hooks: PreToolUse and PostToolUse",
    options: hookOptions('codex'),
    more: `The call stands on standard input; a yes is silent, a no is a reason on standard error. ${closedHook} But Codex itself makes the call where this is killed: it is not closed. ${overHttp}`,
    settings: ['port'],
    exits: '0 yes, 2 no',
    example: 'hook codex --timeout 600 --key-file ~/codex.key',
  },
  'hook hermes': {
    help: "answer Hermes' shell hooks: pre_tool_call and post_tool_call",
    options: hookOptions('hermes'),
    more: `The call stands on standard input, the decision on standard output. ${closedHook} Name fail_closed: true beside the command: without it Hermes makes the call where this is killed. ${overHttp}`,
    settings: ['port'],
    exits: '0 yes, 2 no',
    example: 'hook hermes --timeout 300 --key-file ~/hermes.key',
  },
  'hook generic': {
    help: 'decide for any program whether it may act: it may where the exit code is 0',
    options: {
      outcome: {
        takes: 'HOW',
        help: 'it was done, and this is how it ended: succeeded or failed. Nothing is decided then',
      },
      ...hookOptions('generic'),
    },
    more: `Standard input has JSON: action; details, which are what a person decides about; session; cwd; call_id, by which the outcome is told afterwards. With --outcome it is told how the act ended, and error says what went wrong. The decision stands on standard output as JSON: decision, reason and, where it is known, id. A no has its reason on standard error, too. ${closedHook} ${overHttp}`,
    settings: ['port'],
    exits: '0 yes, or told; 2 no; nothing but 0 is a yes',
    example: 'hook generic --timeout 600 --key-file ~/backup.key',
  },
  install: {
    argument: 'HOST',
    help: "put the hook into an agent's host: claude-code, codex, hermes, openclaw or mcp",
    options: {
      print: { takes: '', help: 'only show what belongs into its settings' },
      undo: { takes: '', help: 'take it out again, and revoke its key' },
      check: {
        takes: '',
        help: 'say whether the host is closed: read its settings, and try the hook while nobody answers',
      },
      project: { takes: 'DIR', help: "in the settings of this project, not in the user's" },
      url: { ...service.url, help: 'where the hook finds the service [HOLDPOINT_URL]' },
      'key-file': { takes: 'FILE', help: "a file with an agent's key that there is; without it, one is made" },
      yes: { takes: '', help: 'do not ask before the first key, which ends open mode' },
      json,
    },
    more: `What stands in the settings stays, and is kept beside them once more. The same again changes nothing. The key is for this host alone, in a file for its owner alone, under $XDG_CONFIG_HOME/holdpoint/keys or ~/.config/holdpoint/keys. ${reach}`,
    exits: '0 done, or closed; 1 refused, or not closed; 2 called wrongly',
    settings: ['dbPath', 'host', 'port'],
    example: 'install claude-code --project .',
  },
  doctor: {
    help: 'say what is wrong, in a report for others to read, without secrets',
    options: {
      lines: { takes: 'N', help: `how many lines of the log, 0 to ${maxLogLines} (default ${defaultLogLines})` },
      json,
      output: { takes: 'FILE', help: 'write it to a new file, for its owner alone' },
    },
    more: 'With and without a running service; nothing is changed, and nothing is sent to anybody. Say the flags and variables with which the service is started. Chats are asked whether they know the bot.',
    exits: '0 no problem found, 1 problems found or refused, 2 called wrongly',
    settings: ['dbPath', 'policy'],
    example: 'doctor --output holdpoint-report.txt',
  },
} as const satisfies Record<string, Command>
export type CommandName = keyof typeof commands

export interface Option {
  /** Empty: a switch. */
  takes: string
  help: string
  short?: string
}

export interface Command {
  argument?: string
  help: string
  options: Record<string, Option>
  /** Which settings matter to it. */
  settings: readonly Key[]
  /** What else its user should know. */
  more?: string
  /** What its exit codes mean, where that is not the usual. */
  exits?: string
  example: string
}

/** What commands have in common, by their first word. */
export const groups: Record<string, string> = {
  whitelist: 'what passes without asking',
  keys: 'who may do what',
  people: 'who is who in the chats',
  sessions: 'conversations of agents',
  policy: 'rules for actions, checked and explained',
  notify: 'the chats that are told',
  hook: 'answers to the hooks of coding agents',
}

/** Commands of one word that stand on one line of the first screen. Whatever stands in none has its own. */
export const screenLines: { names: string[]; takes: string; help: string }[] = [
  { names: ['pending', 'show', 'watch'], takes: '', help: 'what waits for a decision: all, one, or live' },
  { names: ['approve', 'deny'], takes: 'ID', help: 'decide' },
  { names: ['audit', 'export', 'digest'], takes: '', help: 'what happened: listed, as a file, its digests' },
  { names: ['signin'], takes: 'NAME', help: 'print a link by which somebody signs in once' },
  { names: ['backup', 'restore'], takes: 'FILE', help: 'copy the database, or put a copy in its place' },
  { names: ['install', 'mcp'], takes: '', help: "hook an agent's host; be its MCP server" },
  { names: ['doctor', 'completion'], takes: '', help: 'say what is wrong; complete commands in a shell' },
]

/** A command as it was given. */
export interface GivenCommand {
  name: CommandName
  argument: string
  options: Partial<Record<string, string | true>>
}

/** The answer to a coding agent's hook, which is given whatever the settings are. */
export type HookName = Extract<CommandName, `hook ${string}`>
export type HookCommand = GivenCommand & { name: HookName }

export function isHook(given: GivenCommand): given is HookCommand {
  return given.name.startsWith('hook ')
}

/** One that is carried out with right settings alone. The doctor is not: wrong ones belong into its report. */
export type PlainCommand = GivenCommand & { name: Exclude<CommandName, 'doctor' | HookName> }

export function isPlain(given: GivenCommand): given is PlainCommand {
  return given.name !== 'doctor' && !isHook(given)
}

/** Which service is meant, and who asks, as the environment says. */
export interface Remote {
  url: string | undefined
  key: string | undefined
}

/** An empty variable counts as not set. */
export function readRemote({ HOLDPOINT_URL: url, HOLDPOINT_KEY: key }: Partial<Record<string, string>>): Remote {
  return { url: url?.trim() || undefined, key: key?.trim() || undefined }
}

/** Everything that is wrong with the command line and the settings, one line each. */
export class ConfigProblems extends Error {
  override name = 'ConfigProblems'
  readonly problems: string[]

  constructor(problems: string[]) {
    const [first, ...more] = problems
    const all = problems.map((one) => `  - ${one}`).join('\n')
    super(more.length === 0 ? first : `Holdpoint cannot run with these settings:\n${all}`)
    this.problems = problems
  }
}

export type CommandLine =
  | { command: 'help'; topic: string[] }
  | { command: 'version' }
  /** Serving, where no command is given. With problems, nothing of it counts. */
  | { command: 'run'; given: GivenCommand | null; flags: Map<string, string>; problems: string[] }

export function readCommandLine(argv: string[]): CommandLine {
  const { words, options } = readTokens(argv)
  if (options.some(({ name }) => name === 'help')) return { command: 'help', topic: words }
  if (options.some(({ name }) => name === 'version')) return { command: 'version' }
  if (words[0] === 'help') return { command: 'help', topic: words.slice(1) }
  const problems: string[] = []
  const given = readGiven(words, problems)
  const flags = new Map<string, string>()
  for (const { name, rawName, value, inlineValue } of options) {
    const isOwn = given !== null && Object.hasOwn(optionsOf(given.name), name)
    if (!isOwn && !generalFlags.includes(name)) {
      // About a command that is not known nothing more can be said.
      if (problems.length === 0 || given !== null) problems.push(sayUnknownFlag(name, rawName, given?.name ?? null))
    } else if (isSwitch(name)) {
      if (value === undefined) given!.options[name] = true
      else problems.push(`--${name}: takes no value`)
    }
    // A flag in the place of the value: that was forgotten.
    else if (
      value === undefined ||
      (value === '' && !mayBeEmpty(name)) ||
      (inlineValue === false && value.startsWith('--'))
    )
      problems.push(`--${name}: needs a value`)
    else if (isOwn) given.options[name] = value
    else flags.set(name, value)
  }
  return { command: 'run', given, flags, problems }
}

interface GivenFlag {
  name: string
  rawName: string
  value: string | undefined
  /** Whether it stands behind an equals sign. */
  inlineValue: boolean | undefined
}

function readTokens(argv: string[]): { words: string[]; options: GivenFlag[] } {
  const { tokens } = parseArgs({
    args: argv,
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: {
      ...Object.fromEntries(allOptions.map((name) => [name, parsedAs(name)])),
    },
  })
  const words: string[] = []
  const options: GivenFlag[] = []
  // Where a flag that is not ours was given: the word behind it is its value, and may be a secret.
  let unknownAt = -2
  let last = -1
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (token.index !== unknownAt + 1 || isFirstWord(token.value)) words.push(token.value)
    } else if (token.kind === 'option' && token.index !== last) {
      last = token.index
      if (!allOptions.includes(token.name) && token.value === undefined) unknownAt = token.index
      options.push(token)
    }
  }
  return { words, options }
}

function parsedAs(name: string) {
  const short = shortFlags.get(name)
  return {
    type: isSwitch(name) ? ('boolean' as const) : ('string' as const),
    ...(short === undefined ? {} : { short }),
  }
}

/** The command, or null for serving. */
function readGiven(words: string[], problems: string[]): GivenCommand | null {
  if (words.length === 0 || (words.length === 1 && words[0] === 'serve')) return null
  const name = commandNameOf(words)
  if (name === null) {
    problems.push(sayUnknown(words))
    return null
  }
  const { argument: wanted }: Command = commands[name]
  const [argument, ...more] = words.slice(name.split(' ').length)
  if (wanted !== undefined && (argument ?? '').trim() === '') problems.push(`${name}: say which ${wanted}`)
  const excess = wanted === undefined && argument !== undefined ? argument : more[0]
  if (excess !== undefined) {
    const said = isHarmless(excess) ? `${excess}: ` : ''
    problems.push(`${said}${name} takes no ${wanted === undefined ? '' : 'second '}argument; see --help`)
  }
  return { name, argument: argument ?? '', options: {} }
}

export function commandNameOf(words: string[]): CommandName | null {
  const name = [words.slice(0, 1), words.slice(0, 2)].map((some) => some.join(' ')).find((one) => one in known)
  return (name as CommandName | undefined) ?? null
}

/** Without a prototype: constructor is no command. */
const known: Record<string, Command> = Object.assign(Object.create(null) as object, commands)

export function commandsOf(group: string): [CommandName, Command][] {
  const entries = Object.entries<Command>(commands) as [CommandName, Command][]
  return entries.filter(([name]) => name.startsWith(`${group} `))
}

/** That these words are no command, and which was meant. */
export function sayUnknown(words: string[]): string {
  const [first = '', second] = words
  if (Object.hasOwn(groups, first)) {
    const which = commandsOf(first).map(([name]) => name)
    if (second === undefined) return `${first}: say which: ${which.join(', ')}`
    const said = isHarmless(second) ? `${first} ${second}: there` : 'there'
    const meant = nearTo(`${first} ${second}`, which)
    return `${said} is no such command; ${meant === undefined ? `there is ${which.join(', ')}` : `did you mean ${meant}?`}`
  }
  if (first === 'serve') return 'serve takes no argument; see --help'
  const meant = suggestCommand(first, second)
  // What stands behind a command of one word is its argument.
  const typed = words.slice(0, meant === null || meant.includes(' ') ? 2 : 1)
  const said = typed.every(isHarmless) ? `${typed.join(' ')}: there` : 'there'
  return `${said} is no such command; ${meant === null ? 'see --help' : `did you mean ${meant}?`}`
}

function suggestCommand(first: string, second: string | undefined): string | null {
  const names = Object.keys(commands)
  const single = [...names.filter((name) => !name.includes(' ')), ...Object.keys(groups), 'serve', 'help']
  const pairs = names.filter((name) => name.includes(' '))
  const whole = second === undefined ? undefined : nearTo(`${first} ${second}`, pairs)
  // The second word alone says which it is: add is keys add.
  const ends = pairs.filter((name) => name.endsWith(` ${first.toLowerCase()}`))
  return whole ?? nearTo(first, single) ?? (ends.length === 0 ? null : ends.join(' or '))
}

function sayUnknownFlag(name: string, rawName: string, command: CommandName | null): string {
  const said = isHarmless(name) ? `${rawName}: ` : ''
  const none = `${said}there is no such flag`
  const owners = Object.entries<Command>(commands).flatMap(([one, { options }]) =>
    Object.hasOwn(options, name) ? [one] : [],
  )
  if (owners.length > 0) return `${said}is for ${owners.join(', ')}; ${command ?? 'serve'} does not take it`
  const variable = settingEntries.find(
    ([key, { flag }]) => flag === undefined && fileKey(key) === name.replaceAll('-', '_'),
  )
  if (variable !== undefined) return `${none}; set ${variable[1].env} in the environment, or put it in the file`
  const own = command === null ? [] : Object.keys(optionsOf(command))
  const meant = nearTo(name, [...own, ...generalFlags])
  return `${none}; ${meant === undefined ? 'see --help' : `did you mean --${meant}?`}`
}

/** Whether it can be repeated in a message: anything else may steer a terminal, or be a secret. */
function isHarmless(word: string): boolean {
  return /^[a-z]+(-[a-z]+)*$/.test(word) && word.length <= 30
}

function isFirstWord(word: string): boolean {
  return word === 'serve' || word === 'help' || Object.hasOwn(groups, word) || word in known
}

export function optionsOf(name: CommandName): Command['options'] {
  return commands[name].options
}

const allOptions = [
  ...new Set([...generalFlags, ...Object.values<Command>(commands).flatMap(({ options }) => Object.keys(options))]),
]

const ownOptions: [string, Option][] = Object.values<Command>(commands).flatMap(({ options }) =>
  Object.entries(options),
)

/** By their flags. One letter means the same in all commands. */
const shortFlags = new Map([
  ...Object.values<OtherSetting>(otherSettings).flatMap(({ flag, short }) =>
    flag === undefined || short === undefined ? [] : [[flag, short] as const],
  ),
  ...ownOptions.flatMap(([name, { short }]) => (short === undefined ? [] : [[name, short] as const])),
])

const switches = [
  ...Object.values<OtherSetting>(otherSettings).flatMap(({ flag, takes }) =>
    flag === undefined || takes !== '' ? [] : [flag],
  ),
  ...ownOptions.flatMap(([name, { takes }]) => (takes === '' ? [name] : [])),
]

/** Whether it takes no value. */
export function isSwitch(name: string): boolean {
  return switches.includes(name)
}

/** Sessions from before there was a key have no requester. */
function mayBeEmpty(name: string): boolean {
  return name === 'requester'
}
