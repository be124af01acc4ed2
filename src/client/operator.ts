// What people and their bots do with a Holdpoint: see what is pending, show one, approve, deny, follow what happens.
import type { Approval, Confirmation, ConfirmationPage, DecidedConfirmation, Denial, Event, EventType } from './api.js'
import type { FoundConfirmation } from './api.js'
import { Refused, Unreachable } from './errors.js'
import { type Answer, type Call, createHttp, type Http, type HttpLimits, type StreamedAnswer } from './http.js'
import { mayPass, pause, pauseBefore } from './pause.js'
import { placeFrom, type PlaceOptions } from './place.js'
import { messagesIn } from './sse.js'

export interface OperatorOptions extends PlaceOptions, HttpLimits {}

export interface Listing {
  action?: string | undefined
  sessionKey?: string | undefined
  /** How many at most; all, unless it is said. */
  limit?: number | undefined
  signal?: AbortSignal | undefined
}

interface Deciding {
  /** Who decides, in open mode. With a key that is its owner, and another name no more than a comment. */
  by?: string | undefined
  reason?: string | undefined
  signal?: AbortSignal | undefined
}

export interface Approving extends Deciding {
  /** Also whitelists the action. */
  remember?: Approval['remember'] | undefined
  /** The action's name, where the rule wants it typed out. */
  typedAction?: string | undefined
}

export type Denying = Deciding

export interface Following {
  /** One confirmation, from its first event to its end; everything from now on, unless it is said. */
  id?: string | undefined
  /** The number of the event to go on after; 0 for all there ever were. */
  after?: number | undefined
  /** Everything's, but those of an `id`. */
  types?: readonly EventType[] | undefined
  action?: string | undefined
  requester?: string | undefined
  sessionKey?: string | undefined
  actor?: string | undefined
  channel?: string | undefined
  /** Epoch seconds or ISO 8601. */
  since?: number | string | undefined
  signal?: AbortSignal | undefined
  /** The stream is there, for the first time or again. */
  onOpen?: (() => void) | undefined
  /** It broke and is tried again, without a gap. */
  onLost?: ((error: unknown) => void) | undefined
}

/** What can be given as it is: a whole id. What is shorter is the end of one. */
const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export class Operator {
  readonly #http: Http

  /** `http` is what speaks to the service, where that is not a connection: see `Holdpoint.fake`. */
  constructor(options: OperatorOptions = {}, http: Http = createHttp(placeFrom(options), options)) {
    this.#http = http
  }

  /** Where it leads, for messages. */
  get place(): string {
    return this.#http.place
  }

  /** Any request, once: what no verb is there for. Statuses from 400 on are thrown as `Refused`. */
  call<T = unknown>(method: string, path: string, call?: Call): Promise<Answer<T>> {
    return this.#http.call<T>(method, path, call)
  }

  /** The same for an answer that is read piece by piece, as an export. */
  stream(method: string, path: string, call?: Call): Promise<StreamedAnswer> {
    return this.#http.stream(method, path, call)
  }

  /** A page of a listing. What answers at an address may be something else that speaks JSON. */
  async page<P extends object>(path: string, list: keyof P, call?: Call): Promise<P> {
    const { body } = await this.call<P>('GET', path, call)
    if (!Array.isArray((body as Partial<P> | null)?.[list])) throw this.#notOurs()
    return body
  }

  #notOurs(): Unreachable {
    return new Unreachable(`${this.place} answered as Holdpoint does not.`, { mayHaveArrived: true, mayPass: false })
  }

  /** What waits for a person, the next deadline first. */
  async pending({ action, sessionKey, limit = Infinity, signal }: Listing = {}): Promise<Confirmation[]> {
    const found: Confirmation[] = []
    let cursor: string | null = null
    do {
      const size = Math.min(500, limit - found.length)
      const query: Call['query'] = { status: 'pending', action, session_key: sessionKey, limit: size, cursor }
      const page: ConfirmationPage = await this.page<ConfirmationPage>('/confirm', 'confirmations', { query, signal })
      found.push(...page.confirmations)
      cursor = page.next_cursor ?? null
    } while (cursor !== null && found.length < limit)
    return found
  }

  /** One, by its id, or by the last six characters or more of one of the last week. */
  async show(id: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<FoundConfirmation> {
    const path = wholeId.test(id) ? `/confirm/${id}` : `/short-ids/${encodeURIComponent(id)}`
    const { body } = await this.call<FoundConfirmation>('GET', path, { signal })
    if (!hasIds(body)) throw this.#notOurs()
    return body
  }

  /** By the whole id, of what was shown. It may still be pending then, where more people must approve. */
  async approve(id: string, options: Approving = {}): Promise<DecidedConfirmation> {
    const { by, reason, remember, typedAction, signal } = options
    const body = withoutUndefined({ approver: by, reason, remember, typed_action: typedAction }) satisfies Approval
    return (await this.call<DecidedConfirmation>('POST', `${pathOf(id)}/approve`, { body, signal })).body
  }

  async deny(id: string, { by, reason, signal }: Denying = {}): Promise<DecidedConfirmation> {
    const body = withoutUndefined({ denier: by, reason }) satisfies Denial
    return (await this.call<DecidedConfirmation>('POST', `${pathOf(id)}/deny`, { body, signal })).body
  }

  /** The history as it happens. A break is mended without a gap, for as long as the loop goes on. */
  async *follow(options: Following = {}): AsyncGenerator<Event, void, undefined> {
    const { id, types, action, requester, sessionKey, actor, channel, since, signal, onOpen, onLost } = options
    const path = id === undefined ? '/events' : `${pathOf(id)}/events`
    const filters = { type: types?.join(','), action, requester, session_key: sessionKey, actor, channel, since }
    const query = id === undefined ? filters : {}
    let last = options.after === undefined ? null : String(options.after)
    let retryMs = 1000
    for (let attempt = 0; ; attempt++) {
      try {
        const headers = { accept: 'text/event-stream', ...(last === null ? {} : { 'last-event-id': last }) }
        const { status, body } = await this.stream('GET', path, { query, headers, signal })
        if (status === 204) return
        onOpen?.()
        attempt = 0
        for await (const message of messagesIn(body)) {
          if (message.retryMs !== null) retryMs = message.retryMs
          if (message.data !== '') yield JSON.parse(message.data) as Event
          // Only what was taken is behind us.
          if (message.id !== null) last = message.id
        }
        onLost?.(null)
      } catch (error) {
        if (!mayPass(error)) throw error
        onLost?.(error)
        const asked = error instanceof Refused ? (error.retryAfterMs ?? 0) : 0
        await pause(Math.max(asked, pauseBefore(attempt)), signal)
        continue
      }
      await pause(retryMs * (0.5 + Math.random() / 2), signal)
    }
  }

  /** Closes the connections that are kept for the next request. Nothing has to be: they keep no program alive. */
  close(): void {
    this.#http.close()
  }
}

/** What nothing can be decided without. */
function hasIds(body: Partial<FoundConfirmation> | null): boolean {
  return [body?.id, body?.status, body?.digest].every((one) => typeof one === 'string')
}

export function pathOf(id: string): string {
  return `/confirm/${encodeURIComponent(id)}`
}

/** What is not given is not sent. */
export function withoutUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
