// What each tool does, with the client: asks, waits, claims, reports, withdraws.
import { type ApprovalRequest, type Confirmation, Aborted, type Holdpoint } from '../client/index.js'
import { readAsk } from '../client/ask.js'
import { frozenCopy } from '../client/json.js'
import { pathOf, withoutUndefined } from '../client/operator.js'
import { approved, claimed, done, failed, misused, pending, type Result, resultOf } from './said.js'
import type { Arguments, ToolName } from './tools.js'

export interface Pace {
  /** So long a call takes while nobody answers: most hosts bear a minute. */
  holdMs: number
  /** So often a host is told that it goes on, which some take for a reason to wait on. */
  progressMs: number
  /** So long the service may be away before that is said. */
  awayMs: number
  /** So long a permission prompt waits whose host is told that it goes on: as a hook does. */
  promptMs: number
}

export const usualPace: Pace = { holdMs: 50_000, progressMs: 15_000, awayMs: 10_000, promptMs: 600_000 }

export interface Surroundings {
  /** Who speaks to the service, as the caller. */
  holdpoint: Holdpoint
  pace?: Partial<Pace> | undefined
  /** Of what says no other. */
  sessionKey?: string | undefined
  /** Ends what is held, with what there is: the service closes. */
  closing?: AbortSignal | undefined
  /** What was brought is not to be kept while it is waited for. */
  isLarge?: boolean | undefined
}

/** What a call brings beside its arguments. */
export interface Call {
  /** The host gave it up, or is gone. */
  signal: AbortSignal
  /** When it came, on the clock of `performance`. */
  began: number
  /** Null: the host did not ask to be told. */
  progress: ((seconds: number) => void) | null
  /** Nothing is waited for: the answer may come as a task. */
  asTask: boolean
}

/** What a hook is answered; there may be none in it. */
interface HookAnswer {
  hookSpecificOutput?: { permissionDecision?: unknown; permissionDecisionReason?: unknown }
}

/** In place of a result: it goes on, and is asked for by the id of the confirmation. */
export interface Task {
  task: Confirmation
}

export function isTask(answer: Result | Task): answer is Task {
  return 'task' in answer
}

type Acts = { [N in ToolName]: (given: Arguments<N>, call: Call) => Promise<Result | Task> }

