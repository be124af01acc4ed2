// Plays Discord: a server with a channel and a bot in it, one webhook, and people who press and write; with the limits of the
// real one. What they do comes over the Gateway, or is sent, signed, to the URL that is set for it. Messages are kept as they
// are seen now.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type Call, type ChatServer, type Reply, startChatServer, type Teardown } from './chat-server.js'
import { parseMarkdown, type Part } from './discord-markdown.js'
import { type FakeGateway, startGateway } from './fake-gateway.js'

export interface DiscordMessage {
  id: string
  channel: string
  content: string
  embeds: any[]
  components: any[]
  nonce: string | null
  /** To which it is a reply. */
  replyTo: string | null
  edits: number
  /** When it was sent, by the server's clock. */
  at: number
}

export interface DiscordUser {
  id: string
  bot?: boolean
  system?: boolean
}

/** The first answer to what somebody did, as they got it within three seconds. */
export interface DiscordAnswer {
  type: number
  data?: any
}

export interface DiscordForm {
  user: string
  form: any
  message: DiscordMessage | null
}

/** A request to the URL for interactions, which a test may spoil. */
export interface Signed {
  headers: Record<string, string>
  body: string
}

export interface FakeDiscord extends ChatServer {
  botToken: string
  webhookToken: string
  applicationId: string
  botId: string
  channel: string
  messages: DiscordMessage[]
  /** What one person alone was shown. */
  whispers: { user: string; text: string }[]
  /** Forms that are open, the last one last. */
  forms: DiscordForm[]
  /** What the menu lists. */
  menu: any[]
  gateway: FakeGateway
  /** The settings that lead here, for a bot and for a webhook. */
  config: { discordBotToken: string; discordHomeChannel: string; discordApiBase: string }
  webhookConfig: { discordWebhookUrl: string }
  /** By it what is sent to the URL is known to be from here. */
  publicKey: string
  /** How many answers were 401, 403 or 429: ten thousand in ten minutes get an address banned. */
  invalid: number
  /** The channel of the settings, and what the bot may do there. */
  home: { type: number; guild_id: string | undefined; permission_overwrites: object[] }
  guild: { roles: { id: string; permissions: string }[]; memberRoles: string[]; isMember: boolean }
  /** What the bot is refused in the channel; null: nothing. */
  barred: 'access' | 'permission' | null
  /** From now on no faster than the real one: five messages in five seconds in each channel, and as many edits. */
  keepPace(now: () => number): void
  deleteMessage(id: string): void
  deleteWebhook(): void
  /** Takes no messages from the bot any more. */
  block(user: string): void
  /** Presses the button with this label as it stands there now. */
  press(message: DiscordMessage, label: string, by: DiscordUser): Promise<DiscordAnswer>
  /** Sends what anybody might send: any data, from any message. */
  forge(data: unknown, by: DiscordUser, message?: DiscordMessage | null): Promise<DiscordAnswer>
  /** Writes a reason, or nothing, into the last form and sends it. */
  submit(reason: string, by: DiscordUser): Promise<DiscordAnswer>
  /** Writes a command with these options: in the channel, in another, or to the bot alone. */
  write(
    command: string,
    options: Record<string, string>,
    by: DiscordUser,
    place?: { channel: string; isPrivate: boolean },
  ): Promise<DiscordAnswer>
  /** Any interaction, whatever is in it. */
  interact(interaction: Record<string, unknown>): Promise<DiscordAnswer>
  /** The last one again, as if it had never been answered. */
  redeliver(): void
  /** The last one. */
  last(): Record<string, unknown>
  /** What Discord does when somebody sets the URL: it takes one that answers a ping, and refuses a bad signature. */
  setEndpoint(url: string | null): Promise<void>
  /** Signs a body as of now, or as of a time. */
  sign(body: string, atSeconds?: number): Signed
}

const apiPath = '/api/v10'
const answerWithinMs = 3000
const homeId = '1122334455'
const guildId = '5544332211'
const botToken = 'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs'
const applicationId = '198622483471925249'
const botId = '198622483471925248'
/** View Channel, Send Messages, Embed Links. */
const usualPermissions = String((1n << 10n) | (1n << 11n) | (1n << 14n))

