// Where Discord sends presses to us: each proves by its signature, over the body as it came, that it comes from Discord.
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Hearing, Incoming, Outgoing } from './chat.js'
import {
  createInteractions,
  type InteractionDeps,
  nothingToSay,
  offerCommands,
  type SetHeard,
} from './discord-interactions.js'
import { readFields } from './fields.js'

/** The time is signed, too: so an old request is none. */
const maxAgeMs = 5 * 60_000
/** Our own clock may be a little behind. */
const maxAheadMs = 60_000

const ping = 1
const pong = { type: 1 }

export function listenAtEndpoint({
  publicKey,
  setHeard,
  ...deps
}: InteractionDeps & { publicKey: string; setHeard: SetHeard }): Hearing {
  const { ears } = deps
  const key = publicKeyOf(publicKey)
  const interactions = createInteractions(deps, maxAgeMs + maxAheadMs)
  const offering = offerCommands({ ...deps, setHeard }, publicKey)
  return {
    async stop(graceMs) {
      offering.stop()
      await interactions.stop(graceMs)
    },
    async receive({ headers, body }) {
      if (!isSigned(headers, body, key, ears.clock.now())) return { status: 401, body: null }
      const interaction = readFields(body.toString())
      if (interaction?.type === ping) return { status: 200, body: pong }
      return new Promise<Outgoing>((resolve) => {
        const taken = interactions.take(interaction ?? {}, async (first) => resolve({ status: 200, body: first }))
        if (taken === 'malformed') resolve({ status: 400, body: null })
        // It is answered, so that nobody sends it again, and does nothing.
        if (taken === 'known') resolve({ status: 200, body: nothingToSay })
      })
    },
  }
}

/** Discord gives the key alone; what stands before it says that it is one for Ed25519. */
function publicKeyOf(hex: string): KeyObject {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(hex, 'hex')])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

function isSigned(headers: Incoming['headers'], body: Buffer, key: KeyObject, now: number): boolean {
  const { 'x-signature-ed25519': signature, 'x-signature-timestamp': timestamp } = headers
  if (typeof signature !== 'string' || !/^[0-9a-f]{128}$/i.test(signature)) return false
  if (typeof timestamp !== 'string' || !/^\d{1,12}$/.test(timestamp)) return false
  const age = now - Number(timestamp) * 1000
  if (age > maxAgeMs || age < -maxAheadMs) return false
  return verify(null, Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'hex'))
}
