// How long a request may be held: `?wait=SECONDS`, or `Prefer: wait=SECONDS` after RFC 7240.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Lack } from '../policy/share.js'
import type { WhenGone } from '../service/read.js'
import { whenEnded } from './response-end.js'
import { maxWaitSeconds } from './requests.js'
import type { Shares } from './shares.js'

interface Asking {
  query: { wait?: number | undefined }
  headers: IncomingHttpHeaders
}

/** In milliseconds. The query wins; a preference that is honoured is named in the answer. */
export function readWait({ query, headers }: Asking, reply: FastifyReply): number {
  if (query.wait !== undefined) return query.wait * 1000
  const preferred = headers.prefer === undefined ? null : preferredSeconds(String(headers.prefer))
  if (preferred === null) return 0
  void reply.header('preference-applied', `wait=${preferred}`)
  return preferred * 1000
}

/** Longer than all preferences there are. */
const maxPreferred = 1000

/** What cannot be understood is no preference: nobody is refused for one. */
export function preferredSeconds(header: string): number | null {
  if (header.length > maxPreferred) return null
  for (const preference of preferencesIn(header)) {
    const seconds = /^wait\s*=\s*"?(\d+)"?\s*(;|$)/i.exec(preference.trim())?.[1]
    if (seconds !== undefined) return Math.min(maxWaitSeconds, Number(seconds))
  }
  return null
}

/** Commas within quotes separate nothing. One step a character, whatever the quotes. */
function preferencesIn(header: string): string[] {
  const found: string[] = []
  let from = 0
  let isQuoted = false
  for (let at = 0; at < header.length; at++) {
    const character = header[at]
    if (character === '"') isQuoted = !isQuoted
    else if (character === '\\' && isQuoted) at += 1
    else if (character === ',' && !isQuoted) {
      found.push(header.slice(from, at))
      from = at + 1
    }
  }
  return [...found, header.slice(from)]
}

/** Takes a place until the answer is over: also while it waits for room. */
export function hold(shares: Shares, reply: FastifyReply): 'held' | Lack {
  const place = shares.waits.take(reply.request)
  if (typeof place === 'string') return place
  whenEnded(reply, place)
  return 'held'
}

export function assertHeld(shares: Shares, reply: FastifyReply): void {
  const lack = hold(shares, reply)
  if (lack === 'held') return
  const sentence =
    lack === 'share'
      ? `As many requests of ${shares.requesterOf(reply.request)} are held as its share is; try again in 5 s, or ask without waiting.`
      : 'As many requests are held as there may be; try again in 5 s, or ask without waiting.'
  throw shares.refuse('waits', sentence, 5)
}

/** A client that hangs up frees its place at once. */
export function whenGone(reply: FastifyReply): WhenGone {
  return (leave) => whenEnded(reply, leave)
}
