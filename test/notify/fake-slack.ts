// Plays Slack: a workspace with a channel and a bot in it, which takes messages with the limits of the real one, and a Socket
// Mode that tells over WebSockets what people press, write and send. Messages are kept as they are seen now.
import { type Call, type ChatServer, type Reply, startChatServer, type Teardown } from './chat-server.js'
import { type Guest, type SocketServer, startSocketServer } from './socket-server.js'

export interface SlackMessage {
  channel: string
  ts: string
  text: string
  blocks: any[]
  threadTs: string | null
  /** How often it was edited. */
  edits: number
}

/** Somebody who presses; without a workspace one of the app's own. */
export interface Presser {
  id: string
  team?: string
}

export interface SlackForm {
  triggerId: string
  view: any
}

export interface FakeSlack extends ChatServer {
  botToken: string
  appToken: string
  channel: string
  team: string
  messages: SlackMessage[]
  /** What one person alone was shown. */
  whispers: { channel: string; user: string; text: string }[]
  /** Forms that are open, the last one last. */
  forms: SlackForm[]
  /** The settings that lead here. */
  config: { slackBotToken: string; slackAppToken: string; slackChannel: string; slackApiBase: string }
  /** All that ever connected, and whether any more are let in. */
  guests: Guest[]
  refuse: SocketServer['refuse']
  /** How many are told of presses now. */
  sockets(): number
  /** Waits until somebody listens. */
  listened(): Promise<void>
  /** Presses the button with this label as it stands there now. The envelope, once it is acknowledged. */
  press(message: SlackMessage, label: string, by: Presser): Promise<string>
  /** Sends what anybody might send: any data, from any message. */
  forge(data: unknown, by: Presser, message?: Pick<SlackMessage, 'channel' | 'ts'> | null): Promise<string>
  /** Writes a reason, or nothing, into the last form and sends it. */
  submit(reason: string | null, by: Presser): Promise<string>
  /** Writes the command /holdpoint with this behind it. */
  write(text: string, by: Presser, channel?: string): Promise<string>
  /** Sends any envelope. */
  say(envelope: object): Promise<string>
  /** The same envelope once more. */
  redeliver(envelope: string): Promise<string>
  /** Says that the sockets will end; with link_disabled that Socket Mode was turned off. */
  disconnect(reason: 'warning' | 'refresh_requested' | 'link_disabled'): void
  /** Breaks all connections without a word. */
  drop(): void
  /** Takes nothing more from those that are open, and says nothing: as behind a dead line. */
  freeze(): void
  /** From now on no faster than the real one: a message a second in each channel. */
  keepPace(now: () => number): void
  /** From now on forms cannot be opened any more, as after three seconds. */
  expireTriggers(): void
  leaveChannel(): void
  archive(): void
  deleteMessage(ts: string): void
}

const ackWithinMs = 3000

