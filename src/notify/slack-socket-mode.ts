// Slack's Socket Mode: presses, forms and commands come in over a WebSocket that the app opens, each in an envelope that is
// acknowledged at once. Slack says who they are from.
import type { MessageRef } from '../core/model.js'
import type { Ears, Hearing, PressAnswer, Somebody } from './chat.js'
import type { Answer } from './http.js'
import type { CallSlack } from './slack.js'
import { reasonBlock, reasonInput, renderForm, renderWhisper } from './slack-blocks.js'
import { type Address, type Connection, keepOpen } from './socket.js'

export interface SocketModeDeps {
  call: CallSlack
  channelId: string
  ears: Ears
  /** Nothing will be heard until a restart. */
  giveUp(): void
}

type Fields = Record<string, unknown>

/** So many envelopes are remembered: Slack sends one again whose acknowledgement it has missed. */
const mostRemembered = 1000
/** Slack pings more often. */
const quietMs = 30_000

/** Nobody but the owner of the app mends these. */
const hopeless = new Set([
  'not_authed',
  'invalid_auth',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'not_allowed_token_type',
  'missing_scope',
  'no_permission',
  'access_denied',
])
const mend =
  'presses in Slack are not heard until a restart, and messages have links instead of buttons. ' +
  'See that Socket Mode is on, and that SLACK_APP_TOKEN has connections:write: holdpoint notify test says what is wrong'

