// /confirm: submit, list, read, wait, approve, deny, cancel, claim, report.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { z } from 'zod'
import type { Confirmation } from '../core/model.js'
import { isRefusal } from '../core/refusal.js'
import type { Standing } from '../policy/window.js'
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import { granted } from './errors.js'
import type { Unsent } from './guard.js'
import * as answers from './answers.js'
import * as requests from './requests.js'
import { isSettledAtOnce, readKey, toSubmission } from './submission.js'
import {
  confirmationView,
  firstView,
  foundView,
  grantView,
  type Held,
  heldView,
  readCursor,
  resolutionView,
  settledView,
  writeCursor,
} from './view.js'
import { readWait, whenGone } from './wait.js'

export function confirmRoutes(app: Api, service: Service, unsent: Unsent): void {
  app.post(
    '/confirm',
    {
      schema: {
        summary: 'Ask a person to confirm an action',
        querystring: requests.waitQuery,
        known: requests.submitHeaders,
        body: requests.submitBody,
        response: { 202: answers.submitted, 200: answers.settled },
      },
    },
    async (request, reply) => {
      const waitMs = readWait(request, reply)
      const held = await submit(request, reply)
      if (held.covered !== null && waitMs === 0) return firstView(held.covered)
      if (waitMs === 0) return reply.code(202).send(heldView(held))
      // Whoever waits holds on to nothing large.
      request.body = {} as typeof request.body
      await unsent.reserve(reply, await service.wait(held.id, waitMs, whenGone(reply)))
      const { confirmation } = granted(await service.findInTurn(held.id))
      if (confirmation.resolution !== null) return settledView(confirmation)
      return reply.code(202).send(heldView(held))
    },
  )

  /** Submits, and says how this action stands; keeps what an answer needs. */
  async function submit(
    { body, headers }: { body: z.output<typeof requests.submitBody>; headers: IncomingHttpHeaders },
    reply: FastifyReply,
  ): Promise<Held & { covered: Confirmation | null }> {
    const result = await service.submit({ submission: toSubmission(body), key: readKey(headers) }, 'http')
    if (isRefusal(result) && result.refused === 'rate_limited') {
      const seconds = Number(result.extra.retry_after_seconds)
      announceRate(reply, service, { allowed: false, remaining: 0, resetMs: seconds * 1000 })
    }
    const { confirmation, rate, isReplay } = granted(result)
    announceRate(reply, service, rate)
    if (isReplay) void reply.header('idempotency-replayed', 'true')
    const { id, action, timeoutSeconds, deadline, digest } = confirmation
    return {
      id,
      action,
      timeoutSeconds,
      deadline,
      digest,
      covered: isSettledAtOnce(confirmation) ? confirmation : null,
    }
  }

  app.get(
    '/confirm',
    {
      schema: {
        summary: 'List confirmations, what waits for a person first of all',
        querystring: requests.listQuery,
        response: { 200: answers.confirmationPage },
      },
    },
    async ({ query }) => {
      const { status, action, session_key, limit, cursor } = query
      const order = status === 'pending' ? 'deadline' : 'newest'
      const page = await service.list({ status, action, sessionKey: session_key }, order, limit, readCursor(cursor))
      const confirmations = page.items.map(confirmationView)
      return { count: confirmations.length, confirmations, next_cursor: writeCursor(page.next) }
    },
  )

  app.get(
    '/confirm/:id',
    {
      schema: {
        summary: 'Read a confirmation, or wait for its end',
        params: requests.idParams,
        querystring: requests.waitQuery,
        known: requests.waitHeaders,
        response: { 200: answers.confirmation },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const waitMs = readWait(request, reply)
      if (waitMs === 0) return foundView(granted(await service.find(id)))
      await unsent.reserve(reply, await service.wait(id, waitMs, whenGone(reply)))
      return foundView(granted(await service.findInTurn(id)))
    },
  )

  app.post(
    '/confirm/:id/approve',
    {
      schema: {
        summary: 'Approve',
        params: requests.idParams,
        body: requests.approveBody,
        response: { 200: answers.resolved },
      },
    },
    async ({ params, body }) => {
      const { approver, reason, remember } = body ?? {}
      const verdict = {
        outcome: 'approved' as const,
        by: nameOr(approver, 'api'),
        reason: textOrNull(reason),
        remember: remember ?? null,
      }
      const { confirmation, grant } = granted(await service.decide(params.id, verdict, 'http'))
      return { ...resolutionView(confirmation), ...(grant === null ? {} : { grant: grantView(grant) }) }
    },
  )

  app.post(
    '/confirm/:id/deny',
    {
      schema: {
        summary: 'Deny',
        params: requests.idParams,
        body: requests.denyBody,
        response: { 200: answers.resolved },
      },
    },
    async ({ params, body }) => {
      const { denier, reason } = body ?? {}
      const verdict = {
        outcome: 'denied' as const,
        by: nameOr(denier, 'api'),
        reason: textOrNull(reason),
        remember: null,
      }
      const { confirmation } = granted(await service.decide(params.id, verdict, 'http'))
      return resolutionView(confirmation)
    },
  )

  app.post(
    '/confirm/:id/cancel',
    {
      schema: {
        summary: 'Withdraw the request: the agent changed its mind',
        params: requests.idParams,
        body: requests.cancelBody,
        response: { 200: answers.resolved },
      },
    },
    async ({ params, body }) => {
      const { cancelled_by, reason } = body ?? {}
      const by = cancelled_by === undefined ? null : nameOr(cancelled_by, 'api')
      const { confirmation } = granted(await service.cancel(params.id, by, textOrNull(reason), 'http'))
      return resolutionView(confirmation)
    },
  )

  app.post(
    '/confirm/:id/claim',
    {
      schema: {
        summary: 'The last gate before acting: passes once, for what was approved',
        params: requests.idParams,
        body: requests.claimBody,
        response: { 200: answers.executed },
      },
    },
    async ({ params, body }) => {
      const { confirmation } = granted(await service.claim(params.id, body?.digest ?? null, 'http'))
      return confirmationView(confirmation)
    },
  )

  app.post(
    '/confirm/:id/report',
    {
      schema: {
        summary: 'Say how the act went, which closes the record',
        params: requests.idParams,
        body: requests.reportBody,
        response: { 200: answers.executed },
      },
    },
    async ({ params, body }) => {
      const message = textOrNull(body.message)
      const { confirmation } = granted(await service.report(params.id, body.outcome, message, 'http'))
      return confirmationView(confirmation)
    },
  )
}

/** draft-ietf-httpapi-ratelimit-headers: the policy, and how this action stands. */
function announceRate(reply: FastifyReply, { rateLimit }: Service, { remaining, resetMs }: Standing): void {
  void reply.header('ratelimit-policy', `"action";q=${rateLimit.max};w=${rateLimit.windowMs / 1000}`)
  void reply.header('ratelimit', `"action";r=${remaining};t=${Math.max(0, Math.ceil(resetMs / 1000))}`)
}

function nameOr(name: string | undefined, fallback: string): string {
  return name?.trim() || fallback
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined || text.trim() === '' ? null : text
}