export async function startSlack(t: Teardown): Promise<FakeSlack> {
  const botToken = 'xoxb-2150-2150-BOTbotBOTbotBOTbot'
  const appToken = 'xapp-1-A0HOLD-2150-APPappAPPapp'
  const channel = 'C012AB3CD'
  const team = 'T0OWN'
  const messages: SlackMessage[] = []
  const whispers: FakeSlack['whispers'] = []
  const forms: SlackForm[] = []
  const places = new Map<string, string>()
  const taken = new Map<string, number>()
  const triggers = new Map<string, number>()
  const envelopes = new Map<string, object>()
  const acks = new Map<string, () => void>()
  let count = 0
  let isMember = true
  let isArchived = false
  let isOn = true
  let clock: (() => number) | null = null

  // -- what it answers -------------------------------------------------------------------------------------------------

  function answer({ path, headers, body = {}, query }: Call): Reply {
    const method = path.replace('/api/', '')
    const { authorization } = headers
    if (method === 'apps.connections.open') {
      if (authorization === `Bearer ${botToken}`) return no('not_allowed_token_type')
      if (authorization !== `Bearer ${appToken}`) return no('invalid_auth')
      return yes({ url: `${line.url}/link/?ticket=${(count += 1)}` })
    }
    if (authorization !== `Bearer ${botToken}`) return no(authorization === undefined ? 'not_authed' : 'invalid_auth')
    switch (method) {
      case 'auth.test':
        return yes({ team: 'Holdpoint', team_id: team, user: 'holdpoint', user_id: 'U0BOT', bot_id: 'B0BOT' })
      case 'conversations.info':
        if (query.get('channel') !== channel) return no('channel_not_found')
        return yes({ channel: { id: channel, name: 'approvals', is_member: isMember, is_archived: isArchived } })
      case 'conversations.open': {
        if (!/^[UW][A-Z0-9]+$/.test(String(body.users))) return no('user_not_found')
        const place = places.get(body.users) ?? `D${body.users}`
        places.set(body.users, place)
        return yes({ channel: { id: place } })
      }
      case 'chat.postMessage':
        return problemWithPlace(body.channel) ?? problemWithMessage(body) ?? post(body)
      case 'chat.update': {
        const found = messages.find((one) => one.channel === body.channel && one.ts === body.ts)
        if (found === undefined) return no('message_not_found')
        const problem = problemWithMessage(body)
        if (problem !== null) return problem
        Object.assign(found, { text: body.text, blocks: body.blocks, edits: found.edits + 1 })
        return yes({ channel: found.channel, ts: found.ts, text: found.text })
      }
      case 'chat.postEphemeral': {
        const problem = problemWithPlace(body.channel)
        if (problem !== null) return problem
        if (typeof body.text !== 'string' || body.text === '') return no('no_text')
        whispers.push({ channel: body.channel, user: body.user, text: body.text })
        return yes({ message_ts: nextTs() })
      }
      case 'views.open': {
        const until = triggers.get(body.trigger_id)
        if (until === undefined) return no('invalid_trigger_id')
        if (until < Date.now()) return no('expired_trigger_id')
        const problems = problemsOfForm(body.view)
        if (problems.length > 0) return no('invalid_arguments', { response_metadata: { messages: problems } })
        forms.push({ triggerId: body.trigger_id, view: body.view })
        return yes({ view: { id: `V${forms.length}` } })
      }
      default:
        return no('unknown_method')
    }
  }

  function problemWithPlace(place: unknown): Reply | null {
    if ([...places.values()].includes(String(place))) return null
    if (place !== channel) return no('channel_not_found')
    return isArchived ? no('is_archived') : isMember ? null : no('not_in_channel')
  }

  function problemWithMessage(body: any): Reply | null {
    const problems = problemsOf(body)
    return problems.length === 0 ? null : no('invalid_blocks', { response_metadata: { messages: problems } })
  }

  function post(body: any): Reply {
    if (clock !== null) {
      const wait = (taken.get(body.channel) ?? -Infinity) + 1000 - clock()
      if (wait > 0) return tooMany(Math.ceil(wait / 1000))
      taken.set(body.channel, clock())
    }
    const { text, blocks = [], thread_ts: threadTs = null } = body
    const message = { channel: body.channel, ts: nextTs(), text, blocks, threadTs, edits: 0 }
    messages.push(message)
    return yes({ channel: message.channel, ts: message.ts, message: { text } })
  }

  function nextTs(): string {
    count += 1
    return `1700000000.${String(count).padStart(6, '0')}`
  }

  // -- Socket Mode -----------------------------------------------------------------------------------------------------

  /** Those that are told. */
  const listeners = new Set<Guest>()
  const line = await startSocketServer(
    t,
    (guest) => {
      listeners.add(guest)
      guest.say({ type: 'hello', num_connections: openOnes().length, connection_info: { app_id: 'A0HOLD' } })
    },
    (_guest, { envelope_id: id }) => acks.get(id)?.(),
  )
  const openOnes = () => [...listeners].filter((one) => one.isOpen())

  async function listened(): Promise<void> {
    for (const end = Date.now() + 5000; openOnes().length === 0;) {
      if (Date.now() > end) throw new Error('nobody listens')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** To one of those that listen, as the real one does. */
  async function deliver(id: string, envelope: object): Promise<string> {
    await listened()
    envelopes.set(id, envelope)
    const guest = openOnes().at(-1)!
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('it was not acknowledged within 3 s')), ackWithinMs)
      acks.set(id, () => {
        clearTimeout(late)
        resolve()
      })
      guest.say({ envelope_id: id, accepts_response_payload: false, ...envelope })
    })
    return id
  }

  function say(envelope: object): Promise<string> {
    count += 1
    return deliver(`envelope-${count}`, envelope)
  }

  function interactive({ id, team: own = team }: Presser, payload: object): Promise<string> {
    count += 1
    const trigger = `trigger-${count}`
    triggers.set(trigger, isOn ? Date.now() + 3000 : 0)
    const user = { id, username: 'anybody', name: 'anybody', team_id: own }
    return say({
      type: 'interactive',
      payload: { user, team: { id: team, domain: 'holdpoint' }, api_app_id: 'A0HOLD', trigger_id: trigger, ...payload },
    })
  }

  function press(value: unknown, actionId: string, by: Presser, message: Pick<SlackMessage, 'channel' | 'ts'> | null) {
    const place = message === null ? {} : { channel: { id: message.channel }, message: { ts: message.ts } }
    const container =
      message === null ? { type: 'view' } : { type: 'message', message_ts: message.ts, channel_id: message.channel }
    const actions = [
      { type: 'button', action_id: actionId, block_id: 'row_0', ...(value === undefined ? {} : { value }) },
    ]
    return interactive(by, { type: 'block_actions', container, ...place, actions })
  }

  const chatServer = await startChatServer(t, answer)
  return {
    ...chatServer,
    botToken,
    appToken,
    channel,
    team,
    messages,
    whispers,
    forms,
    config: {
      slackBotToken: botToken,
      slackAppToken: appToken,
      slackChannel: channel,
      slackApiBase: `${chatServer.url}/api`,
    },
    guests: line.guests,
    refuse: line.refuse,
    sockets: () => openOnes().length,
    listened,
    async press(message, label, by) {
      const button = buttonsOf(message).find(({ text }) => text.text === label)
      if (button === undefined) throw new Error(`there is no button ${label}`)
      return press(button.value, button.action_id, by, message)
    },
    forge: (data, by, message = messages.at(-1) ?? null) => press(data, 'press_0_0', by, message),
    submit(reason, by) {
      const { view } = forms.at(-1)!
      const [{ block_id: block, element }] = view.blocks
      const values = { [block]: { [element.action_id]: { type: 'plain_text_input', value: reason } } }
      return interactive(by, { type: 'view_submission', view: { ...view, state: { values } } })
    },
    write: (text, { id, team: own = team }, place = channel) =>
      say({
        type: 'slash_commands',
        payload: {
          command: '/holdpoint',
          text: text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;'),
          user_id: id,
          team_id: own,
          channel_id: place,
          trigger_id: `trigger-${(count += 1)}`,
        },
      }),
    say,
    redeliver: (id) => deliver(id, envelopes.get(id)!),
    disconnect(reason) {
      for (const one of openOnes()) {
        one.say({ type: 'disconnect', reason, debug_info: { host: 'played' } })
        // It is told of nothing more.
        if (reason !== 'warning') listeners.delete(one)
        if (reason === 'link_disabled') one.close(1000)
      }
    },
    drop() {
      for (const one of openOnes()) one.cut()
    },
    freeze() {
      for (const one of openOnes()) one.freeze()
      listeners.clear()
    },
    keepPace: (now) => void (clock = now),
    expireTriggers: () => void (isOn = false),
    leaveChannel: () => void (isMember = false),
    archive: () => void (isArchived = true),
    deleteMessage(ts) {
      const at = messages.findIndex((one) => one.ts === ts)
      if (at >= 0) messages.splice(at, 1)
    },
  }
}