export function listen({ call, channelId, ears, giveUp }: SocketModeDeps): Hearing {
  const stopping = new AbortController()
  const work = new Set<Promise<void>>()
  const envelopes = new Set<string>()
  /** The app's own workspace: people of others have its id in front of theirs. */
  let ownTeam: string | null = null
  let isTurnedOff = false
  /** Slack wants them closed once there is another. */
  const relieved = new Set<Connection>()

  async function address(stop: AbortSignal): Promise<Address> {
    if (isTurnedOff) return never('Socket Mode was turned off')
    if (ownTeam === null) {
      const me = await call('auth.test', {}, stop)
      if ('kind' in me || me.body.ok !== true || typeof me.body.team_id !== 'string') return notFound('auth.test', me)
      ownTeam = me.body.team_id
    }
    const opened = await call('apps.connections.open', {}, stop, 'app')
    if ('kind' in opened || opened.body.ok !== true || typeof opened.body.url !== 'string') {
      return notFound('apps.connections.open', opened)
    }
    return { kind: 'found', url: opened.body.url }
  }

  function notFound(method: string, answer: Awaited<ReturnType<CallSlack>>): Address {
    if ('kind' in answer) return { kind: 'failed', error: `${method}: ${answer.error}` }
    const word = wordIn(answer)
    if (hopeless.has(word)) return never(`${method}: ${word}`)
    const wish = answer.retryAfterMs === null ? {} : { retryAfterMs: answer.retryAfterMs }
    return { kind: 'failed', error: `${method}: ${word}`, ...wish }
  }

  function never(error: string): Address {
    giveUp()
    return { kind: 'never', error, mend }
  }

  function hear(message: Fields, connection: Connection): void {
    switch (message.type) {
      case 'hello':
        connection.thrive()
        for (const one of relieved) if (one !== connection) one.drop({ error: null })
        relieved.clear()
        return
      case 'disconnect':
        isTurnedOff = message.reason === 'link_disabled'
        if (isTurnedOff) return connection.drop({ error: 'Socket Mode was turned off' })
        relieved.add(connection)
        return connection.relieve()
      default:
        if (typeof message.envelope_id === 'string') receive(message.envelope_id, message, connection)
    }
  }

  function receive(envelope: string, { type, payload }: Fields, connection: Connection): void {
    // Within three seconds, whatever the disk does.
    connection.send({ envelope_id: envelope })
    if (envelopes.has(envelope)) return
    envelopes.add(envelope)
    for (const first of envelopes) if (envelopes.size > mostRemembered) envelopes.delete(first)
    const handled = handle(type, fieldsOf(payload), envelope).finally(() => work.delete(handled))
    work.add(handled)
  }

  async function handle(type: unknown, payload: Fields, envelope: string): Promise<void> {
    if (type === 'slash_commands') return takeCommand(payload, envelope)
    if (type !== 'interactive') return
    if (payload.type === 'block_actions') return takePress(payload)
    if (payload.type === 'view_submission') return takeForm(payload)
  }

  async function takePress(payload: Fields): Promise<void> {
    const { value } = fieldsOf(Array.isArray(payload.actions) ? payload.actions[0] : null)
    // A link was opened.
    if (typeof value !== 'string') return
    const by = whoIn(payload)
    const message = messageIn(payload)
    const answer = await ears.press({ by, data: value, message, reason: null })
    if (answer.kind === 'whisper') return whisper(answer, by, message)
    const metadata = JSON.stringify({ data: answer.data, message })
    const opened = await call(
      'views.open',
      { trigger_id: payload.trigger_id, view: renderForm(answer, metadata) },
      stopping.signal,
    )
    if (!('kind' in opened) && opened.body.ok === true) return
    warn(opened, 'a form could not be opened')
    await whisper(alert('The form could not be opened in time. Press again.'), by, message)
  }

  async function takeForm(payload: Fields): Promise<void> {
    const view = fieldsOf(payload.view)
    const { data, message } = readMetadata(view.private_metadata)
    if (data === null) return
    const written = fieldsOf(fieldsOf(fieldsOf(fieldsOf(view.state).values)[reasonBlock])[reasonInput]).value
    const by = whoIn(payload)
    // Nothing written is an answer, too.
    const answer = await ears.press({ by, data, message, reason: typeof written === 'string' ? written : '' })
    if (answer.kind === 'whisper') await whisper(answer, by, message)
  }

  async function takeCommand(payload: Fields, envelope: string): Promise<void> {
    const written = typeof payload.text === 'string' ? unescape(payload.text).trim() : ''
    const place = typeof payload.channel_id === 'string' ? payload.channel_id : ''
    const isHome = place === channelId
    const by = who(payload.user_id, payload.team_id)
    await ears.say({
      by,
      place,
      isHome,
      // Nobody else sees a command, so it is answered in private wherever it was written.
      isPrivate: !isHome,
      text: `/${written.replace(/^\//, '') || 'help'}`,
      replyTo: null,
      message: null,
      name: typeof payload.trigger_id === 'string' ? payload.trigger_id : envelope,
      // Elsewhere the bot may be no member, and cannot.
      ...(isHome ? { whisper: (said) => whisper(alert(said), by, { chat: place, id: '' }) } : {}),
    })
  }

  /** What only the presser sees. What is no alert is seen by how the message changes. */
  async function whisper(
    { text, isAlert }: Extract<PressAnswer, { kind: 'whisper' }>,
    by: Somebody,
    message: MessageRef | null,
  ): Promise<void> {
    const user = by.id.replace(/^.*:/, '')
    if (!isAlert || message === null || user === '') return
    const said = { channel: message.chat, user, text: renderWhisper(text), link_names: false, parse: 'none' }
    const told = await call('chat.postEphemeral', said, stopping.signal)
    if ('kind' in told || told.body.ok !== true) warn(told, 'an answer to a press could not be shown')
  }

  function warn(answer: Awaited<ReturnType<CallSlack>>, what: string): void {
    ears.log.warn({ channel: 'slack', error: 'kind' in answer ? answer.error : wordIn(answer) }, `slack: ${what}`)
  }

  function whoIn({ user, team }: Fields): Somebody {
    const { id, team_id: own } = fieldsOf(user)
    return who(id, own ?? fieldsOf(team).id)
  }

  /** Without a workspace nobody knows whose id it is. */
  function who(id: unknown, team: unknown): Somebody {
    const isId = typeof id === 'string' && /^[UW][A-Z0-9]{1,30}$/.test(id)
    const isTeam = typeof team === 'string' && /^T[A-Z0-9]{1,30}$/.test(team)
    const isNobody = !isId || !isTeam || id === 'USLACKBOT'
    return { channel: 'slack', id: !isId ? '' : !isTeam || team === ownTeam ? id : `${team}:${id}`, isNobody }
  }

  const open = keepOpen(
    {
      name: 'slack',
      address,
      begin: (connection) => ({ hear: (message) => hear(message, connection), end: () => null }),
      quietMs,
    },
    ears,
  )

  return {
    receive: null,
    async stop(graceMs) {
      await open.stop()
      const timer = setTimeout(() => stopping.abort(), graceMs)
      await Promise.all(work)
      clearTimeout(timer)
    },
  }
}

function messageIn({ container }: Fields): MessageRef | null {
  const { type, channel_id: chat, message_ts: id } = fieldsOf(container)
  return type === 'message' && typeof chat === 'string' && typeof id === 'string' ? { chat, id } : null
}

function alert(text: string): Extract<PressAnswer, { kind: 'whisper' }> {
  return { kind: 'whisper', text, isAlert: true }
}

/** What we wrote into a form comes back as it was. */
function readMetadata(text: unknown): { data: string | null; message: MessageRef | null } {
  try {
    const { data, message } = fieldsOf(JSON.parse(String(text)))
    const { chat, id } = fieldsOf(message)
    const isMessage = typeof chat === 'string' && typeof id === 'string'
    return { data: typeof data === 'string' ? data : null, message: isMessage ? { chat, id } : null }
  } catch {
    return { data: null, message: null }
  }
}

/** Of what Slack answers instead. */
function wordIn({ status, body }: Answer): string {
  return typeof body.error === 'string' && /^[a-z_]{1,60}$/.test(body.error) ? body.error : `status ${status}`
}

function unescape(text: string): string {
  return text.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&')
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
