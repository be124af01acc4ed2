// Discord's Gateway: presses come in over a WebSocket that the bot opens itself, so nothing need be reached from outside. After a
// break a session goes on where it was, so nothing is missed.
import { boundPause, type Ears, type Hearing } from './chat.js'
import type { CallDiscord } from './discord.js'
import { createInteractions, offerCommands, pauseOf, type SetHeard, warnOf } from './discord-interactions.js'
import { type Fields, fieldsOf } from './fields.js'
import { type Address, type Connection, keepOpen, type Listener } from './socket.js'

export interface GatewayDeps {
  call: CallDiscord
  channelId: string
  botToken: string
  apiBase: string
  ears: Ears
  setHeard: SetHeard
}

/** What goes on after a break. */
interface Session {
  id: string
  url: string
  /** The last event that was heard. */
  seq: number | null
}

const ops = { event: 0, heartbeat: 1, identify: 2, resume: 6, reconnect: 7, invalid: 9, hello: 10, heard: 11 }

/** Discord takes one new session in five seconds. */
const identifyPauseMs = 5000
/** How often it says that it is there, if Discord does not say how often. */
const usualBeatMs = 41_250
/** So often a session is tried to go on with, before another is begun. */
const mostResumes = 3
/** So long what was pressed is known: what a session missed is told after a break. */
const memoryMs = 15 * 60_000
/** There are three seconds: an answer that is lost is given again, at once. */
const answerMs = 1000
const mostAnswers = 2
const alreadyAnswered = 40060
/** Closed by us, so that the session can go on. */
const keepsSession = 4000
/** After these a session cannot go on: nobody identified, a wrong number, too long ago. */
const endsSession = new Set([4003, 4007, 4009])

const until = 'Until then links take the place of buttons in Discord'
/** Discord would close each that is opened. */
const refused = 4004
const hopeless: Record<number, [error: string, mend: string]> = {
  [refused]: ['the token is refused', 'Get another token, set DISCORD_BOT_TOKEN and start again'],
  4010: ['invalid shard', 'Start again with a newer Holdpoint'],
  4011: ['the bot is in too many servers', 'Give Holdpoint a bot of its own, and start again'],
  4012: ['invalid API version', 'Start again with a newer Holdpoint'],
  4013: ['invalid intents', 'Start again with a newer Holdpoint'],
  4014: ['disallowed intents', 'Start again with a newer Holdpoint'],
}

