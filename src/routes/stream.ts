// Server-sent events: the history as it is written, for one confirmation until its end, or for everything.
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { type Caller, nameOf } from '../access/role.js'
import type { RecordedEvent } from '../audit/event.js'
import { stringifyInert } from '../core/json.js'
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import { assertRecorded } from './cursor.js'
import { granted, Problem } from './errors.js'
import type { Auth } from './auth.js'
import { whenEnded } from './response-end.js'
import * as answers from './answers.js'
import * as requests from './requests.js'
import type { Shares } from './shares.js'
import { eventFilter, eventView } from './view.js'
import { assertHeld, whenGone } from './wait.js'

export const streamLimits = {
  /** A comment this often keeps proxies from closing. */
  idleMs: 15_000,
  /** A reader that takes nothing for this long is dropped; it comes back with Last-Event-ID and misses nothing. */
  stallMs: 10_000,
  /**
   * A chunk below this costs no more than its socket does, and events are put together up to it; larger ones count as answers
   * that are not yet read.
   */
  smallChunk: 8 * 1024,
}

/** How much of a confirmation's history is looked at in one turn. */
const pageSize = 100

export function streamRoutes(app: Api, service: Service, auth: Auth, shares: Shares, limits = streamLimits): void {
  const { idleMs, stallMs, smallChunk } = limits
  const written = new WeakMap<RecordedEvent[], Buffer[]>()

  app.get(
    '/confirm/:id/events',
    {
      config: { needs: 'read' },
      exposeHeadRoute: false,
      schema: {
        operationId: 'followConfirmation',
        tag: 'confirmations',
        summary: 'Follow the events of a confirmation as they happen, until it is resolved',
        params: requests.idParams,
        querystring: requests.streamQuery,
        known: requests.streamHeaders,
        response: { 200: answers.eventStream, 204: answers.noMore },
        problems: ['invalid_cursor'],
      },
    },
    async ({ params: { id }, query, headers, caller }, reply) => {
      const { isEnded } = granted(await service.ending(id, caller))
      const asked = lastEventId(headers) ?? query.after
      const isAgent = caller.role === 'agent'
      const after = isAgent ? await placeOf(id, Number(asked ?? 0), caller) : await begin(asked, 0)
      // A browser comes back for ever, unless it is told that there is no more.
      if (asked !== undefined && isEnded) {
        const rest = await recorded(id, after, caller).next()
        if (rest.done === true) return reply.code(204).send(null)
      }
      assertHeld(shares, reply)
      const following = { filter: { confirmationId: id }, after, idleMs, until: id, who: nameOf(caller) }
      const pages = toldTo(caller, service.follow(following, whenGone(reply)))
      return send(reply, 'retry: 1000', isAgent ? numbered(pages, Number(asked ?? 0)) : pages)
    },
  )

  app.get(
    '/events',
    {
      config: { needs: 'survey' },
      exposeHeadRoute: false,
      schema: {
        operationId: 'followEvents',
        tag: 'audit',
        summary: 'Follow all events as they happen',
        querystring: requests.followQuery,
        known: requests.streamHeaders,
        response: { 200: answers.eventStream },
        problems: ['invalid_cursor'],
      },
    },
    async ({ query, headers, caller }, reply) => {
      const { after: asked, ...filters } = query
      // Since a time is all that happened from then on, and what happens next.
      const place = lastEventId(headers) ?? asked ?? (filters.since === undefined ? undefined : 0)
      const after = await begin(place, 'now')
      // One of a single confirmation costs no more here than at its own path.
      if (filters.confirmation_id !== undefined) assertHeld(shares, reply)
      else takeStream(reply)
      // A reader who begins now is told where that is, and so comes back there even if nothing happened yet.
      const first = place === undefined ? `retry: 1000\nid: ${after}` : 'retry: 1000'
      const following = { filter: eventFilter(filters), after, idleMs, who: nameOf(caller) }
      return send(reply, first, toldTo(caller, service.follow(following, whenGone(reply))))
    },
  )

  /** Each is woken by every commit; those of one confirmation only by its own. */
  function takeStream(reply: FastifyReply): void {
    const place = shares.streams.take(reply.request)
    if (typeof place === 'function') return whenEnded(reply, place)
    const sentence =
      place === 'share'
        ? `${shares.requesterOf(reply.request)} has as many streams of all events open as its share is; try again in 5 s.`
        : 'As many streams of all events are open as there may be; try again in 5 s.'
    throw shares.refuse('streams', sentence, 5)
  }

  /** The number to go on after. */
  async function begin(asked: string | number | undefined, otherwise: 0 | 'now'): Promise<number> {
    if (asked === undefined && otherwise === 0) return 0
    const last = await service.lastSeq()
    if (asked === undefined) return last
    assertRecorded(Number(asked), last)
    return Number(asked)
  }

  /** The events of a confirmation after this number, as far as they are for this caller. */
  async function* recorded(id: string, after: number, caller: Caller): AsyncGenerator<RecordedEvent> {
    for (let more = true; more;) {
      const from = after
      const look = () => service.listEvents(from, pageSize, { confirmationId: id })
      const page = await service.turnstile.run(look, nameOf(caller))
      yield* page.events.filter((event) => isFor(caller, event))
      after = page.upTo
      more = page.more
    }
  }

  /** The number to go on after for a reader who has been told of so many events of this confirmation. */
  async function placeOf(id: string, told: number, caller: Caller): Promise<number> {
    if (told === 0) return 0
    let count = 0
    for await (const { seq } of recorded(id, 0, caller)) if ((count += 1) === told) return seq
    const sentence = `There is no event ${told} of this confirmation; the last one is ${count}. Begin again without it.`
    throw new Problem('invalid_cursor', sentence)
  }

  function send(reply: FastifyReply, first: string, pages: AsyncIterable<RecordedEvent[]>): FastifyReply {
    void reply.type('text/event-stream').header('x-accel-buffering', 'no')
    return reply.send(Readable.from(chunks(reply, first, pages)))
  }

  /** One chunk is under way at a time, so a slow reader costs one of them and not the history. */
  async function* chunks(reply: FastifyReply, first: string, pages: AsyncIterable<RecordedEvent[]>) {
    yield Buffer.from(`${first}\n\n`)
    for await (const events of pages) {
      for (const chunk of events.length === 0 ? [stillHere] : chunksOf(events)) {
        // A key that is revoked meanwhile reads no further.
        if (!auth.isStillGood(reply.request)) return
        const release = chunk.length < smallChunk ? () => {} : shares.answers.take(reply.request, chunk.length)
        if (typeof release === 'string') {
          reply.request.raw.socket.destroy()
          return
        }
        const timer = setTimeout(() => reply.request.raw.socket.destroy(), stallMs)
        try {
          yield chunk
        } finally {
          clearTimeout(timer)
          release()
        }
      }
    }
  }

  /** Written out once for all who are given the same page. */
  function chunksOf(events: RecordedEvent[]): Buffer[] {
    let chunks = written.get(events)
    if (chunks === undefined) written.set(events, (chunks = join(events.map(render), smallChunk)))
    return chunks
  }
}

