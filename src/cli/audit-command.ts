// audit: what happened, as a table or as JSON; requests as they stand, or events.
import type { AuditPage, Confirmation, Event, EventPage, Operator } from '../client/index.js'
import { shortLine } from '../core/cut.js'
import { inert } from '../core/json.js'
import { visibleLine } from '../core/visible.js'
import { queryOf, readFilter } from './audit-filter.js'
import { fit } from './columns.js'
import { type Context, readAll, wrong } from './key-commands.js'
import type { Output } from './output.js'
import { withReader } from './reach.js'
import { endsOf } from './request-commands.js'
import { layOut } from './table.js'
import { momentOf } from './time-text.js'

const usualLimit = 50
const mostLimit = 10_000
/** Of one answer. */
const pageSize = 500

export async function listAudit(context: Context): Promise<void> {
  const { given, output } = context
  const { asked, limit } = readAll({
    asked: () => readFilter(given.options, Date.now()),
    limit: () => readLimit(given.options.limit),
  })
  await withReader(context, async (operator) => {
    const query = await queryOf(asked, operator)
    const isAll = Object.keys(query).length === 0
    if (asked.isEvents) {
      const found = await lastEvents(operator, query, limit)
      show(
        output,
        found,
        given.options.json === true,
        eventRows,
        isAll ? 'Nothing happened yet.' : 'There is no event like that.',
      )
    } else {
      const found = await lastRequests(operator, query, limit)
      show(
        output,
        found,
        given.options.json === true,
        requestRows,
        isAll ? 'There is no request yet.' : 'There is no request like that.',
      )
    }
  })
}

function readLimit(text: string | true | undefined): number {
  if (text === undefined) return usualLimit
  const limit = /^\d{1,5}$/.test(String(text)) ? Number(text) : 0
  if (limit < 1 || limit > mostLimit) throw wrong('limit', `must be from 1 to ${mostLimit}; more of it: export`)
  return limit
}

async function lastRequests(operator: Operator, query: Record<string, string>, limit: number): Promise<Confirmation[]> {
  const found: Confirmation[] = []
  let cursor: string | null = null
  do {
    const size = Math.min(pageSize, limit - found.length)
    const asked = { query: { ...query, limit: size, cursor } }
    const page: AuditPage = await operator.page<AuditPage>('/audit', 'entries', asked)
    found.push(...page.entries)
    cursor = page.next_cursor ?? null
  } while (cursor !== null && found.length < limit)
  return found
}

/** In the distant future, so that nothing is found before the end of the history. */
const never = '99999999999'

/** The history is read from some place on: from ever further back, until there are enough. */
async function lastEvents(operator: Operator, query: Record<string, string>, limit: number): Promise<Event[]> {
  const ask = (more: object) => operator.page<EventPage>('/audit/events', 'events', { query: { ...more } })
  let page = await ask({ since: never })
  while (page.more) page = await ask({ since: never, after: page.next_after })
  const last = page.next_after
  for (let back = limit; ; back *= 8) {
    const from = Math.max(0, last - back)
    let found: Event[] = []
    for (let after = from, more = true; more;) {
      page = await ask({ ...query, after, limit: pageSize })
      found = [...found, ...page.events].slice(-limit)
      after = page.next_after
      more = page.more
    }
    if (found.length === limit || from === 0) return found
  }
}

function show<T>(
  output: Output,
  found: T[],
  isJson: boolean,
  rowsOf: (found: T[], isShort: boolean) => string[][],
  none: string,
): void {
  if (isJson) return output.print(inert(JSON.stringify(found, null, 2)))
  if (found.length === 0) return output.tell(none)
  const screen = output.screen?.('print') ?? null
  // For a program that reads it, ids are whole and nothing is cut to a width.
  const text = layOut(rowsOf(found, screen !== null))
  if (screen === null) return output.print(text)
  output.print(
    text
      .split('\n')
      .map((line) => fit(line, screen.columns))
      .join('\n'),
  )
}

const maxName = 60
const maxText = 120

function requestRows(found: Confirmation[], isShort: boolean): string[][] {
  const ids = found.map(({ id }) => id)
  const shown = isShort ? endsOf(ids) : ids
  const rows = found.map((one, index) => [
    visibleLine(shown[index]!),
    momentOf(one.created_at_iso),
    one.status,
    one.execution ?? '',
    shortLine(one.action, maxName),
    shortLine(one.requester, maxName),
    shortLine(one.resolved_by, maxName),
    shortLine(one.description, maxText),
  ])
  return [['ID', 'SUBMITTED', 'STATUS', 'EXECUTION', 'ACTION', 'REQUESTER', 'RESOLVED BY', 'DESCRIPTION'], ...rows]
}

function eventRows(found: Event[], isShort: boolean): string[][] {
  const ids = [...new Set(found.flatMap(({ confirmation_id: id }) => (id === null ? [] : [id])))]
  const ends = isShort ? endsOf(ids) : ids
  const shown = new Map(ids.map((id, index) => [id, ends[index]!]))
  const rows = found.map((one) => [
    String(one.seq),
    momentOf(one.time_iso),
    one.type,
    shortLine(one.actor, maxName),
    shortLine(one.channel, maxName),
    one.confirmation_id === null ? '' : visibleLine(shown.get(one.confirmation_id)!),
    shortLine(JSON.stringify(one.data), maxText),
  ])
  return [['SEQ', 'TIME', 'TYPE', 'ACTOR', 'CHANNEL', 'REQUEST', 'DATA'], ...rows]
}
