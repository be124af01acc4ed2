// Many at once: /confirm/batch for agents, /decisions for operators. Each gets the answer it would have had alone.
import { isRefusal, type Refusal } from '../core/refusal.js'
import type { Approver } from '../service/decide.js'
import { type Authority, authorityOf } from '../service/settle.js'
import type { Service } from '../service/service.js'
import type { Asked } from '../service/asked.js'
import type { Submitted } from '../service/submit.js'
import type { Api } from './api.js'
import { granted, Problem, problemOf, problemResult, toProblem } from './errors.js'
import type { CountAs } from './flood.js'
import * as answers from './answers.js'
import { madeOf } from './large-body.js'
import { problemFrom } from './reading.js'
import * as requests from './requests.js'
import { isSettledAtOnce, itemProblem, readItem, readKey } from './submission.js'
import { decisionView, firstView, heldView } from './view.js'
import { approverOf, textOrNull } from './voter.js'

interface Result {
  id?: string
  status_code: number
  body: Record<string, unknown>
  replayed?: boolean
}

/** `countAs` counts a request as so many. */
export function batchRoutes(app: Api, service: Service, countAs: CountAs): void {
  app.post(
    '/confirm/batch',
    {
      config: { needs: 'submit', reads: 'batch' },
      schema: {
        operationId: 'submitBatch',
        tag: 'confirmations',
        summary: 'Ask for many confirmations at once',
        description: 'In one commit; each is judged by itself.',
        known: requests.keyHeaders,
        body: requests.batchBody,
        response: { 200: answers.submissionResults },
      },
    },
    async (request) => {
      const { id: requestId, body, headers, caller } = request
      const made = madeOf(request, 'batch')
      countAs(request, (made ?? body.items).length)
      const batchKey = readKey(headers)
      const read =
        made?.map((one) => ('code' in one ? problemFrom(one) : one)) ??
        body.items.map((item, index) => readItem(item, index, batchKey, caller))
      const asked = read.filter((one): one is Asked => !(one instanceof Problem))
      const answers = asked.length === 0 ? [] : granted(await service.submitAll(asked, 'http'))
      const results = read.map((one) =>
        resultOf(one instanceof Problem ? one : answers[asked.indexOf(one)]!, requestId),
      )
      return { count: results.length, results }
    },
  )

  app.post(
    '/decisions',
    {
      config: { needs: 'decide' },
      schema: {
        operationId: 'decideBatch',
        tag: 'decisions',
        summary: 'Approve and deny many at once',
        body: requests.decisionsBody,
        response: { 200: answers.decisionResults },
      },
    },
    async (request) => {
      const { id: requestId, body, caller } = request
      countAs(request, body.decisions.length)
      const approver = approverOf(caller, body.decided_by)
      const decided = await Promise.allSettled(
        body.decisions.map((item) => decideOne(item, approver, authorityOf(caller), requestId)),
      )
      const [first] = decided
      // What went wrong for all of them is an answer to the request; else some stand, and must be told.
      if (first?.status === 'rejected' && decided.every(({ status }) => status === 'rejected')) throw first.reason
      const results = decided.map((one, index): Result => {
        if (one.status === 'fulfilled') return one.value
        const { id } = body.decisions[index] as { id: string }
        return { id, ...problemResult(toProblem(one.reason as Error), requestId) }
      })
      return { count: results.length, results }
    },
  )

  async function decideOne(
    item: unknown,
    approver: Approver,
    authority: Authority,
    requestId: string,
  ): Promise<Result> {
    const read = requests.decision.safeParse(item)
    if (!read.success) {
      const id = idOf(item)
      return { ...(id === undefined ? {} : { id }), ...problemResult(itemProblem(read.error), requestId) }
    }
    const { id, verdict, reason, typed_action } = read.data
    const typed = typed_action ?? null
    const decision = {
      verdict,
      reason: textOrNull(reason),
      remember: null,
      typed,
      approver,
      authority,
      via: 'http' as const,
    }
    const result = await service.decide(id, decision)
    if (isRefusal(result)) return { id, ...problemResult(problemOf(result), requestId) }
    return { id, status_code: 200, body: decisionView(result.confirmation) }
  }
}

function resultOf(answer: Submitted | Refusal | Problem, requestId: string): Result {
  if (answer instanceof Problem) return problemResult(answer, requestId)
  if (isRefusal(answer)) return problemResult(problemOf(answer), requestId)
  const { confirmation, isReplay, session } = answer
  const replayed = isReplay ? { replayed: true } : {}
  if (!isSettledAtOnce(confirmation))
    return { status_code: 202, body: heldView({ ...confirmation, session }), ...replayed }
  return { status_code: 200, body: firstView(confirmation, session), ...replayed }
}

function idOf(item: unknown): string | undefined {
  const { id } = (item ?? {}) as { id?: unknown }
  return typeof id === 'string' ? id : undefined
}
