// A link in a message: it lets one recipient decide one confirmation, once. Of its token only the hash is kept.
import type { Recipient } from '../core/actor.js'
import type { ChannelName } from '../core/model.js'

export interface Link {
  hash: string
  version: number
  confirmationId: string
  recipient: Recipient
  channel: ChannelName
  createdAt: number
  usedAt: number | null
}
