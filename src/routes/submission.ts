// What was submitted, alone or among many: from the API's words to the service's.
import type { IncomingHttpHeaders } from 'node:http'
import type { z, ZodError } from 'zod'
import { actorOf, type Caller } from '../access/role.js'
import { textOf } from '../core/actor.js'
import type { Approved, Confirmation } from '../core/model.js'
import { authorityOf } from '../service/settle.js'
import { failureOf, nameOfCall, toAction } from '../hooks/claude-code.js'
import { type Asked, compute, type Computed } from '../service/asked.js'
import { Problem, toProblem } from './errors.js'
import { batchItem, type hookBody, problemWithKey, type submitBody } from './requests.js'

/** Who gives no name in open mode: all hooks, because they have none to give. */
export const usualRequester = 'agent'

/** With a key the requester is its owner; another name in the body is no more than a comment. */
export function toAsked(body: z.output<typeof submitBody>, key: string | null, caller: Caller): Asked {
  const given = body.requester
  const by = actorOf(caller, given ?? usualRequester)
  const requester = textOf(by)
  const submission = {
    action: body.action,
    description: body.description,
    details: JSON.stringify(body.details),
    requester,
    sessionKey: body.session_key,
    timeoutSeconds: body.timeout_seconds,
    callbackUrl: body.callback_url ?? null,
    onBehalfOf: body.on_behalf_of ?? null,
    requestedAs: given === undefined || given === requester || given.trim() === '' ? null : given,
    aap: null,
  }
  return { submission, key, by, authority: authorityOf(caller), computed: null }
}

/** What a hook tells of: a call of a tool that is to be made, or how one went. `name` is that of the act. */
export type Told =
  | { kind: 'call'; asked: Asked & { computed: Computed }; name: string | null }
  | { kind: 'outcome'; outcome: 'succeeded' | 'failed'; message: string | null; name: string | null }

export function toTold(body: z.output<typeof hookBody>, caller: Caller): Told {
  const sessionKey = body.session_id ?? ''
  const name = body.tool_use_id ? nameOfCall(sessionKey, body.tool_use_id) : null
  if (body.hook_event_name !== 'PreToolUse') {
    const isFailure = body.hook_event_name === 'PostToolUseFailure'
    const message = isFailure ? failureOf(body.error) : null
    return { kind: 'outcome', outcome: isFailure ? 'failed' : 'succeeded', message, name }
  }
  const { action, description, details } = toAction({
    tool: body.tool_name,
    input: body.tool_input,
    cwd: body.cwd ?? null,
  })
  const by = actorOf(caller, usualRequester)
  const asked: Asked = {
    submission: {
      action,
      description,
      details: JSON.stringify(details),
      requester: textOf(by),
      sessionKey,
      timeoutSeconds: null,
      callbackUrl: null,
      onBehalfOf: null,
      requestedAs: null,
      aap: null,
    },
    key: null,
    by,
    authority: authorityOf(caller),
    computed: null,
    isCall: true,
  }
  return { kind: 'call', asked: { ...asked, computed: compute(asked) }, name }
}

/** The key of a batch is a key for each of its items, by place. */
export function readItem(item: unknown, index: number, batchKey: string | null, caller: Caller): Asked | Problem {
  const read = batchItem.safeParse(item)
  if (!read.success) return itemProblem(read.error)
  const key = read.data.idempotency_key ?? (batchKey === null ? null : `${batchKey} ${index}`)
  return toAsked(read.data, key, caller)
}

/** As alone, but that there the item would have been the body. */
export function itemProblem(error: ZodError): Problem {
  const problem = toProblem(error)
  return problem.code === 'not_json' ? new Problem('not_json', 'Each item must be a JSON object.') : problem
}

/** The Idempotency-Key, which the draft wants in quotes and most clients send without. */
export function readKey(headers: IncomingHttpHeaders): string | null {
  const header = headers['idempotency-key']
  if (header === undefined) return null
  const key = /^"(.*)"$/.exec(String(header))?.[1] ?? String(header)
  const problem = problemWithKey(key)
  if (problem !== null) throw new Problem('invalid_request', `Header 'Idempotency-Key' ${problem}`)
  return key
}

/** Never pending, so that its first answer was its last. */
export function isSettledAtOnce(confirmation: Confirmation): confirmation is Approved {
  return confirmation.status === 'auto_approved'
}
