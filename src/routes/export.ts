// /audit/export and /audit/events/export: every record, or the whole history, as one file. It is read as fast as its reader takes
// it, a little in each turn, and whoever was cut off goes on after the last whole row.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { nameOf } from '../access/role.js'
import type { RecordedEvent } from '../audit/event.js'
import { jsonCell, textCell } from '../core/csv.js'
import { stringify, stringifyInert } from '../core/json.js'
import type { Confirmation } from '../core/model.js'
import type { Service } from '../service/service.js'
import * as answers from './answers.js'
import type { Api } from './api.js'
import type { Auth } from './auth.js'
import { assertRecorded } from './cursor.js'
import { Problem } from './errors.js'
import * as requests from './requests.js'
import { whenEnded } from './response-end.js'
import type { Shares } from './shares.js'
import { confirmationFilter, confirmationView, eventFilter, eventView, iso } from './view.js'

export const exportLimits = {
  /** A reader that takes nothing for this long is dropped: so long may somebody look at a page of a pager. */
  patienceMs: 60_000,
}

/** The names are those of the records; times are shown in one form, the one that people read. */
export const recordColumns = [
  ...['id', 'created_at_iso', 'status', 'action', 'description', 'details', 'requester', 'requested_as'],
  ...['on_behalf_of', 'session_key', 'session_id', 'resolved_by', 'resolved_at_iso', 'resolved_via', 'reason'],
  ...['risk', 'rule', 'approvals_needed', 'approvals_given', 'votes', 'comments', 'warnings', 'timeout_seconds'],
  ...['expires_at_iso', 'told_at_iso', 'execution', 'claim_expires_at_iso', 'claimed_at_iso', 'reported_at_iso'],
  ...['outcome', 'report_message', 'digest', 'digest_required', 'callback_url'],
]
export const eventColumns = ['seq', 'time_iso', 'type', 'actor', 'channel', 'confirmation_id', 'data']

type View = Record<string, string | number | boolean | object | null>

/** What is exported: under which name, and what of each one there is. */
interface Kind<T> {
  name: string
  columns: readonly string[]
  viewOf: (one: T) => View
}

const records: Kind<Confirmation> = { name: 'audit', columns: recordColumns, viewOf: confirmationView }
const events: Kind<RecordedEvent> = { name: 'events', columns: eventColumns, viewOf: eventView }

interface Form {
  format: 'jsonl' | 'csv'
  header?: boolean | undefined
  after?: unknown
}

