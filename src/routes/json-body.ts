// What a body must be: JSON of one object, in UTF-8, that every reader takes for the same. For all of them, however they are read.
import { isUtf8 } from 'node:buffer'
import parse from 'secure-json-parse'
import { findAmbiguity, sayAmbiguity } from '../core/ambiguity.js'
import type { Api } from './api.js'
import { largeBody, takeBodies } from './body.js'
import { notJson, Problem, unsupported } from './errors.js'
import type { ReadLarge } from './large-body.js'
import { maxValues } from './requests.js'

/**
 * A JSON object or nothing. Other content types are refused even when their content is JSON: a web page can send those across
 * origins without asking. An empty body is no body, whatever its type says. `readLarge` null: all are read here.
 */
export function parseBodies(app: Api, readLarge: ReadLarge | null): void {
  app.removeAllContentTypeParsers()
  takeBodies(app, 'application/json', (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    if (body.length >= largeBody && readLarge !== null) return readLarge(request, body, done)
    const value = readJson(body)
    if (value instanceof Problem) done(value)
    else done(null, value)
  })
  takeBodies(app, '*', (_request, body, done) => {
    if (body.length === 0) done(null, undefined)
    else done(unsupported())
  })
}

/** The object, or what is wrong with it. */
export function readJson(body: Buffer): object {
  if (!isUtf8(body)) return new Problem('not_json', 'The body must be JSON in UTF-8.')
  if (body.length > maxValues && countValues(body) > maxValues) {
    return new Problem('invalid_request', `The body must not hold more than ${maxValues} values.`)
  }
  const text = body.toString('utf8')
  let value: unknown
  try {
    value = parse(text, { protoAction: 'error', constructorAction: 'error' })
  } catch {
    return isJson(text) ? poisoned() : notJson()
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return notJson()
  const ambiguity = findAmbiguity(text, isExempt)
  return ambiguity === null ? value : new Problem('ambiguous_json', sayAmbiguity(ambiguity, 'the body'))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** What is JSON and refused all the same has keys that would change what all objects have in common. */
function poisoned(): Problem {
  return new Problem('invalid_request', "The body must not hold the keys '__proto__' or 'constructor.prototype'.")
}

/** However large: the contract clamps it, or it is in what a tool has answered, which is not looked at. */
function isExempt(path: readonly string[]): boolean {
  const [first, , third] = path
  if (first === 'tool_response') return true
  return path.length === 1
    ? first === 'timeout_seconds'
    : path.length === 3 && first === 'items' && third === 'timeout_seconds'
}

/** At least as many values as JSON.parse would make of it: what begins or separates them, outside strings. */
function countValues(body: Buffer): number {
  let count = 0
  let quoted = false
  for (let index = 0; index < body.length; index++) {
    const byte = body[index]
    if (quoted) {
      if (byte === 0x5c) index += 1
      else if (byte === 0x22) quoted = false
    } else if (byte === 0x22) quoted = true
    else if (byte === 0x2c || byte === 0x5b || byte === 0x7b) count += 1
  }
  return count
}
