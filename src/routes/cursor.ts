// Where a listing goes on. A place counts everybody's records, so it is sealed: it tells nothing, cannot be made up, and is
// good for the listing and the caller that it was given to.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type Caller, nameOf } from '../access/role.js'
import type { Cursor } from '../store/store.js'
import { Problem } from './errors.js'

export interface Cursors {
  /** `listing`: what is listed and in which order. */
  write(place: Cursor | null, listing: string, caller: Caller): string | null
  /** Throws a problem for what is not one of these. */
  read(text: string | undefined, listing: string, caller: Caller): Cursor | null
  /** The same for a place that is more than two numbers: any JSON, which is read as it was written. */
  writeJson(place: unknown, listing: string, caller: Caller): string | null
  readJson(text: string | undefined, listing: string, caller: Caller): unknown
}

const cipher = 'aes-256-gcm'
const size = { nonce: 12, place: 16, tag: 16 }

/** `secret`: 64 hexadecimal digits, the same after a restart. */
export function createCursors(secret: string): Cursors {
  const key = Buffer.from(secret, 'hex')
  const scope = (listing: string, caller: Caller) => Buffer.from(`${listing}\0${nameOf(caller) ?? ''}`)

  function seal(plain: Buffer, listing: string, caller: Caller): string {
    const nonce = randomBytes(size.nonce)
    const sealing = createCipheriv(cipher, key, nonce).setAAD(scope(listing, caller))
    return Buffer.concat([nonce, sealing.update(plain), sealing.final(), sealing.getAuthTag()]).toString('base64url')
  }

  function open(text: string, listing: string, caller: Caller): Buffer {
    const bytes = Buffer.from(String(text), 'base64url')
    const end = bytes.length - size.tag
    if (end < size.nonce) throw notOurs()
    const opening = createDecipheriv(cipher, key, bytes.subarray(0, size.nonce))
    opening.setAAD(scope(listing, caller)).setAuthTag(bytes.subarray(end))
    const plain = opening.update(bytes.subarray(size.nonce, end))
    try {
      opening.final()
    } catch {
      throw notOurs()
    }
    return plain
  }

  return {
    write(place, listing, caller) {
      if (place === null) return null
      const plain = Buffer.alloc(size.place)
      place.forEach((number, index) => plain.writeDoubleBE(number, 8 * index))
      return seal(plain, listing, caller)
    },

    read(text, listing, caller) {
      if (text === undefined) return null
      const plain = open(text, listing, caller)
      return [plain.readDoubleBE(0), plain.readDoubleBE(8)]
    },

    writeJson: (place, listing, caller) =>
      place === null ? null : seal(Buffer.from(JSON.stringify(place)), listing, caller),

    readJson: (text, listing, caller) =>
      text === undefined ? null : (JSON.parse(open(text, listing, caller).toString()) as unknown),
  }
}

/** Beyond the last event there is no place to go on after: it belongs to another history. */
export function assertRecorded(after: number, last: number): void {
  if (after <= last) return
  const sentence = `There is no event ${after}; the last one is ${last}. Begin again without it, or after 0.`
  throw new Problem('invalid_cursor', sentence)
}

function notOurs(): Problem {
  const sentence =
    "This cursor is not one of ours, or belongs to another listing; take 'next_cursor' from the last answer."
  return new Problem('invalid_cursor', sentence)
}