const stillHere = Buffer.from(': still here\n\n')

/** Together what makes no more than this; what is larger stands alone. */
function join(texts: string[], below: number): Buffer[] {
  const chunks: Buffer[] = []
  let joined: Buffer[] = []
  let size = 0
  const close = () => {
    if (size > 0) chunks.push(Buffer.concat(joined, size))
    joined = []
    size = 0
  }
  for (const text of texts) {
    const one = Buffer.from(text)
    if (size + one.length >= below) close()
    joined.push(one)
    size += one.length
  }
  close()
  return chunks
}

/** Who else was refused, and from where, is no agent's business. */
function isFor(caller: Caller, { type, actor }: RecordedEvent): boolean {
  return caller.role !== 'agent' || type !== 'rejected' || actor === nameOf(caller)
}

/** An empty page says that the stream is still there. One that holds nothing for this caller says nothing at all. */
async function* toldTo(caller: Caller, pages: AsyncIterable<RecordedEvent[]>): AsyncGenerator<RecordedEvent[]> {
  for await (const page of pages) {
    const told = page.every((event) => isFor(caller, event)) ? page : page.filter((event) => isFor(caller, event))
    if (told.length > 0 || page.length === 0) yield told
  }
}

/** As an agent counts what it is told of its confirmation: the history's own numbers tell how much others do. */
async function* numbered(pages: AsyncIterable<RecordedEvent[]>, told: number): AsyncGenerator<RecordedEvent[]> {
  for await (const page of pages) {
    yield page.map((event) => ({ ...event, data: withoutReader(event), seq: (told += 1) }))
  }
}

/** By which id of a chat a person was told is no agent's business either. */
function withoutReader({ type, data }: RecordedEvent): string {
  if (type !== 'notified' && type !== 'notify_failed') return data
  return JSON.stringify({ ...(JSON.parse(data) as object), to: undefined })
}

function lastEventId(headers: IncomingHttpHeaders): string | undefined {
  const id = headers['last-event-id']
  // Some clients send it empty before they have one.
  if (id === undefined || id === '') return undefined
  if (/^\d{1,15}$/.test(String(id))) return String(id)
  throw new Problem('invalid_request', "Header 'Last-Event-ID' must be the id of an event")
}

function render(event: RecordedEvent): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${stringifyInert(eventView(event))}\n\n`
}
