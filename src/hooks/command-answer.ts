// What the command form of the hooks has in common: what a host's words become, what the service answers, and how a host is told.
// A host is told an allow only where the service said exactly that.

/** As Claude Code puts it, which is what the service takes from everybody. */
export interface HookBody {
  session_id: string
  cwd?: string
  permission_mode?: string
  hook_event_name: 'PreToolUse' | 'PostToolUse' | 'PostToolUseFailure'
  tool_name: string
  tool_input: Said
  tool_use_id?: string
  agent_id?: string
  /** What went wrong, of a tool that failed. */
  error?: string
}

/** A JSON object as it was parsed. */
export type Said = Readonly<Record<string, unknown>>

/** A call to be decided; an outcome to be told, null where there is none; or why it is neither. */
export type Heard =
  { kind: 'call'; body: HookBody } | { kind: 'outcome'; body: HookBody | null } | { kind: 'unclear'; why: string }

export type Verdict = { isAllowed: boolean; reason: string; id: string | null }

/** What is printed, and the exit code that goes with it. */
export interface Spoken {
  stdout: string
  stderr: string
  code: number
  /** The decision is what is printed and not the exit code, so that unread it would be none. */
  isInWords?: true
}

export interface Host {
  /** Printed before anything is known: the beginning of whatever will be said. */
  opening?: string
  /** `outcome` is what the command line says of one. */
  hear(said: Said, outcome?: string): Heard
  allow(verdict: Verdict): Spoken
  /** The reason is a text that is not empty. Where it cannot be said the one way, the next one is tried. */
  deny(reason: string, id: string | null): [Spoken, ...Spoken[]]
  /** To an outcome, which decides nothing. */
  acknowledge: Spoken
}

export const nothing: Spoken = { stdout: '', stderr: '', code: 0 }

/** Each host takes this for a no. */
export const refusal = (reason: string): Spoken => ({ stdout: '', stderr: `${reason}\n`, code: 2 })

/** What is wrong with the names and types of what every host sends, or the part of the body that it makes. */
export function readTool(said: Said): Omit<HookBody, 'hook_event_name' | 'tool_input'> | { why: string } {
  const { tool_name: name, session_id: session = '', tool_use_id: useId, agent_id: agentId } = said
  if (typeof name !== 'string' || name.trim() === '') return { why: 'It names no tool: tool_name is missing.' }
  if (typeof session !== 'string') return { why: 'Its session_id is no text.' }
  return {
    session_id: session,
    tool_name: name,
    ...textOf('cwd', said.cwd),
    ...textOf('permission_mode', said.permission_mode),
    ...textOf('tool_use_id', useId),
    ...textOf('agent_id', agentId),
  }
}

function textOf<Name extends string>(name: Name, value: unknown): Partial<Record<Name, string>> {
  return typeof value === 'string' && value !== '' ? ({ [name]: value } as Record<Name, string>) : {}
}

/** Longer than anybody reads of an error. */
const maxError = 2000

export function errorOf(value: unknown): { error?: string } {
  return typeof value === 'string' && value !== '' ? { error: value.slice(0, maxError).toWellFormed() } : {}
}

export function isObject(value: unknown): value is Said {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const spoken = ['hookEventName', 'permissionDecision', 'permissionDecisionReason']

/** The service's answer to a call, and the confirmation that it is about. Whatever is not exactly an allow is none. */
export function readVerdict(status: number, body: unknown, id: string | null = null): Verdict {
  const odd: Verdict = { isAllowed: false, reason: 'What Holdpoint answered is no decision.', id }
  if (status !== 200 || !isObject(body) || !isObject(body.hookSpecificOutput)) return odd
  const { hookEventName, permissionDecision, permissionDecisionReason: reason = '' } = body.hookSpecificOutput
  if (hookEventName !== 'PreToolUse' || typeof reason !== 'string') return odd
  if (permissionDecision === 'deny') return { isAllowed: false, reason, id }
  // Another input would be another act; a decision beside this one, or an end, would contradict it.
  const isPlain = Object.keys(body.hookSpecificOutput).every((name) => spoken.includes(name))
  const isAlone = !('decision' in body) && (body.continue ?? true) === true
  return permissionDecision === 'allow' && isPlain && isAlone ? { isAllowed: true, reason, id } : odd
}