export function createActs(around: Surroundings): Acts {
  const { holdpoint, closing, isLarge = false } = around
  const pace = { ...usualPace, ...around.pace }
  const { awayMs } = pace

  const read = async (id: string) => (await holdpoint.call<Confirmation>('GET', pathOf(id))).body

  /** What it comes to, and null where the call takes too long, or the service closes. */
  async function within<T>({ signal, began }: Call, forMs: number, wait: (over: AbortSignal) => Promise<T>) {
    const over = new AbortController()
    const end = () => over.abort()
    const ends = closing === undefined ? [signal] : [signal, closing]
    for (const one of ends) one.addEventListener('abort', end)
    if (ends.some(({ aborted }) => aborted)) end()
    const timer = setTimeout(end, Math.max(0, began + forMs - performance.now()))
    try {
      return await wait(over.signal)
    } catch (error) {
      if (error instanceof Aborted && !signal.aborted) return null
      throw error
    } finally {
      clearTimeout(timer)
      for (const one of ends) one.removeEventListener('abort', end)
    }
  }

  /** Meanwhile the host is told that it goes on. */
  function told<A, R>(act: (given: A, call: Call) => Promise<R>) {
    return async (given: A, call: Call): Promise<R> => {
      const { began, progress } = call
      const tell = () => progress?.(Math.round((performance.now() - began) / 1000))
      const ticking = progress === null ? undefined : setInterval(tell, pace.progressMs)
      try {
        return await act(given, call)
      } finally {
        clearInterval(ticking)
      }
    }
  }

  async function answerOf(of: ApprovalRequest | string, call: Call): Promise<Result> {
    const id = typeof of === 'string' ? of : of.id
    try {
      const wait = (signal: AbortSignal) => holdpoint.wait(of, { signal, deadlineMs: awayMs })
      const record = await within(call, pace.holdMs, wait)
      return resultOf(record === null ? pending(id) : approved(record))
    } catch (error) {
      return failed(error, id)
    }
  }

  async function request_approval(given: Arguments<'request_approval'>, call: Call): Promise<Result | Task> {
    const { action, description, details, session_key, on_behalf_of, timeout_seconds, idempotency_key } = given
    // Not the signal: whoever hangs up has withdrawn nothing.
    const request = await holdpoint.request({
      action,
      description,
      details,
      sessionKey: session_key ?? around.sessionKey,
      onBehalfOf: on_behalf_of,
      timeoutSeconds: timeout_seconds,
      idempotencyKey: idempotency_key,
      deadlineMs: awayMs,
    })
    if (call.asTask && request.status === 'pending') return { task: await read(request.id) }
    if (isLarge && request.status === 'pending') return resultOf(pending(request.id))
    return answerOf(request, call)
  }

  async function wait_for_decision({ id }: Arguments<'wait_for_decision'>, call: Call): Promise<Result | Task> {
    if (isLarge) return misused('This is too large for a call that waits: send the id and nothing else.')
    const record = call.asTask ? await read(id) : null
    return record?.status === 'pending' ? { task: record } : answerOf(id, call)
  }

  async function claim_approval(given: Arguments<'claim_approval'>, { signal }: Call): Promise<Result> {
    const { id, action, details, session_key, on_behalf_of } = given
    // As it is read when it is asked for; what stands on record is left to the service to compare.
    const asked = readAsk({
      action,
      description: action,
      details,
      sessionKey: session_key ?? around.sessionKey,
      onBehalfOf: on_behalf_of,
    })
    const { requester, expires_at: expiresAt } = await read(id)
    const request: ApprovalRequest = {
      id,
      action: asked.action,
      details: asked.details,
      onBehalfOf: asked.onBehalfOf,
      requester,
      sessionKey: asked.sessionKey,
      digest: asked.digestFor(requester),
      status: 'pending',
      expiresAt: expiresAt * 1000,
    }
    await holdpoint.claim(request, { signal })
    return resultOf(claimed(id))
  }

  async function report_outcome({ id, outcome, message }: Arguments<'report_outcome'>): Promise<Result> {
    await holdpoint.call('POST', `${pathOf(id)}/report`, { body: withoutUndefined({ outcome, message }) })
    return resultOf(done(id, 'reported'))
  }

  async function cancel_request({ id, reason }: Arguments<'cancel_request'>): Promise<Result> {
    await holdpoint.cancel(id, withoutUndefined({ reason }))
    return resultOf(done(id, 'cancelled'))
  }

  /** As a hook of the same host would ask: made again, the same call is the same request. */
  async function permission_prompt(given: Arguments<'permission_prompt'>, call: Call): Promise<Result> {
    const { tool_name, tool_use_id } = given
    const input = frozenCopy(given.input, 'input')
    if (isLarge) {
      return deny('This is too large to be held here, and was not done. Ask through `holdpoint mcp`, or a hook.')
    }
    const ask = (signal: AbortSignal) =>
      holdpoint.call<HookAnswer | null>('POST', '/hooks/claude-code', {
        query: { timeout: Math.ceil(pace.promptMs / 1000) },
        body: {
          hook_event_name: 'PreToolUse',
          session_id: around.sessionKey,
          tool_name,
          tool_input: input,
          tool_use_id,
        },
        signal,
        timeoutMs: pace.promptMs,
      })
    // What is not told that it goes on gives up sooner.
    const answer = await within(call, call.progress === null ? pace.holdMs : pace.promptMs, ask)
    if (answer === null) return deny(stillPending)
    const { permissionDecision: decision, permissionDecisionReason: reason } = answer.body?.hookSpecificOutput ?? {}
    if (decision === 'allow') return permission({ behavior: 'allow', updatedInput: input })
    return deny(typeof reason === 'string' ? reason : 'What was answered is no decision, so this was not done.')
  }

  return {
    request_approval: told(request_approval),
    wait_for_decision: told(wait_for_decision),
    claim_approval,
    report_outcome,
    cancel_request,
    permission_prompt: told(permission_prompt),
  }
}

const stillPending =
  'Nobody has answered yet, so this was not done. Do not work around it. Do something else meanwhile, then make exactly this ' +
  'call again: that asks nobody anew, and once it is approved it runs.'

export function deny(message: string): Result {
  return permission({ behavior: 'deny', message })
}

/** The one text that the host reads. */
function permission(
  answer: { behavior: 'allow'; updatedInput: object } | { behavior: 'deny'; message: string },
): Result {
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
}