interface Asked {
  interaction: Record<string, any>
  user: string
  isAnswered: boolean
  until: number
  answered(answer: DiscordAnswer): void
}

export async function startDiscord(
  t: Teardown,
  {
    now = Date.now,
    beatMs = 41_250,
    // For a bot of one shard.
    identifyPauseMs = 5000,
  }: { now?: () => number; beatMs?: number; identifyPauseMs?: number } = {},
): Promise<FakeDiscord> {
  const webhookToken = 'Wh00kT0ken-abcdefghijklmnopqrstuvwxyz'
  const keys = generateKeyPairSync('ed25519')
  const publicKey = keys.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex')
  const messages: DiscordMessage[] = []
  const whispers: FakeDiscord['whispers'] = []
  const forms: DiscordForm[] = []
  const byNonce = new Map<string, DiscordMessage>()
  const places = new Map<string, string>()
  const blocked = new Set<string>()
  const taken = new Map<string, number[]>()
  const asked = new Map<string, Asked>()
  let count = 0
  let hasWebhook = true
  let clock: (() => number) | null = null
  let endpoint: string | null = null
  let lastAsked: Record<string, unknown> = {}

  // -- what it answers -------------------------------------------------------------------------------------------------

  function answer(call: Call): Reply {
    const reply = judge(call)
    if ([401, 403, 429].includes(reply.status)) discord.invalid += 1
    const rate = { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4', 'x-ratelimit-reset-after': '1.0' }
    return { ...reply, headers: { ...rate, ...reply.headers } }
  }

  function judge({ method, path, headers, body, query }: Call): Reply {
    const agent = headers['user-agent']
    if (!/^DiscordBot \(https?:\/\/\S+, \S+\)/.test(String(agent))) return refuse(403, 'internal network error', 40333)
    if (!path.startsWith(`${apiPath}/`)) return refuse(404, '404: Not Found')
    const [kind, ...rest] = path.slice(apiPath.length + 1).split('/')
    // These prove themselves by the token in the address.
    if (kind === 'interactions') return takeAnswer(rest, body)
    if (kind === 'webhooks' && rest[0] === applicationId) return takeFollowUp(method, rest, body)
    if (kind === 'webhooks') return atWebhook(method, rest, query, body)
    if (headers.authorization !== `Bot ${botToken}`) return refuse(401, '401: Unauthorized')
    const route = `${method} /${[kind, ...rest].join('/')}`
    if (route === 'GET /users/@me') return yes({ id: botId, username: 'hold', bot: true })
    if (route === 'GET /applications/@me') {
      return yes({ id: applicationId, name: 'Holdpoint', interactions_endpoint_url: endpoint, verify_key: publicKey })
    }
    if (route === 'GET /gateway/bot') {
      return yes({ url: gateway.url, shards: 1, session_start_limit: { ...gateway.limit } })
    }
    if (route === `PUT /applications/${applicationId}/commands`) {
      const problems = problemsOfCommands(body)
      if (problems.length > 0) return invalidForm(problems)
      discord.menu = body
      return yes(body)
    }
    if (route === 'POST /users/@me/channels') {
      const to = String(body?.recipient_id)
      if (!/^\d{1,20}$/.test(to)) return invalidForm(['recipient_id is no snowflake'])
      const id = places.get(to) ?? `7${to}`
      places.set(to, id)
      return yes({ id, type: 1, recipients: [{ id: to }] })
    }
    if (route === `GET /guilds/${guildId}`) {
      return discord.guild.isMember
        ? yes({ id: guildId, roles: discord.guild.roles })
        : refuse(404, 'Unknown Guild', 10004)
    }
    if (route === `GET /guilds/${guildId}/members/${botId}`) {
      return yes({ user: { id: botId }, roles: discord.guild.memberRoles })
    }
    if (kind === 'channels') return inChannel(method, rest, body)
    return refuse(404, '404: Not Found')
  }

  function inChannel(method: string, [id, what, messageId]: string[], body: any): Reply {
    const owner = [...places].find(([, place]) => place === id)?.[0]
    if (owner === undefined && id !== homeId) return refuse(404, 'Unknown Channel', 10003)
    if (owner === undefined && discord.barred === 'access') return refuse(403, 'Missing Access', 50001)
    if (method === 'GET' && what === undefined) return yes({ id, name: 'approvals', ...discord.home })
    if (owner === undefined && discord.barred !== null) return refuse(403, 'Missing Permissions', 50013)
    if (owner !== undefined && blocked.has(owner)) return refuse(403, 'Cannot send messages to this user', 50007)
    const tooFast = keepTo(`${method} ${id}`)
    if (tooFast !== null) return tooFast
    if (method === 'POST' && what === 'messages' && messageId === undefined) return post(id!, body, true)
    if (method === 'PATCH' && what === 'messages') return patch(id!, messageId!, body, true)
    return refuse(405, '405: Method Not Allowed')
  }

  function atWebhook(method: string, [id, token, what, messageId]: string[], query: URLSearchParams, body: any): Reply {
    if (!hasWebhook || id !== '77' || token !== webhookToken) return refuse(404, 'Unknown Webhook', 10015)
    if (method === 'GET') return yes({ id, channel_id: homeId, token })
    const shown = { ...body }
    // Components are left out without a word where they are not asked for.
    if (query.get('with_components') !== 'true') delete shown.components
    const tooFast = keepTo(`${method} webhook`)
    if (tooFast !== null) return tooFast
    if (what === 'messages' && method === 'PATCH') return patch(homeId, messageId!, shown, false)
    if (what !== undefined || method !== 'POST') return refuse(405, '405: Method Not Allowed')
    const reply = post(homeId, shown, false)
    // Without `wait` nobody learns what became of it.
    return query.get('wait') === 'true' ? reply : { status: 204 }
  }

  function post(channel: string, body: any, isBot: boolean): Reply {
    const problems = problemsOf(body, isBot)
    if (problems.length > 0) return invalidForm(problems)
    const known = body.enforce_nonce === true ? byNonce.get(body.nonce) : undefined
    if (known !== undefined) return yes({ id: known.id, channel_id: known.channel, nonce: body.nonce })
    const { content = '', embeds = [], components = [], nonce = null, message_reference: reference } = body
    count += 1
    const replyTo = reference?.message_id ?? null
    const message = {
      id: String(9000 + count),
      channel,
      content,
      embeds,
      components,
      nonce,
      replyTo,
      edits: 0,
      at: now(),
    }
    messages.push(message)
    if (nonce !== null) byNonce.set(nonce, message)
    return yes({ id: message.id, channel_id: channel, nonce })
  }

  function patch(channel: string, id: string, body: any, isBot: boolean): Reply {
    const found = messages.find((one) => one.channel === channel && one.id === id)
    if (found === undefined) return refuse(404, 'Unknown Message', 10008)
    const problems = problemsOf(body, isBot)
    if (problems.length > 0) return invalidForm(problems)
    // What is not said stays.
    const { content = found.content, embeds = found.embeds, components = found.components } = body
    Object.assign(found, { content, embeds, components, edits: found.edits + 1 })
    return yes({ id, channel_id: channel })
  }

  /** Five in five seconds. */
  function keepTo(bucket: string): Reply | null {
    if (clock === null) return null
    const at = clock()
    const recent = (taken.get(bucket) ?? []).filter((one) => at - one < 5000)
    if (recent.length >= 5) return tooMany((recent[0]! + 5000 - at) / 1000)
    taken.set(bucket, [...recent, at])
    return null
  }

  // -- answers to what people do ---------------------------------------------------------------------------------------

  const kinds = { ping: 1, command: 2, press: 3, autocomplete: 4, form: 5 }
  const answers = { pong: 1, message: 4, deferredMessage: 5, deferredUpdate: 6, update: 7, form: 9 }

  function takeAnswer([id, token, last]: string[], body: any): Reply {
    const found = asked.get(String(token))
    if (last !== 'callback' || found === undefined || found.interaction.id !== id) {
      return refuse(404, 'Unknown interaction', 10062)
    }
    if (Date.now() > found.until) return refuse(404, 'Unknown interaction', 10062)
    if (found.isAnswered) return refuse(400, 'Interaction has already been acknowledged.', 40060)
    const problems = take(found, body)
    return problems.length > 0 ? invalidForm(problems) : { status: 204 }
  }

  function take(found: Asked, body: any): string[] {
    const problems = problemsOfAnswer(found.interaction, body)
    if (problems.length > 0) return problems
    found.isAnswered = true
    const { type, data } = body
    if (type === answers.message) whisper(found.user, data)
    if (type === answers.form) {
      const message = messages.find((one) => one.id === found.interaction.message?.id) ?? null
      forms.push({ user: found.user, form: data, message })
    }
    found.answered({ type, ...(data === undefined ? {} : { data }) })
    return []
  }

  function problemsOfAnswer({ type: kind, message }: Record<string, any>, body: any): string[] {
    const { type, data } = body ?? {}
    switch (type) {
      case answers.pong:
        return kind === kinds.ping ? [] : ['a pong answers a ping']
      case answers.message:
        return problemsOfMessage(data)
      case answers.deferredUpdate:
        return message === undefined ? ['there is no message to update'] : []
      case answers.form:
        return kind === kinds.form ? ['a form cannot answer a form'] : problemsOfForm(data)
      default:
        return [`type ${String(type)} cannot be the answer`]
    }
  }

  /** All else would be read by everybody. */
  function problemsOfMessage(data: any): string[] {
    return [...problemsOf(data ?? null), ...(data?.flags === 64 ? [] : ['everybody would see it'])]
  }

  function takeFollowUp(method: string, [, token]: string[], body: any): Reply {
    const found = asked.get(String(token))
    if (found === undefined || method !== 'POST') return refuse(404, 'Unknown Webhook', 10015)
    if (!found.isAnswered) return refuse(404, 'Unknown Webhook', 10015)
    const problems = problemsOfMessage(body)
    if (problems.length > 0) return invalidForm(problems)
    whisper(found.user, body)
    count += 1
    return yes({ id: String(9000 + count), channel_id: homeId })
  }

  function whisper(user: string, { content }: any): void {
    whispers.push({
      user,
      text: parseMarkdown(content)
        .map(({ text }) => text)
        .join(''),
    })
  }

  // -- what people do --------------------------------------------------------------------------------------------------

  const gateway = await startGateway(
    t,
    botToken,
    { user: { id: botId, bot: true }, application: { id: applicationId } },
    { now, beatMs, identifyPauseMs },
  )

  function nextId(): string {
    count += 1
    return `12345678900000${String(count).padStart(5, '0')}`
  }

  function interact(fields: Record<string, any>): Promise<DiscordAnswer> {
    const id = nextId()
    return deliver({
      id,
      application_id: applicationId,
      token: `${'aW50ZXJhY3Rpb24'.repeat(8)}${id}`,
      version: 1,
      ...fields,
    })
  }

  async function deliver(interaction: Record<string, any>): Promise<DiscordAnswer> {
    lastAsked = interaction
    const by = interaction.member?.user ?? interaction.user
    const answered = new Promise<DiscordAnswer>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('it was not answered within 3 s')), answerWithinMs)
      asked.set(interaction.token, {
        interaction,
        user: String(by?.id),
        isAnswered: false,
        until: Date.now() + answerWithinMs,
        answered(first) {
          clearTimeout(late)
          resolve(first)
        },
      })
    })
    // What is refused is told below; this would come later, and to nobody.
    answered.catch(() => {})
    if (endpoint === null) gateway.tell('INTERACTION_CREATE', interaction)
    else {
      const { status, body } = await send(endpoint, signBody(JSON.stringify(interaction)))
      const problems = status === 200 ? take(asked.get(interaction.token)!, body) : [`status ${status}`]
      if (problems.length > 0) throw new Error(`the answer is refused: ${problems.join('; ')}`)
    }
    return answered
  }

  function memberOf(by: DiscordUser) {
    const user = { username: 'anybody', global_name: 'Anybody', discriminator: '0', ...by }
    return { user, nick: 'Maria', roles: [], permissions: '2147483647' }
  }

  function placed(by: DiscordUser, { channel, isPrivate }: { channel: string; isPrivate: boolean }) {
    return isPrivate
      ? { user: memberOf(by).user, channel_id: channel, context: 1 }
      : { member: memberOf(by), guild_id: guildId, channel_id: channel, context: 0 }
  }

  function press(data: unknown, by: DiscordUser, message: DiscordMessage | null): Promise<DiscordAnswer> {
    const channel = message?.channel ?? homeId
    return interact({
      type: kinds.press,
      ...placed(by, { channel, isPrivate: channel !== homeId }),
      data: { component_type: 2, id: 1, ...(data === undefined ? {} : { custom_id: data }) },
      ...(message === null ? {} : { message: { id: message.id, channel_id: message.channel, embeds: message.embeds } }),
    })
  }

  function signBody(body: string, atSeconds = Math.floor(Date.now() / 1000)): Signed {
    return signedBy(keys.privateKey, body, atSeconds)
  }

  /** Messages are what most tests count and let fail; the rest goes on beside them, by the last word of its route. */
  const aside = ({ method, path }: Call) => {
    if (/\/webhooks\/77\/[\w-]+$/.test(path) && method === 'POST') return null
    if (/\/channels\/\d+\/messages$/.test(path)) return null
    if (method === 'PATCH') return 'edit'
    if (/\/(?:interactions|webhooks\/19)/.test(path)) return 'answer'
    return path.slice(apiPath.length + 1).replace(/^applications\/\d+\//, '')
  }
  const server = await startChatServer(t, answer, aside)
  const apiBase = `${server.url}${apiPath}`
  const discord: FakeDiscord = {
    ...server,
    botToken,
    webhookToken,
    applicationId,
    botId,
    channel: homeId,
    messages,
    whispers,
    forms,
    menu: [],
    gateway,
    config: { discordBotToken: botToken, discordHomeChannel: homeId, discordApiBase: apiBase },
    webhookConfig: { discordWebhookUrl: `${apiBase}/webhooks/77/${webhookToken}` },
    publicKey,
    invalid: 0,
    home: { type: 0, guild_id: guildId, permission_overwrites: [] },
    guild: { roles: [{ id: guildId, permissions: usualPermissions }], memberRoles: [], isMember: true },
    barred: null,
    keepPace: (from) => void (clock = from),
    deleteMessage(id) {
      const at = messages.findIndex((one) => one.id === id)
      if (at >= 0) messages.splice(at, 1)
    },
    deleteWebhook: () => void (hasWebhook = false),
    block: (user) => void blocked.add(user),
    async press(message, label, by) {
      const button = buttonsOf(message).find((one) => one.label === label)
      if (button === undefined) throw new Error(`there is no button ${label}`)
      return press(button.custom_id, by, message)
    },
    forge: (data, by, message = messages.at(-1) ?? null) => press(data, by, message),
    submit(reason, by) {
      const { form, message } = forms.at(-1)!
      const [{ component }] = form.components
      const input = { type: 4, id: 2, custom_id: component.custom_id, value: reason }
      return interact({
        type: kinds.form,
        ...placed(by, { channel: message?.channel ?? homeId, isPrivate: false }),
        data: { custom_id: form.custom_id, components: [{ type: 18, id: 1, component: input }] },
        ...(message === null ? {} : { message: { id: message.id, channel_id: message.channel } }),
      })
    },
    write: (command, options, by, place = { channel: homeId, isPrivate: false }) =>
      interact({
        type: kinds.command,
        ...placed(by, place),
        data: {
          id: '1',
          name: command,
          type: 1,
          options: Object.entries(options).map(([name, value]) => ({ type: 3, name, value })),
        },
      }),
    interact,
    redeliver: () => void gateway.tell('INTERACTION_CREATE', lastAsked),
    last: () => lastAsked,
    async setEndpoint(url) {
      if (url !== null) {
        const ping = JSON.stringify({ id: nextId(), application_id: applicationId, type: kinds.ping, version: 1 })
        const pong = await send(url, signBody(ping))
        const bad = await send(
          url,
          signedBy(generateKeyPairSync('ed25519').privateKey, ping, Math.floor(Date.now() / 1000)),
        )
        if (pong.status !== 200 || pong.body?.type !== answers.pong || bad.status !== 401) {
          throw new Error('The specified interactions endpoint url could not be verified.')
        }
      }
      endpoint = url
    },
    sign: signBody,
  }
  return discord
}