function yes(more: object): Reply {
  return { status: 200, body: { ok: true, ...more } }
}

/** An answer in Slack's shape, also for scripting. */
export function no(error: string, more: object = {}): Reply {
  return { status: 200, body: { ok: false, error, ...more } }
}

export function tooMany(retryAfter: number): Reply {
  return { status: 429, headers: { 'retry-after': String(retryAfter) }, body: { ok: false, error: 'ratelimited' } }
}

export function buttonsOf({ blocks }: Pick<SlackMessage, 'blocks'>): any[] {
  return blocks.filter(({ type }) => type === 'actions').flatMap(({ elements }) => elements)
}

/** What the limits on a message forbid, one sentence each. */
export function problemsOf({ text, blocks, link_names, parse }: any): string[] {
  const problems: string[] = []
  const check = (what: string, value: unknown, max: number) => {
    if (typeof value !== 'string' || value === '') problems.push(`${what} is required`)
    else if (value.length > max) problems.push(`${what} must be at most ${max} characters`)
  }
  check('text', text, 40_000)
  if (link_names !== false || parse !== 'none') problems.push('names and addresses are looked for')
  if (!Array.isArray(blocks) || blocks.length > 50) return [...problems, 'at most 50 blocks']
  const names: string[] = []
  for (const block of blocks) {
    if (block.block_id !== undefined) names.push(`block ${block.block_id}`)
    if (block.type === 'header') {
      check('header', block.text?.text, 150)
      if (block.text?.type !== 'plain_text') problems.push('a header is plain text')
    } else if (block.type === 'section') {
      check('section', block.text?.text, 3000)
      if (block.text?.type === 'mrkdwn' && block.text.verbatim !== true) problems.push('addresses become links')
    } else if (block.type === 'actions') {
      if (!(block.elements?.length >= 1 && block.elements.length <= 25)) problems.push('1 to 25 elements')
      for (const one of block.elements ?? []) {
        names.push(`action ${one.action_id}`)
        check('button', one.text?.text, 75)
        check('action_id', one.action_id, 255)
        if (one.url === undefined) check('value', one.value, 2000)
        else check('url', one.url, 3000)
        if (![undefined, 'primary', 'danger'].includes(one.style)) problems.push('no such style')
      }
    } else problems.push(`unsupported type: ${block.type}`)
  }
  if (new Set(names).size !== names.length) problems.push('an id stands there twice')
  return problems
}

