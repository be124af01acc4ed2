// A request of the Agent Approval Protocol as a confirmation, and a confirmation as its request.
import { canonical } from '../core/canonical.js'
import type { Confirmation, Submission } from '../core/model.js'
import { actionPrefix, toAction } from '../hooks/claude-code.js'
import { readDuration } from './duration.js'

/** One call of a tool, as an adapter proposes it. */
export interface Proposed {
  tool: string
  /** The MCP server that has the tool, by the name that the runtime gives it. Adapters send it apart. */
  server?: string | undefined
  arguments: Record<string, unknown>
  timeout: string
  agent_reasoning?: string | undefined
  context?: Record<string, unknown> | undefined
}

/** What answers repeat, beside the arguments: these are in the details. */
type Put = Omit<Proposed, 'arguments'>

type Described = Pick<Submission, 'action' | 'description' | 'details' | 'sessionKey' | 'aap'> & {
  timeoutSeconds: number | null
}

/** As `/confirm` takes it. */
const maxSessionKey = 1000

/** In the words of a submission. */
export function describe({ arguments: input, ...rest }: Proposed): Described {
  const { timeout, agent_reasoning, context = {} } = rest
  const { session_id: session, cwd } = context
  const folder = typeof cwd === 'string' && cwd !== '' ? { cwd } : {}
  const { action, description } = toAction({ tool: nameInHooks(rest), input, cwd: null })
  return {
    action,
    description: `${description}\n\n${sayWhy(agent_reasoning, context)}`,
    details: JSON.stringify({ tool_input: input, ...folder }),
    sessionKey: typeof session === 'string' && isSessionKey(session) ? session : '',
    timeoutSeconds: readDuration(timeout),
    // Equal however it was written: who sends it again is told apart by that.
    aap: canonical(JSON.parse(JSON.stringify(rest satisfies Put))),
  }
}

/** Whatever else an adapter has in that place is context and no more. */
function isSessionKey(text: string): boolean {
  return text.length <= maxSessionKey && !text.includes('\0') && text.isWellFormed()
}

/**
 * As hosts name the same tool in their hooks, so that one rule is for both. Some adapters say the server in the context: a tool
 * of somebody's server must not pass for one of the host's own, whatever it is called.
 */
function nameInHooks({ tool, server, context }: Pick<Proposed, 'tool' | 'server' | 'context'>): string {
  const whose = server ?? serverIn(context)
  return whose === null ? tool : `mcp__${whose}__${tool}`
}

/** What is no name is a server all the same. */
function serverIn({ mcp_server: server = '' }: Record<string, unknown> = {}): string | null {
  if (server === '') return null
  return typeof server === 'string' ? server : 'unknown'
}

/** A name of an action has so many characters. */
const maxAction = 1000

/** Why this names no action, or null. What each part may be is said elsewhere. */
export function problemWithNames(put: Pick<Proposed, 'tool' | 'server' | 'context'>): string | null {
  const name = nameInHooks(put)
  if (name.includes('\0')) return "Field 'context' has an 'mcp_server' that is no text"
  const isTooLong = actionPrefix.length + name.length > maxAction
  return isTooLong ? `Field 'tool' must have at most ${maxAction} characters, together with its server` : null
}

/** The agent's own words, and the adapter's: no part of what is approved, and different with each call. */
function sayWhy(reasoning: string | undefined, context: Record<string, unknown>): string {
  const why =
    reasoning === undefined || reasoning.trim() === ''
      ? 'The agent gave no reason.'
      : `The agent says:\n${quote(reasoning)}`
  return Object.keys(context).length === 0 ? why : `${why}\n\nIts runtime says: ${canonical(context)}`
}

/** No line of it passes for another's. */
function quote(text: string): string {
  return text.replace(/^/, '> ').replace(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/g, '\n> ')
}

const statuses = {
  pending: 'pending',
  approved: 'approved',
  auto_approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  cancelled: 'cancelled',
} as const

export type Proposal = ReturnType<typeof requestOf>

/** The request as it stands; null: it did not come by this protocol. */
export function findRequest(confirmation: Confirmation): Proposal | null {
  return confirmation.aap === null ? null : requestOf(confirmation, JSON.parse(confirmation.aap) as Put)
}

function requestOf(confirmation: Confirmation, { tool, server, timeout, agent_reasoning, context }: Put) {
  const { tool_input: input } = JSON.parse(confirmation.details) as { tool_input: Record<string, unknown> }
  return {
    id: confirmation.id,
    tool,
    ...(server === undefined ? {} : { server }),
    arguments: input,
    timeout,
    ...(agent_reasoning === undefined ? {} : { agent_reasoning }),
    ...(context === undefined ? {} : { context }),
    status: statuses[confirmation.status],
    created_at: iso(confirmation.createdAt),
    deadline_at: iso(confirmation.deadline),
    ...decisionOf(confirmation),
  }
}

function decisionOf({ status, resolution, execution }: Confirmation) {
  if (resolution === null) return {}
  const { at, reason } = resolution
  return {
    decision: {
      status: statuses[status],
      ...(reason === null ? {} : { note: reason }),
      decided_at: iso(at),
      ...(execution === null ? {} : { expires_at: iso(execution.claimBy) }),
    },
  }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