export function exportRoutes(app: Api, service: Service, auth: Auth, shares: Shares, limits = exportLimits): void {
  const also = { 'text/csv': answers.csvRows }
  const common = { tag: 'audit', response: { 200: answers.jsonLines }, also, sends: ['Content-Disposition'] } as const
  let isClosing = false
  app.addHook('preClose', (done) => {
    isClosing = true
    done()
  })

  app.get(
    '/audit/export',
    {
      config: { needs: 'survey' },
      schema: {
        ...common,
        operationId: 'exportAudit',
        summary: 'Take away every confirmation, the oldest first',
        description:
          'Each as it stands when it is read. What is submitted after the export began is not in it. Whoever is cut off, or ' +
          'comes back for what is new, goes on `after` the last whole row.',
        querystring: requests.auditExportQuery,
        problems: ['invalid_cursor'],
      },
    },
    async ({ query, caller }, reply) => {
      const { after } = query
      const place = after === undefined ? null : await service.exports.placeOf(after)
      if (place === undefined) throw unknownPlace()
      return send(reply, query, records, service.exports.records(confirmationFilter(query), place, nameOf(caller)))
    },
  )

  app.get(
    '/audit/events/export',
    {
      config: { needs: 'survey' },
      schema: {
        ...common,
        operationId: 'exportEvents',
        summary: 'Take away the history, the oldest event first',
        description:
          'Up to the last event that there was when the export began. Whoever is cut off, or comes back for what is new, goes ' +
          'on `after` the last whole row.',
        querystring: requests.eventsExportQuery,
        problems: ['invalid_cursor'],
      },
    },
    async ({ query, caller }, reply) => {
      const after = query.after ?? 0
      assertRecorded(after, await service.lastSeq())
      return send(reply, query, events, service.exports.events(eventFilter(query), after, nameOf(caller)))
    },
  )

  async function send<T>(
    reply: FastifyReply,
    { format, header, after }: Form,
    { name, columns, viewOf }: Kind<T>,
    pages: AsyncGenerator<T[]>,
  ): Promise<FastifyReply> {
    const { request } = reply
    const hasHeader = format === 'csv' && (header ?? after === undefined)
    const type = {
      jsonl: 'application/jsonl',
      csv: `text/csv; charset=utf-8; header=${hasHeader ? 'present' : 'absent'}`,
    }
    const day = iso(service.now()).replace(/[-:]|\.\d+/g, '')
    void reply.type(type[format]).header('x-accel-buffering', 'no')
    void reply.header('content-disposition', `attachment; filename="holdpoint-${name}-${day}.${format}"`)
    if (request.method === 'HEAD') return reply.send(Readable.from([]))
    takePlace(reply)
    const reader = { isGone: false, count: 0 }
    whenEnded(reply, () => (reader.isGone = true))
    // Now, because what fails here still gets an answer.
    const first = await pages.next()
    // A reader of HTTP/1.0 takes neither chunks nor trailers.
    if (request.raw.httpVersion !== '1.0')
      void reply.trailer('export-count', (_reply, _payload, done) => done(null, String(reader.count)))
    const write = format === 'csv' ? (one: T) => rowOf(viewOf(one), columns) : (one: T) => lineOf(viewOf(one))
    const head = hasHeader ? `\ufeff${[...columns, 'cut'].join()}\r\n` : ''

    async function* texts(): AsyncGenerator<string> {
      // It may take long to find the first row, and whoever waits learns so that it is looked for.
      reply.raw.flushHeaders()
      yield head
      for (let page = first; page.done !== true; page = await pages.next()) {
        reader.count += page.value.length
        yield page.value.map(write).join('')
      }
    }
    return reply.send(Readable.from(chunks(request, reader, texts())))
  }

  /** Agents are not let in here, so what others need is bounded by their own shares. */
  function takePlace(reply: FastifyReply): void {
    const place = shares.exports.take(reply.request)
    if (typeof place === 'function') return whenEnded(reply, place)
    const sentence =
      place === 'share'
        ? `${shares.requesterOf(reply.request)} has as many exports under way as its share is; try again in 5 s.`
        : 'As many exports are under way as there may be; try again in 5 s.'
    throw shares.refuse('exports', sentence, 5)
  }

  /** One is under way at a time. What ends before its end ends with the connection, so that nobody takes it for whole. */
  async function* chunks(request: FastifyRequest, reader: { isGone: boolean }, texts: AsyncGenerator<string>) {
    try {
      for await (const text of texts) {
        if (reader.isGone) return
        // A key that is revoked meanwhile reads no further.
        if (isClosing || !auth.isStillGood(request)) return cutOff(request)
        if (text === '') continue
        const chunk = Buffer.from(text)
        const release = shares.answers.take(request, chunk.length)
        if (typeof release === 'string') return cutOff(request)
        const timer = setTimeout(() => cutOff(request), limits.patienceMs)
        try {
          yield chunk
        } finally {
          clearTimeout(timer)
          release()
        }
      }
    } catch (error) {
      cutOff(request)
      throw error
    }
  }
}

/** Without chunks only a reset tells that this is not the end. A Unix socket has none. */
function cutOff({ raw: { socket, httpVersion } }: FastifyRequest): void {
  if (httpVersion === '1.0' && socket.remoteFamily !== undefined) socket.resetAndDestroy()
  else socket.destroy()
}

function lineOf(view: View): string {
  return `${stringifyInert(view)}\n`
}

/** The last cell names those that were cut. */
function rowOf(view: View, columns: readonly string[]): string {
  const cutColumns: string[] = []
  const cells = columns.map((column) => {
    const { text, isCut } = cellOf(view[column]!)
    if (isCut) cutColumns.push(column)
    return text
  })
  return `${cells.join()},${cutColumns.join(' ')}\r\n`
}

function cellOf(value: View[string]): ReturnType<typeof textCell> {
  if (value === null) return { text: '', isCut: false }
  return typeof value === 'object' ? jsonCell(stringify(value)) : textCell(String(value))
}

function unknownPlace(): Problem {
  const sentence = "There is no request with the id that 'after' says. Begin again without it."
  return new Problem('invalid_cursor', sentence)
}
