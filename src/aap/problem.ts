// Errors as the Agent Approval Protocol has them: a type that goes with the status, and a code.

export const errorTypes = [
  'invalid_request',
  'authentication',
  'authorization',
  'not_found',
  'conflict',
  'rate_limit',
  'dependency',
  'internal',
] as const
export type ErrorType = (typeof errorTypes)[number]

/** Where the protocol has another status or another word for one of our codes. */
const others: Record<string, { status?: number; code?: string }> = {
  key_reused: { status: 409, code: 'idempotency_conflict' },
  already_resolved: { code: 'already_terminal' },
  session_suspended: { status: 403 },
  // An approval that is not handed out: reading it knows no conflict.
  approval_expired: { status: 403 },
  digest_mismatch: { status: 403 },
  already_claimed: { status: 403 },
}

const typesByStatus: Record<number, ErrorType> = {
  401: 'authentication',
  403: 'authorization',
  404: 'not_found',
  409: 'conflict',
  429: 'rate_limit',
  500: 'internal',
  503: 'dependency',
}

/** What is wrong with a request in another way has a status that the protocol does not know, and is an invalid request. */
export function inProtocol(code: string, status: number): { status: number; type: ErrorType; code: string } {
  const other = others[code] ?? {}
  const own = other.status ?? status
  return { status: own, type: typesByStatus[own] ?? 'invalid_request', code: other.code ?? code }
}

/** The field that a sentence is about: ours name it first. */
export function paramIn(sentence: string): string | null {
  return /^(?:Field|Header|Query parameter) '([^']+)'/.exec(sentence)?.[1] ?? null
}

/** Whether the path is one of the protocol's. */
export function isAapPath(path: string): boolean {
  return /^\/aap(?:[/?]|$)/.test(path)
}
