// What is read of a large body on a thread of its own: as a small one is read here, and what is computed from all of it, so that
// whoever goes on with it need not look at the whole again.
import type { z } from 'zod'
import type { Caller } from '../access/role.js'
import { type Asked, compute } from '../service/asked.js'
import { Problem, toProblem } from './errors.js'
import { aapRequestBody, toAskedByAap } from './aap-bodies.js'
import { toGrantRequest } from './grant-request.js'
import { readJson } from './json-body.js'
import { batchBody, grantBody, hookBody, submitBody } from './requests.js'
import { readItem, readKey, toAsked, toTold } from './submission.js'

/** A body as it came, and what its route makes of it. */
export interface Unread {
  body: Uint8Array
  reads: Reads | null
  caller: Caller
  /** The header `Idempotency-Key`. */
  key: string | undefined
}

/** A problem as plain data. */
export interface Said {
  code: Problem['code']
  sentence: string
  extra: Record<string, unknown>
}

/** Refused as JSON, or refused by its schema; what the route makes of it; the value, where the route says nothing. */
export type Read = { notJson: Said } | { invalid: Said } | { made: unknown } | { value: object }

/** One of many, judged by itself. */
export type ItemRead = Asked | Said

const readings = {
  submission: reading(submitBody, (body, caller, key) => computed(toAsked(body, key, caller))),
  batch: reading(batchBody, ({ items }, caller, key) => {
    return items.map((item, index): ItemRead => {
      const one = readItem(item, index, key, caller)
      return one instanceof Problem ? say(one) : computed(one)
    })
  }),
  aap: reading(aapRequestBody, (body, caller) => computed(toAskedByAap(body, null, caller))),
  hook: reading(hookBody, toTold),
  grant: reading(grantBody, (body, caller) => toGrantRequest(body, caller)),
}
export type Reads = keyof typeof readings
/** What the route is given in place of the body. */
export type Made<R extends Reads> = ReturnType<(typeof readings)[R]['make']>

function reading<S extends z.ZodType, T>(
  schema: S,
  make: (body: z.output<S>, caller: Caller, key: string | null) => T,
): { schema: S; make: typeof make } {
  return { schema, make }
}

export function read({ body, reads, caller, key }: Unread): Read {
  const value = readJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  if (value instanceof Problem) return { notJson: say(value) }
  if (reads === null) return { value }
  const { schema, make } = readings[reads]
  const { data, error } = schema.safeParse(value)
  if (error !== undefined) return { invalid: say(toProblem(error)) }
  return { made: make(data as never, caller, keyIn(key)) }
}

/** Whoever goes on refuses a key that is none. */
function keyIn(header: string | undefined): string | null {
  try {
    return readKey({ 'idempotency-key': header })
  } catch {
    return null
  }
}

function computed(asked: Asked): Asked {
  return { ...asked, computed: compute(asked) }
}

function say({ code, message, extra }: Problem): Said {
  return { code, sentence: message, extra }
}

export function problemFrom({ code, sentence, extra }: Said): Problem {
  return new Problem(code, sentence, extra)
}
