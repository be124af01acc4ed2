// Links in messages: each lets one recipient decide one confirmation, once. Only hashes are kept.
import { hashSecret } from '../access/key.js'
import type { Link } from '../access/link.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import type { Recipient } from '../core/actor.js'
import type { ChannelName, Confirmation } from '../core/model.js'
import type { Store } from '../store/store.js'

export type Links = ReturnType<typeof createLinks>

/** `chance` gives 256 bits and more as hexadecimal digits. */
export function createLinks(store: Store, clock: Clock, chance: () => string) {
  /** The token of a new link, once its hash is on disk. */
  async function makeLink(confirmation: Confirmation, recipient: Recipient, channel: ChannelName): Promise<string> {
    const token = Buffer.from(chance().slice(0, 64), 'hex').toString('base64url')
    const createdAt = clock.now()
    const record: Link = {
      hash: hashSecret(token),
      version: 1,
      confirmationId: confirmation.id,
      recipient,
      channel,
      createdAt,
      usedAt: null,
    }
    await store.commit({
      writes: [{ kind: 'link', expect: 'absent', record }],
      events: [audit.linked(record, confirmation)],
    })
    return token
  }

  return { makeLink, findLink: (token: string) => store.links.get(hashSecret(token)) }
}