function signedBy(key: KeyObject, body: string, atSeconds: number): Signed {
  const signature = sign(null, Buffer.from(`${atSeconds}${body}`), key).toString('hex')
  return { headers: { 'x-signature-ed25519': signature, 'x-signature-timestamp': String(atSeconds) }, body }
}

/** As Discord calls the URL. */
async function send(url: string, { headers, body }: Signed): Promise<{ status: number; body: any }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Discord-Interactions/1.0 (+https://discord.com)',
      ...headers,
    },
    body,
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

function yes(body: unknown): Reply {
  return { status: 200, body }
}

/** An answer in Discord's shape, also for scripting. */
export function refuse(status: number, message: string, code = 0): Reply {
  return { status, body: { message, code } }
}

function invalidForm(problems: string[]): Reply {
  return refuse(400, `Invalid Form Body: ${problems.join('; ')}`, 50035)
}

export function tooMany(retryAfter: unknown): Reply {
  return {
    status: 429,
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-scope': 'user' },
    body: { message: 'You are being rate limited.', retry_after: retryAfter, global: false },
  }
}

export function buttonsOf({ components }: Pick<DiscordMessage, 'components'>): any[] {
  return components.flatMap((row) => row.components)
}

/** What the limits on a message forbid, one sentence each; pinging is forbidden altogether. */
export function problemsOf(message: any, isBot = true): string[] {
  const problems: string[] = []
  const check = checkFor(problems)
  if (typeof message !== 'object' || message === null) return ['no message']
  if (JSON.stringify(message.allowed_mentions) !== '{"parse":[]}') problems.push('allowed_mentions lets somebody ping')
  const { content, embeds = [], components = [], nonce, enforce_nonce } = message
  check('content', content, 2000, true)
  if (content === undefined && embeds.length === 0) problems.push('Cannot send an empty message')
  if (embeds.length > 10) problems.push('at most 10 embeds')
  let total = 0
  for (const { title, description, fields = [], footer } of embeds) {
    total += check('title', title, 256, true) + check('description', description, 4096, true)
    total += check('footer', footer?.text, 2048, true)
    if (fields.length > 25) problems.push('at most 25 fields')
    for (const { name, value } of fields) total += check('field name', name, 256) + check('field value', value, 1024)
  }
  if (total > 6000) problems.push('embeds exceed 6000 characters')
  if (isBot && nonce !== undefined && (typeof nonce !== 'string' || nonce.length > 25)) problems.push('nonce too long')
  if (enforce_nonce === true && nonce === undefined) problems.push('enforce_nonce needs a nonce')
  return [...problems, ...problemsOfComponents(components, isBot)]
}