function problemsOfForm(view: any): string[] {
  const problems: string[] = []
  const check = (what: string, value: unknown, max: number) => {
    if (typeof value !== 'string' || value === '' || value.length > max)
      problems.push(`${what}: 1 to ${max} characters`)
  }
  if (view?.type !== 'modal') problems.push('no modal')
  check('title', view?.title?.text, 24)
  check('submit', view?.submit?.text, 24)
  check('close', view?.close?.text, 24)
  if (String(view?.private_metadata).length > 3000) problems.push('private_metadata: at most 3000 characters')
  for (const { type, label, element } of view?.blocks ?? []) {
    if (type !== 'input') problems.push(`unsupported type: ${type}`)
    check('label', label?.text, 2000)
    if (!(element?.max_length >= 1 && element.max_length <= 3000)) problems.push('max_length: 1 to 3000')
  }
  return problems
}

export interface Part {
  kind: 'text' | 'bold' | 'code' | 'block' | 'italic' | 'strike' | 'link' | 'mention' | 'emoji'
  text: string
}

/** A text as Slack's client takes it apart. With `verbatim` it makes no links of its own. */
export function parseMrkdwn(mrkdwn: string): Part[] {
  const parts: Part[] = []
  const unescape = (text: string) => text.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&')
  const patterns: [Part['kind'], RegExp][] = [
    ['block', /^```\n?([^]+?)\n?```/],
    ['code', /^`([^`\n]+)`/],
    ['mention', /^<([@#!][^>]*)>/],
    ['link', /^<([^>@#!][^>]*)>/],
    ['bold', /^\*(?=\S)([^*\n]+?)(?<=\S)\*(?!\w)/],
    ['italic', /^_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)/],
    ['strike', /^~(?=\S)([^~\n]+?)(?<=\S)~(?!\w)/],
    ['emoji', /^(:[a-z0-9_+-]+:)/],
  ]
  for (let at = 0; at < mrkdwn.length;) {
    const here = mrkdwn.slice(at)
    const isWord = at > 0 && /\w/.test(mrkdwn[at - 1]!)
    const found = patterns
      .filter(([kind]) => !isWord || kind === 'block' || kind === 'mention' || kind === 'link')
      .map(([kind, pattern]) => [kind, pattern.exec(here)] as const)
      .find(([, match]) => match !== null)
    if (found === undefined) {
      const last = parts.at(-1)
      if (last?.kind === 'text') last.text += mrkdwn[at]
      else parts.push({ kind: 'text', text: mrkdwn[at]! })
      at += 1
    } else {
      parts.push({ kind: found[0], text: found[1]![1]! })
      at += found[1]![0].length
    }
  }
  return parts.map(({ kind, text }) => ({ kind, text: unescape(text) }))
}

/** A message as a person reads it: block by block, each taken apart. */
export function readBlocks({ blocks }: Pick<SlackMessage, 'blocks'>): Part[][] {
  return blocks
    .filter(({ type }) => type !== 'actions')
    .map(({ text }): Part[] => (text.type === 'mrkdwn' ? parseMrkdwn(text.text) : [{ kind: 'text', text: text.text }]))
}
