// The one table of settings: the help, the documents and the sample file are made from it or held against it.

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export interface Setting {
  /** The heading it stands under in the help. */
  group: string
  /** Without one it is never taken from the command line, where other users of the machine could read it. */
  flag?: string
  env: string
  /** What stands for the value in the help. */
  takes: string
  help: string
  default?: string | number
  /** Never shown, not even when it is wrong. */
  secret?: true
}

const listening = 'Where it listens'
const keeping = 'What it keeps'
const deciding = 'Who may decide'
const limiting = 'How much it takes'
const lasting = 'How long a yes is good'
const saying = 'What it says'
const telling = 'Whom it tells'
const calling = 'Whom it calls back'

export const settings = {
  host: {
    group: listening,
    flag: 'host',
    env: 'CONFIRMATION_HOST',
    takes: 'ADDRESS',
    help: 'address to listen on; on anything but loopback it asks for a key from the start, and the first start makes an admin key and prints it',
    default: '127.0.0.1',
  },
  port: {
    group: listening,
    flag: 'port',
    env: 'CONFIRMATION_PORT',
    takes: 'PORT',
    help: 'port of the API; 0 picks a free one',
    default: 6000,
  },
  webPort: {
    group: listening,
    flag: 'web-port',
    env: 'CONFIRMATION_WEB_PORT',
    takes: 'PORT|off',
    help: 'second port with the same service, for browsers, which refuse port 6000; 0 picks a free one, off turns it off',
    default: 6001,
  },
  publicUrl: {
    group: listening,
    flag: 'public-url',
    env: 'CONFIRMATION_PUBLIC_URL',
    takes: 'URL',
    help: 'where people reach the pages, for links in messages; without it, http://127.0.0.1 and the web port',
  },
  dbPath: {
    group: keeping,
    flag: 'db-path',
    env: 'CONFIRMATION_DB_PATH',
    takes: 'FILE',
    help: 'SQLite database, on a local disk; without it, confirmation_audit.db in the folder HERMES_HOME, which is ~/.hermes unless it is set',
  },
  sessionGcHours: {
    group: keeping,
    flag: 'session-gc-hours',
    env: 'CONFIRMATION_SESSION_GC_HOURS',
    takes: 'HOURS',
    help: 'how often sessions that nobody needs are removed, at the start and then every so many hours, as sessions gc does it without options; 0: never',
    default: 0,
  },
  auth: {
    group: deciding,
    flag: 'auth',
    env: 'CONFIRMATION_AUTH',
    takes: 'auto|keys',
    help: 'whether a key is needed: with keys always, even while there is none; with auto the service is in open mode on loopback until the first key',
    default: 'auto',
  },
  policy: {
    group: deciding,
    flag: 'policy',
    env: 'CONFIRMATION_POLICY',
    takes: 'FILE',
    help: 'file of rules for actions, in YAML; read again on SIGHUP',
  },
  rateLimit: {
    group: limiting,
    flag: 'rate-limit',
    env: 'CONFIRMATION_RATE_LIMIT',
    takes: 'N',
    help: 'confirmations per action in each window, and with keys per action and requester',
    default: 10,
  },
  rateWindow: {
    group: limiting,
    flag: 'rate-window',
    env: 'CONFIRMATION_RATE_WINDOW',
    takes: 'SECONDS',
    help: 'length of the sliding window, in seconds',
    default: 3600,
  },
  openLimit: {
    group: limiting,
    flag: 'open-limit',
    env: 'CONFIRMATION_OPEN_LIMIT',
    takes: 'N',
    help: 'pending requests that one requester may have, once there are keys; a rule may say another; 0: no limit',
    default: 30,
  },
  diskLimit: {
    group: limiting,
    flag: 'disk-limit',
    env: 'CONFIRMATION_DISK_LIMIT',
    takes: 'MIB',
    help: 'MiB that the submissions of one requester may fill in a day; without keys, of all together; 0: no limit',
    default: 1024,
  },
  floodLimit: {
    group: limiting,
    flag: 'flood-limit',
    env: 'CONFIRMATION_FLOOD_LIMIT',
    takes: 'N',
    help: 'requests per minute with one key or link, or without a good one from one address; an item of a batch is one; 0: no limit',
    default: 60_000,
  },
  approvalTtl: {
    group: lasting,
    flag: 'approval-ttl',
    env: 'CONFIRMATION_APPROVAL_TTL',
    takes: 'SECONDS',
    help: 'seconds within which an approval must be claimed',
    default: 900,
  },
  reportTimeout: {
    group: lasting,
    flag: 'report-timeout',
    env: 'CONFIRMATION_REPORT_TIMEOUT',
    takes: 'SECONDS',
    help: 'seconds after a claim within which a report is expected',
    default: 3600,
  },
  logLevel: {
    group: saying,
    flag: 'log-level',
    env: 'CONFIRMATION_LOG_LEVEL',
    takes: 'LEVEL',
    help: 'the least that is logged: fatal, error, warn, info, debug, trace or silent',
    default: 'info',
  },
  notifyTimeout: {
    group: telling,
    flag: 'notify-timeout',
    env: 'CONFIRMATION_NOTIFY_TIMEOUT',
    takes: 'SECONDS',
    help: 'seconds a chat may take to answer before the next one is tried',
    default: 10,
  },
  notify: {
    group: telling,
    flag: 'notify',
    env: 'CONFIRMATION_NOTIFY',
    takes: 'first|all|...',
    help: 'who is told where no rule says: first, each chat until one takes it; all chats; or chats, deciders, people and group:NAME, separated by commas',
    default: 'first',
  },
  notifyRate: {
    group: telling,
    flag: 'notify-rate',
    env: 'CONFIRMATION_NOTIFY_RATE',
    takes: 'N',
    help: 'messages a minute to one chat; what comes beyond is collected in one message first, and then gets its own; 0: no limit',
    default: 10,
  },
  telegramBotToken: {
    group: telling,
    env: 'TELEGRAM_BOT_TOKEN',
    takes: 'TOKEN',
    help: 'Telegram bot that announces confirmations',
    secret: true,
  },
  telegramHomeChannel: {
    group: telling,
    env: 'TELEGRAM_HOME_CHANNEL',
    takes: 'CHAT',
    help: 'chat id or @channel it writes to',
  },
  telegramAllowedUsers: {
    group: telling,
    env: 'TELEGRAM_ALLOWED_USERS',
    takes: 'ID,...',
    help: 'who may decide in Telegram beside people on record: numeric ids, separated by commas',
  },
  telegramMode: {
    group: telling,
    env: 'TELEGRAM_MODE',
    takes: 'polling|webhook|off',
    help: 'how presses come in: polling asks for them; webhook has them sent to /chat/telegram, with the secret; off: links instead of buttons',
    default: 'polling',
  },
  telegramWebhookSecret: {
    group: telling,
    env: 'TELEGRAM_WEBHOOK_SECRET',
    takes: 'SECRET',
    help: 'what Telegram must present at /chat/telegram: 16 to 256 of A-Z a-z 0-9 _ -',
    secret: true,
  },
  telegramApiBase: {
    group: telling,
    env: 'TELEGRAM_API_BASE',
    takes: 'URL',
    help: 'another Bot API server',
    default: 'https://api.telegram.org',
  },
  discordBotToken: {
    group: telling,
    env: 'DISCORD_BOT_TOKEN',
    takes: 'TOKEN',
    help: 'Discord bot that announces confirmations when Telegram does not',
    secret: true,
  },
  discordHomeChannel: {
    group: telling,
    env: 'DISCORD_HOME_CHANNEL',
    takes: 'CHANNEL',
    help: 'channel id it writes to',
  },
  discordWebhookUrl: {
    group: telling,
    env: 'DISCORD_WEBHOOK_URL',
    takes: 'URL',
    help: 'Discord webhook, used when no bot is configured',
    secret: true,
  },
  discordAllowedUsers: {
    group: telling,
    env: 'DISCORD_ALLOWED_USERS',
    takes: 'ID,...',
    help: 'who may decide in Discord beside people on record: numeric ids, separated by commas',
  },
  discordPublicKey: {
    group: telling,
    env: 'DISCORD_PUBLIC_KEY',
    takes: 'KEY',
    help: 'public key of the application, 64 hexadecimal digits: presses come in at /chat/discord, signed; without it the bot opens the Gateway',
  },
  discordApiBase: {
    group: telling,
    env: 'DISCORD_API_BASE',
    takes: 'URL',
    help: 'another Discord API server',
    default: 'https://discord.com/api/v10',
  },
  slackBotToken: {
    group: telling,
    env: 'SLACK_BOT_TOKEN',
    takes: 'TOKEN',
    help: 'Slack bot that announces confirmations (xoxb-...)',
    secret: true,
  },
  slackAppToken: {
    group: telling,
    env: 'SLACK_APP_TOKEN',
    takes: 'TOKEN',
    help: 'token of the Slack app for Socket Mode (xapp-...), by which presses come in; without it messages have a link instead of buttons',
    secret: true,
  },
  slackChannel: {
    group: telling,
    env: 'SLACK_CHANNEL',
    takes: 'CHANNEL',
    help: 'channel id it writes to, as C012AB3CD',
  },
  slackAllowedUsers: {
    group: telling,
    env: 'SLACK_ALLOWED_USERS',
    takes: 'ID,...',
    help: 'who may decide in Slack beside people on record: ids of members, separated by commas',
  },
  slackApiBase: {
    group: telling,
    env: 'SLACK_API_BASE',
    takes: 'URL',
    help: 'another Slack API server',
    default: 'https://slack.com/api',
  },
  ntfyTopic: {
    group: telling,
    env: 'NTFY_TOPIC',
    takes: 'TOPIC',
    help: 'ntfy topic that is told, with a link to the page; whoever knows its name reads it',
    secret: true,
  },
  ntfyUrl: {
    group: telling,
    env: 'NTFY_URL',
    takes: 'URL',
    help: 'ntfy server',
    default: 'https://ntfy.sh',
  },
  ntfyToken: {
    group: telling,
    env: 'NTFY_TOKEN',
    takes: 'TOKEN',
    help: 'access token for the ntfy server',
    secret: true,
  },
  callbackAllow: {
    group: calling,
    flag: 'callback-allow',
    env: 'CONFIRMATION_CALLBACK_ALLOW',
    takes: 'HOST,...',
    help: 'hosts that may be called back although their address is private: host or host:port, separated by commas',
  },
  callbackSecret: {
    group: calling,
    env: 'CONFIRMATION_CALLBACK_SECRET',
    takes: 'SECRET',
    help: 'signs callbacks: whsec_ and 24 to 64 bytes in base64; several, separated by spaces, while it is changed',
    secret: true,
  },
} as const satisfies Record<string, Setting>

export type Key = keyof typeof settings

/** What is no setting of its own: it cannot stand in the file. */
export const otherSettings = {
  config: {
    flag: 'config',
    env: 'CONFIRMATION_CONFIG',
    takes: 'FILE',
    help: 'YAML file to read settings from',
  },
  help: { flag: 'help', short: 'h', takes: '', help: 'show help; with a command, about that command' },
  version: { flag: 'version', short: 'V', takes: '', help: 'show the version' },
  hermesHome: {
    env: 'HERMES_HOME',
    takes: 'FOLDER',
    help: 'folder of the database when --db-path is not given; made if missing',
    default: '~/.hermes',
  },
} as const satisfies Record<string, OtherSetting>

export interface OtherSetting extends Pick<Setting, 'flag' | 'takes' | 'help' | 'default'> {
  env?: string
  short?: string
}

export const settingEntries = Object.entries(settings) as [Key, Setting][]

/** The flags that every command takes. */
export const generalFlags = [
  ...settingEntries.flatMap(([, { flag }]) => flag ?? []),
  ...Object.values<OtherSetting>(otherSettings).flatMap(({ flag }) => flag ?? []),
]

/** The name a setting has in the configuration file: telegramBotToken is telegram_bot_token. */
export function fileKey(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
