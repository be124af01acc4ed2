// Which requests, or which events, audit and export are asked for: flags, as the query of the API has them.
import type { Operator } from '../client/index.js'
import type { GivenCommand } from '../command.js'
import { readAll, readSeconds, wrong } from './key-commands.js'

type Options = GivenCommand['options']

export interface Asked {
  isEvents: boolean
  query: Record<string, string>
  /** Of which request, as it was named. */
  of: string | undefined
}

const common = { action: 'action', requester: 'requester', session: 'session_key' }
const ofRequests = { status: 'status', 'resolved-by': 'resolved_by', 'voted-by': 'voted_by' }
const ofEvents = { type: 'type', actor: 'actor', channel: 'channel' }
const times = { since: 'since', until: 'until' }
const timesOfRequests = { 'resolved-since': 'resolved_since', 'resolved-until': 'resolved_until' }

export function readFilter(options: Options, now: number): Asked {
  const isEvents = options.events === true
  const names = { ...common, ...(isEvents ? ofEvents : ofRequests) }
  const moments = { ...times, ...(isEvents ? {} : timesOfRequests) }
  const others = Object.keys(isEvents ? { ...ofRequests, ...timesOfRequests } : { ...ofEvents, of: 'of' })
  const { query } = readAll({
    others: () => others.forEach((name) => refuseOther(options, name, isEvents)),
    query: () => ({
      ...Object.fromEntries(given(options, names)),
      ...Object.fromEntries(given(options, moments).map(([name, text]) => [name, momentOf(name, text, now)])),
    }),
  })
  return { isEvents, query, of: options.of as string | undefined }
}

function given(options: Options, names: Record<string, string>): [string, string][] {
  return Object.entries(names).flatMap(([flag, name]) =>
    options[flag] === undefined ? [] : [[name, String(options[flag])]],
  )
}

function refuseOther(options: Options, name: string, isEvents: boolean): void {
  if (options[name] === undefined) return
  throw wrong(name, isEvents ? 'is for requests, and does not go with --events' : 'goes with --events alone')
}

/** Ten years, in seconds. */
const longAgo = 315_360_000

/** What the API takes is left to it. */
function momentOf(name: string, text: string, now: number): string {
  if (!/^\d+[smhd]$/.test(text)) return text
  return String((now - readSeconds(name.replace('_', '-'), text, 0, longAgo) * 1000) / 1000)
}

/** With the id of the request that is named, by its end perhaps. */
export async function queryOf({ query, of }: Asked, operator: Operator): Promise<Record<string, string>> {
  if (of === undefined) return query
  return { ...query, confirmation_id: (await operator.show(of.trim())).id }
}
