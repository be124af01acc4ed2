// Actors for tests, and an event that says nothing.
import type { NewEvent } from '../src/audit/event.js'
import type { ActorOf } from '../src/core/actor.js'

export const person = (name: string): ActorOf<'person'> => ({ kind: 'person', name })
export const agent = (name: string): ActorOf<'agent'> => ({ kind: 'agent', name })
export const anyone = (name: string): ActorOf<'anyone'> => ({ kind: 'anyone', name })
export const chatLink = (id: string): ActorOf<'link'> => ({
  kind: 'link',
  recipient: { kind: 'chat', channel: 'telegram', id },
})

/** What the owner of the database does. */
export const locally = { actor: { kind: 'local' }, via: 'local' } as const

/** `text` is as long as the event should be. */
export function someEvent(at: number, confirmationId: string | null = null, text = ''): NewEvent {
  const data = { rules: 0, sha256: text }
  return { type: 'rules_loaded', at, actor: { kind: 'system', part: 'rules' }, via: 'system', confirmationId, data }
}
