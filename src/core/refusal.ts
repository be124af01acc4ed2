// The closed list of reasons to say no. A refusal is a value: the caller did something that cannot be granted.

export const refusalCodes = [
  'not_found',
  'already_resolved',
  'not_approved',
  'approval_expired',
  'digest_mismatch',
  'already_claimed',
  'not_claimed',
  'already_reported',
  'key_reused',
  'callback_refused',
  'rate_limited',
  'high_risk',
  'no_session',
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

export function refuse(refused: RefusalCode, sentence: string, extra: Record<string, unknown> = {}): Refusal {
  return { refused, sentence, extra }
}

export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}