function problemsOfComponents(rows: any[], isBot: boolean): string[] {
  const problems: string[] = []
  const check = checkFor(problems)
  if (rows.length > 5) problems.push('at most 5 rows')
  const ids: unknown[] = []
  for (const { type, components } of rows) {
    if (type !== 1 || !(components?.length >= 1 && components.length <= 5)) problems.push('a row has 1 to 5 buttons')
    for (const { type: kind, style, label, custom_id: id, url } of components ?? []) {
      if (kind !== 2) problems.push(`unsupported type: ${kind}`)
      check('label', label, 80)
      if (style === 5) {
        check('url', url, 512)
        if (!/^(?:https?|discord):\/\//.test(String(url))) problems.push('Scheme must be one of http, https, discord')
        if (id !== undefined) problems.push('a link has no custom_id')
        if (/\/\/(?:localhost|127\.|\[::1\])/.test(String(url))) problems.push('nobody reaches that URL')
      } else if ([1, 2, 3, 4].includes(style)) {
        check('custom_id', id, 100)
        ids.push(id)
        if (url !== undefined) problems.push('only a link has a url')
        if (!isBot) problems.push('a webhook that no application owns has links alone')
      } else problems.push('no such style')
    }
  }
  if (new Set(ids).size !== ids.length) problems.push('Component custom id cannot be duplicated')
  return problems
}

function problemsOfForm(form: any): string[] {
  const problems: string[] = []
  const check = checkFor(problems)
  check('title', form?.title, 45)
  check('custom_id', form?.custom_id, 100)
  const all: any[] = form?.components ?? []
  if (all.length < 1 || all.length > 5) problems.push('1 to 5 components')
  for (const { type, label, component: input } of all) {
    if (type !== 18 || input?.type !== 4) problems.push('a text input in a label')
    check('label', label, 45)
    check('custom_id', input?.custom_id, 100)
    if (input?.style !== 1 && input?.style !== 2) problems.push('no such style')
    if (!(input?.max_length >= 1 && input.max_length <= 4000)) problems.push('max_length: 1 to 4000')
    if (typeof input?.required !== 'boolean') problems.push('required is yes or no')
  }
  return problems
}

function problemsOfCommands(commands: any): string[] {
  if (!Array.isArray(commands) || commands.length > 100) return ['at most 100 commands']
  const problems: string[] = []
  const check = checkFor(problems)
  const names: unknown[] = []
  for (const { type, name, description, options = [], contexts } of commands) {
    names.push(name)
    if (type !== 1) problems.push('no command of a chat')
    if (!/^[-_a-z0-9]{1,32}$/.test(String(name))) problems.push(`${name} is no name`)
    check('description', description, 100)
    if (options.length > 25) problems.push('at most 25 options')
    if (!contexts.every((one: unknown) => [0, 1, 2].includes(one as number))) problems.push('no such context')
    let wasOptional = false
    for (const { type: kind, name: own, description: help, required = false } of options) {
      if (kind !== 3) problems.push('only texts')
      if (!/^[-_a-z0-9]{1,32}$/.test(String(own))) problems.push(`${own} is no name`)
      check('description', help, 100)
      if (required === true && wasOptional) problems.push('required options come first')
      wasOptional ||= required !== true
    }
  }
  if (new Set(names).size !== names.length) problems.push('Application command names must be unique')
  return problems
}

/** How long it is; a problem, if that is wrong. */
function checkFor(problems: string[]) {
  return (name: string, text: unknown, max: number, isOptional = false): number => {
    if (text === undefined && isOptional) return 0
    if (typeof text !== 'string') problems.push(`${name} must be text`)
    else if (text.trim() === '') problems.push(`${name} is required`)
    else if (text.length > max) problems.push(`${name} must be ${max} or fewer in length`)
    else return text.length
    return 0
  }
}

/** A message as a person reads it: each title, text and field of its embeds, taken apart. */
export function readEmbeds({ content, embeds }: Pick<DiscordMessage, 'content' | 'embeds'>): Part[][] {
  return [
    ...(content === '' ? [] : [parseMarkdown(content)]),
    ...embeds.flatMap(({ title, description, fields = [], footer }): Part[][] => [
      ...(title === undefined ? [] : [parseMarkdown(title)]),
      ...(description === undefined ? [] : [parseMarkdown(description)]),
      ...fields.flatMap(({ name, value }: any) => [parseMarkdown(name), parseMarkdown(value)]),
      ...(footer === undefined ? [] : [[{ kind: 'text', text: footer.text } as const]]),
    ]),
  ]
}
