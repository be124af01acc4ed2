// What Claude Code's hooks send before and after each call of a tool, and what they are answered: a call as an action that a
// person can confirm, and every answer as an allow or a deny (pure). Other hosts' hooks are translated to this.
import { sha256 } from '../core/digest.js'
import type { Confirmation } from '../core/model.js'
import { textOf } from '../core/actor.js'
import { asSentence } from '../core/sentence.js'

/** A tool is about to be called; it has been called, and that went well, or did not. */
export const hookEvents = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'] as const
export type HookEvent = (typeof hookEvents)[number]

/** What is done by a tool is an action of this and its name. */
export const actionPrefix = 'tool:'

/** A call of a tool, as the host tells of it. */
export interface ToolCall {
  tool: string
  input: Record<string, unknown>
  /** The folder it is made in, where the host says so. */
  cwd: string | null
}

/** What is approved. */
export interface CallAction {
  action: string
  description: string
  details: Record<string, unknown>
}

/** More of a command, or of whatever else names the act, is for the details. */
const maxShown = 1000

/**
 * What of a call is approved, and shown: the tool, its input and the folder. What is not in it does not count when the call is
 * made again: the number of the call, and what Bash has as `description`, which is the model's own word and does nothing.
 */
export function toAction({ tool, input, cwd }: ToolCall): CallAction {
  const { description: _, ...counted } = input
  const tool_input = tool === 'Bash' ? counted : input
  return {
    action: `${actionPrefix}${tool}`,
    description: describe(tool, tool_input),
    details: { tool_input, ...(cwd === null ? {} : { cwd }) },
  }
}

/** By tool: what it does, and the field of its input that says with what. */
const sentences: Record<string, [does: string, field: string]> = {
  Bash: ['Run in the shell', 'command'],
  PowerShell: ['Run in PowerShell', 'command'],
  Write: ['Write the file', 'file_path'],
  Edit: ['Edit the file', 'file_path'],
  MultiEdit: ['Edit the file', 'file_path'],
  NotebookEdit: ['Edit the notebook', 'notebook_path'],
  Read: ['Read the file', 'file_path'],
  WebFetch: ['Fetch', 'url'],
  WebSearch: ['Search the web for', 'query'],
}

/** One sentence of what would happen. It is made of what is approved alone. */
function describe(tool: string, input: Record<string, unknown>): string {
  const [does, field] = Object.hasOwn(sentences, tool) ? sentences[tool]! : [null, '']
  const what = Object.hasOwn(input, field) ? input[field] : undefined
  if (does !== null && typeof what === 'string' && what.trim() !== '') return `${does}: ${short(what.trim())}`
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? []
  return name === undefined ? `Use the tool ${tool}` : `Use the tool ${name} of the MCP server ${server}`
}

function short(text: string): string {
  // A description holds no NUL.
  const shown = text
    .slice(0, maxShown)
    .replace(/[\ud800-\udbff]$/, '')
    .replaceAll('\0', '\ufffd')
  const left = text.length - shown.length
  return left === 0 ? shown : `${shown}… and ${left} more characters, which are in the details`
}

/** What a host calls one call of a tool, as the name of an act: ids may have any length. */
export function nameOfCall(sessionKey: string, toolUseId: string): string {
  return `tool call ${sha256(JSON.stringify([sessionKey, toolUseId]))}`
}

/** Longer ones come to nothing in a record. */
const maxMessage = 1000

/** How a call failed, as far as the host says. */
export function failureOf(error: unknown): string | null {
  if (typeof error !== 'string' || error.trim() === '') return null
  return error.toWellFormed().replaceAll('\0', '\ufffd').slice(0, maxMessage).toWellFormed()
}

/** What goes back. There is always a decision in the answer to a call: without one the host would decide for itself. */
export interface HookAnswer {
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse'
    permissionDecision: 'allow' | 'deny'
    permissionDecisionReason: string
  }
}

/** After a call there is nothing to decide. */
export const noted: HookAnswer = {}

export function allow({ id, resolution }: Confirmation): HookAnswer {
  const by = resolution === null ? '' : ` by ${textOf(resolution.by)}`
  return answer('allow', `Approved${by}, for this one call (${id}).`)
}

/** What the agent is to make of a confirmation that lets nothing pass. */
export function denyFor({ id, status, resolution }: Confirmation): HookAnswer {
  const by = resolution === null ? '' : textOf(resolution.by)
  const reason = resolution?.reason ?? null
  const because = reason === null ? '' : `, because: ${reason}`
  switch (status) {
    case 'pending':
      return stillPending(id)
    case 'denied':
      return deny(`${by} denied this${because} (${id}). ${isFinal}`)
    case 'cancelled':
      return deny(`The request was withdrawn by ${by}${because} (${id}), so this may not run.`)
    case 'expired':
      return deny(
        `Nobody answered in time: the request ${id} expired, so this may not run. Do not work around it. Tell the ` +
          'person you work for; making exactly this call again asks anew.',
      )
    default:
      return deny(
        `The approval ${id} was used for another call like this, and it is good for one. Making exactly this call again ` +
          'asks anew.',
      )
  }
}

const isFinal =
  "A person's answer is final: do not make this call again, and do not try to get to the same by another way. Tell the " +
  'person you work for.'

function stillPending(id: string): HookAnswer {
  return deny(
    `Still pending, ID ${id}: nobody has answered yet, so this may not run yet. Do not work around it. Do something else ` +
      'meanwhile or wait, then make exactly this call again: that asks nobody anew, and once it is approved it runs.',
  )
}

/** Neither yes nor no is on disk in time. */
export const tooSlow = deny(
  'Holdpoint took too long over this call, so it may not run. Do not work around that. Make exactly this call again later.',
)

/** Something stood against asking, or against what was approved. */
export function denyBecause(code: string, sentence: string): HookAnswer {
  const next = code === 'denied_before' ? isFinal : 'It may not run; do not work around that.'
  return deny(`Holdpoint refused this call (${code}): ${asSentence(sentence)} ${next}`)
}

function deny(reason: string): HookAnswer {
  return answer('deny', reason)
}

function answer(permissionDecision: 'allow' | 'deny', permissionDecisionReason: string): HookAnswer {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason } }
}

/**
 * How long a call waits for a person, and by when it is answered whatever is still under way: what comes when the time of the
 * hook is up is not heard, and then most hosts let the call run.
 */
export function timesWithin(timeoutSeconds: number): { waitMs: number; answerMs: number } {
  const marginMs = Math.min(10_000, Math.max(1000, timeoutSeconds * 100))
  return { waitMs: timeoutSeconds * 1000 - marginMs, answerMs: timeoutSeconds * 1000 - marginMs / 2 }
}
