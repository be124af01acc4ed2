// What an agent asks for, and what is computed from all of it.
import type { ActorOf } from '../core/actor.js'
import { canonicalOf, digestOf, fingerprintOf } from '../core/digest.js'
import type { Submission } from '../core/model.js'
import { bytesOf } from '../core/weight.js'
import { defaultTimeout, timeoutWithin } from '../policy/risk.js'
import type { Authority } from './budget.js'

/** How long it may wait is the rule's to say. */
export interface Asked {
  submission: Omit<Submission, 'timeoutSeconds'> & { timeoutSeconds: number | null }
  /** The caller's Idempotency-Key, if there is one. */
  key: string | null
  /** Has the requester's name. */
  by: Requester
  authority: Authority
  /** Of a large one, from the thread that read it; null: computed when it is needed. */
  computed: Computed | null
  /**
   * A call of a tool, which its agent makes again as it was to learn what came of it: so the same again is the same request
   * while that is pending, and its approval while nobody has claimed that; and no person is asked again who denied it.
   */
  isCall?: boolean
}

/** Who submits. */
export type Requester = ActorOf<'person' | 'agent' | 'local' | 'anyone'>

export interface Computed {
  digest: string
  fingerprint: string
  bytes: number
}

export function compute({ submission, key }: Pick<Asked, 'submission' | 'key'>): Computed {
  const whole = asAsked(submission)
  const details = canonicalOf(whole)
  return { digest: digestOf(whole, details), fingerprint: fingerprintOf(whole, details), bytes: bytesOf(whole, key) }
}

/** What was asked for, whatever the rules make of it: they may change before it is asked again. */
export function asAsked(asked: Asked['submission']): Submission {
  return { ...asked, timeoutSeconds: timeoutWithin(asked.timeoutSeconds, defaultTimeout) }
}
