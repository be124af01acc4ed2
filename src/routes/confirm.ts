// /confirm: submit, list, read, approve, deny, cancel.
import type { FastifyReply } from 'fastify'
import type { Standing } from '../policy/window.js'
import type { Service } from '../service.js'
import type { Api } from './api.js'
import { granted } from './errors.js'
import * as schemas from './schemas.js'
import { confirmationView, deliveryView, grantView, iso, readCursor, resolutionView, writeCursor } from './view.js'

export function confirmRoutes(app: Api, service: Service): void {
  app.post(
    '/confirm',
    {
      schema: {
        summary: 'Ask a person to confirm an action',
        body: schemas.submitBody,
        response: { 202: schemas.submitted, 200: schemas.autoApproved },
      },
    },
    async (request, reply) => {
      const { action, description, details, requester, session_key, timeout_seconds } = request.body
      const submission = {
        action,
        description,
        details: JSON.stringify(details),
        requester,
        sessionKey: session_key,
        timeoutSeconds: timeout_seconds,
      }
      const result = await service.submit(submission, 'http')
      if ('refused' in result && result.refused === 'rate_limited') {
        const seconds = Number(result.extra.retry_after_seconds)
        announceRate(reply, service, { allowed: false, remaining: 0, resetMs: seconds * 1000 })
      }
      const { confirmation, rate } = granted(result)
      announceRate(reply, service, rate)
      const { id } = confirmation
      if (confirmation.resolution !== null) {
        return {
          id,
          action,
          status: 'auto_approved' as const,
          message: 'A whitelist entry covers this action; go ahead.',
        }
      }
      return reply.code(202).send({
        id,
        action,
        status: 'pending' as const,
        timeout_seconds: confirmation.timeoutSeconds,
        message: `Waiting for a person to approve or deny this; it expires in ${confirmation.timeoutSeconds} s.`,
        approve_url: `/confirm/${id}/approve`,
        deny_url: `/confirm/${id}/deny`,
        expires_at: confirmation.deadline / 1000,
        expires_at_iso: iso(confirmation.deadline),
      })
    },
  )

  app.get(
    '/confirm',
    {
      schema: {
        summary: 'List confirmations, what waits for a person first of all',
        querystring: schemas.listQuery,
        response: { 200: schemas.confirmationPage },
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
      schema: { summary: 'Read a confirmation', params: schemas.idParams, response: { 200: schemas.confirmation } },
    },
    async ({ params }) => {
      const { confirmation, deliveries } = granted(await service.find(params.id))
      return { ...confirmationView(confirmation), deliveries: deliveries.map(deliveryView) }
    },
  )

  app.post(
    '/confirm/:id/approve',
    {
      schema: {
        summary: 'Approve',
        params: schemas.idParams,
        body: schemas.approveBody,
        response: { 200: schemas.resolved },
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
        params: schemas.idParams,
        body: schemas.denyBody,
        response: { 200: schemas.resolved },
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
        params: schemas.idParams,
        body: schemas.cancelBody,
        response: { 200: schemas.resolved },
      },
    },
    async ({ params, body }) => {
      const { cancelled_by, reason } = body ?? {}
      const by = cancelled_by === undefined ? null : nameOr(cancelled_by, 'api')
      const { confirmation } = granted(await service.cancel(params.id, by, textOrNull(reason), 'http'))
      return resolutionView(confirmation)
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
