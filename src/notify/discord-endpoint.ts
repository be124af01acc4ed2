// Where Discord sends presses to us: each proves by its signature, over the body as it came, that it comes from Discord.
import type { Hearing, Outgoing } from './chat.js'
import {
  createInteractions,
  type InteractionDeps,
  nothingToSay,
  offerCommands,
  type SetHeard,
} from './discord-interactions.js'
import { isSigned, maxAgeMs, maxAheadMs, publicKeyOf } from './discord-signature.js'
import { readFields } from './fields.js'

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
    async receive(request) {
      if (!isSigned(request, key, ears.clock.now())) return { status: 401, body: null }
      const interaction = readFields(request.body.toString())
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