export function listenAtGateway({ call, channelId, botToken, apiBase, ears, setHeard }: GatewayDeps): Hearing {
  const { clock, random } = ears
  const stopping = new AbortController()
  const interactions = createInteractions({ call, channelId, ears }, memoryMs)
  const offering = offerCommands({ call, ears, setHeard }, null)
  let session: Session | null = null
  let resumes = 0
  let identifiedAt = -Infinity

  async function address(stop: AbortSignal): Promise<Address> {
    if (session !== null && resumes < mostResumes) {
      resumes += 1
      return at(session.url)
    }
    const tooSoon = identifiedAt + identifyPauseMs - clock.now()
    if (tooSoon > 0) return { kind: 'wait', ms: tooSoon }
    const answer = await call('GET', '/gateway/bot', null, stop)
    // While nothing is reached nothing is wrong with the session.
    resumes = 0
    if ('kind' in answer) return { kind: 'failed', error: answer.error }
    const { status, body } = answer
    if (status === 401) return never(refused)
    if (status !== 200 || typeof body.url !== 'string') {
      return { kind: 'failed', error: `gateway/bot: ${status}`, retryAfterMs: pauseOf(answer) }
    }
    const { remaining, reset_after: resetMs } = fieldsOf(body.session_start_limit)
    if (typeof remaining === 'number' && remaining <= 0) {
      const pauseMs = boundPause(typeof resetMs === 'number' ? resetMs : 0)
      // That may be hours: meanwhile messages have links.
      setHeard('gateway', false)
      return { kind: 'failed', error: 'no more sessions can be begun today', retryAfterMs: pauseMs }
    }
    session = null
    return at(body.url)
  }

  /** The token is sent there, so it is not sent in the clear where it was not before. */
  function at(text: string): Address {
    const url = URL.canParse(text) ? new URL(text) : null
    const isSafe = url?.protocol === 'wss:' || (url?.protocol === 'ws:' && apiBase.startsWith('http:'))
    if (url === null || !isSafe) return { kind: 'failed', error: 'the address of the Gateway is none' }
    url.searchParams.set('v', '10')
    url.searchParams.set('encoding', 'json')
    return { kind: 'found', url: url.href }
  }

  function never(code: number) {
    setHeard('gateway', false)
    const [error, mend] = hopeless[code]!
    return { kind: 'never', error, mend: `discord: ${mend}. ${until}` } as const
  }

  function begin(connection: Connection): Listener {
    let isReady = false
    let isHeard = true
    let beats = 0
    let callOff = () => {}

    function beat(afterMs: number, everyMs: number): void {
      callOff = clock.wake(clock.now() + afterMs, () => {
        // A session takes moments to begin.
        if (!isHeard || (beats > 0 && !isReady)) {
          return connection.drop({ error: 'nothing is heard from it', code: keepsSession })
        }
        beats += 1
        sayAlive()
        beat(everyMs, everyMs)
      })
    }

    function sayAlive(): void {
      isHeard = false
      connection.send({ op: ops.heartbeat, d: session?.seq ?? null })
    }

    function identify(): void {
      if (session !== null) {
        return connection.send({ op: ops.resume, d: { token: botToken, session_id: session.id, seq: session.seq } })
      }
      identifiedAt = clock.now()
      const properties = { os: process.platform, browser: 'holdpoint', device: 'holdpoint' }
      connection.send({ op: ops.identify, d: { token: botToken, intents: 0, properties } })
    }

    function thrive(): void {
      isReady = true
      resumes = 0
      setHeard('gateway', true)
      connection.thrive()
    }

    function hearEvent(type: unknown, data: Fields): void {
      switch (type) {
        case 'READY': {
          const { session_id: id, resume_gateway_url: url } = data
          if (typeof id === 'string' && typeof url === 'string') session = { id, url, seq: null }
          return thrive()
        }
        case 'RESUMED':
          return thrive()
        case 'INTERACTION_CREATE':
          interactions.take(data, (first) => answer(data, first))
      }
    }

    return {
      hear({ op, d, s, t }) {
        const data = fieldsOf(d)
        switch (op) {
          case ops.hello: {
            const { heartbeat_interval: wished } = data
            const everyMs = typeof wished === 'number' && wished >= 1000 && wished < 600_000 ? wished : usualBeatMs
            callOff()
            beat(Math.floor(everyMs * random()), everyMs)
            return identify()
          }
          case ops.heartbeat:
            return sayAlive()
          case ops.heard:
            isHeard = true
            return
          case ops.reconnect:
            return connection.drop({ error: null, code: keepsSession })
          case ops.invalid:
            if (d !== true) session = null
            // Many that were cut off come back at once.
            return connection.drop({ error: null, code: keepsSession, afterMs: 1000 + Math.floor(4000 * random()) })
          case ops.event:
            hearEvent(t, data)
            if (typeof s === 'number' && session !== null) session.seq = s
        }
      },
      end(code) {
        callOff()
        if (endsSession.has(code)) session = null
        return code in hopeless ? never(code) : null
      },
    }
  }

  async function answer({ id, token }: Fields, first: object): Promise<void> {
    const path = `/interactions/${encodeURIComponent(String(id))}/${encodeURIComponent(String(token))}/callback`
    for (let tries = 1; ; tries++) {
      const taken = await call('POST', path, first, stopping.signal, answerMs)
      const isLost = 'kind' in taken || taken.status >= 500
      // If it was answered already, what had been lost was that it was.
      if (!isLost && (taken.status < 300 || (tries > 1 && taken.body.code === alreadyAnswered))) return
      if (!isLost || tries === mostAnswers) return warnOf(taken, ears, 'a press was not answered; what it did stands')
    }
  }

  const open = keepOpen({ name: 'discord', address, begin, quietMs: null }, ears)
  return {
    receive: null,
    async stop(graceMs) {
      offering.stop()
      await open.stop()
      await interactions.stop(graceMs)
      stopping.abort()
    },
  }
}
