// What Holdpoint keeps: a confirmation, how it was resolved, and the deliveries that announced it.

export const outcomes = ['approved', 'denied', 'expired', 'cancelled', 'auto_approved'] as const
export type Outcome = (typeof outcomes)[number]

export const statuses = ['pending', ...outcomes] as const
export type Status = (typeof statuses)[number]

/** Where an event came from: the channel a person, an agent or the service itself acted through. */
export type Via = 'http' | 'whitelist' | 'system' | ChannelName

export interface Resolution {
  status: Outcome
  by: string
  at: number
  via: Via
  reason: string | null
}

/** A confirmation is pending exactly while it has no resolution. */
export interface Confirmation {
  id: string
  version: number
  action: string
  description: string
  /** JSON text of an object. */
  details: string
  requester: string
  sessionKey: string
  timeoutSeconds: number
  createdAt: number
  deadline: number
  resolution: Resolution | null
}

export const channelNames = ['telegram', 'discord', 'log'] as const
export type ChannelName = (typeof channelNames)[number]

/**
 * One confirmation's way through one channel. `queued` and `retrying` have a `nextAt`; the rest are final:
 * `sent`, `failed` (the channel refused for good), `superseded` (another channel took it),
 * `dropped` (the confirmation was resolved first).
 */
export const deliveryStates = ['queued', 'retrying', 'sent', 'failed', 'superseded', 'dropped'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export interface Delivery {
  confirmationId: string
  channel: ChannelName
  version: number
  state: DeliveryState
  attempts: number
  nextAt: number | null
  updatedAt: number
  error: string | null
}
