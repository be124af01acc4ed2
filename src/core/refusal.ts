// The closed list of reasons to say no. A refusal is a value: the caller did something that cannot be granted.

export const refusalCodes = [
  'not_found',
  'unauthorized',
  'forbidden',
  'not_yours',
  'own_request',
  'not_a_decider',
  'already_voted',
  'reason_required',
  'typing_required',
  'invalid_choice',
  'link_used',
  'denied_before',
  'too_many_open',
  'not_whitelistable',
  'name_taken',
  'key_not_live',
  'instance_deleted',
  'credential_lost',
  'guess_limited',
  'already_resolved',
  'not_approved',
  'approval_expired',
  'digest_mismatch',
  'digest_required',
  'already_claimed',
  'not_claimed',
  'already_reported',
  'key_reused',
  'callback_refused',
  'rate_limited',
  'disk_limited',
  'session_suspended',
  'circuit_open',
  'ambiguous_session',
  'ambiguous_id',
  'high_risk',
  'no_session',
  'no_requester',
  'unclear_action',
  'whitelist_full',
  'details_too_long',
  'invalid_cursor',
  'contended',
] as const
export type RefusalCode = (typeof refusalCodes)[number]

export interface Refusal {
  refused: RefusalCode
  /** One sentence for the caller: what is wrong and what to do next. */
  sentence: string
  /** Fields that belong into the answer beside the sentence. */
  extra: Record<string, unknown>
}

export function refuse(refused: RefusalCode, sentence: string): Refusal
export function refuse<E extends Record<string, unknown>>(
  refused: RefusalCode,
  sentence: string,
  extra: E,
): Refusal & { extra: E }
export function refuse(refused: RefusalCode, sentence: string, extra: Record<string, unknown> = {}): Refusal {
  return { refused, sentence, extra }
}

export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}
