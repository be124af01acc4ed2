// The digest of what is about to be done, as the service computes it.
import { createHash } from 'node:crypto'
import { canonical, digestText } from '../core/canonical.js'
import type { JsonObject } from './json.js'

export interface Act {
  action: string
  details: JsonObject
  onBehalfOf: string | null
  requester: string
  sessionKey: string
}

export function digestOf(act: Act): string {
  // Not `hash`, which not every runtime has that this must work in.
  return createHash('sha256')
    .update(digestText({ ...act, details: canonical(act.details) }), 'utf8')
    .digest('hex')
}
