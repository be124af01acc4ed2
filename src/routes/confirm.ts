// /confirm: submit, list, read, wait, approve, deny, cancel, claim, report.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { z } from 'zod'
import { type Caller, nameOf } from '../access/role.js'
import type { Approved } from '../core/model.js'
import { isRefusal, type Refusal } from '../core/refusal.js'
import type { Quota, RateLimit } from '../policy/window.js'
import type { Acted, Remember } from '../service/decide.js'
import { isPendingAlone } from '../service/read.js'
import { authorityOf } from '../service/settle.js'
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import { granted } from './errors.js'
import type { Auth } from './auth.js'
import type { Cursors } from './cursor.js'
import { reserveRoom } from './answer-room.js'
import { letGo, madeOf } from './large-body.js'
import type { Shares } from './shares.js'
import * as answers from './answers.js'
import * as requests from './requests.js'
import { isSettledAtOnce, readKey, toAsked } from './submission.js'
import { approverOf, nameOr, textOrNull } from './voter.js'
import {
  confirmationView,
  decisionView,
  firstView,
  foundView,
  grantView,
  type Held,
  heldView,
  settledView,
} from './view.js'
import { assertHeld, hold, readWait, whenGone } from './wait.js'

export function confirmRoutes(app: Api, service: Service, auth: Auth, shares: Shares, cursors: Cursors): void {
  app.post(
    '/confirm',
    {
      config: { needs: 'submit', reads: 'submission' },
      schema: {
        operationId: 'submitConfirmation',
        tag: 'confirmations',
        summary: 'Ask a person to confirm an action',
        description: 'Answers as soon as the request is on disk or, with `wait`, once it is resolved.',
        querystring: requests.waitQuery,
        known: requests.submitHeaders,
        body: requests.submitBody,
        response: { 202: answers.held, 200: answers.settled },
        sends: ['Idempotency-Replayed', 'Preference-Applied', 'RateLimit', 'RateLimit-Policy'],
        problems: answers.submissionProblems,
      },
    },
    async (request, reply) => {
      let waitMs = readWait(request, reply)
      const held = await submit(request, reply)
      // What is submitted cannot be refused any more; it can be answered at once.
      if (waitMs > 0 && hold(shares, reply) !== 'held') {
        waitMs = 0
        void reply.removeHeader('preference-applied')
      }
      if (held.covered !== null && waitMs === 0) return firstView(held.covered, held.session)
      if (waitMs === 0) return reply.code(202).send(heldView(held))
      letGo(request)
      await reserveRoom(shares, reply, await service.wait(held.id, waitMs, request.caller, whenGone(reply)))
      auth.assertStillGood(request)
      const { confirmation } = granted(await service.findInTurn(held.id, request.caller))
      if (confirmation.status !== 'pending') return settledView(confirmation, held.session)
      return reply.code(202).send(heldView(held))
    },
  )

  /** Submits, and says how this action stands; keeps what an answer needs. */
  async function submit(request: Submitting, reply: FastifyReply): Promise<Held & { covered: Approved | null }> {
    const { body, headers, caller } = request
    const key = readKey(headers)
    const result = await service.submit(madeOf(request, 'submission') ?? toAsked(body, key, caller), 'http')
    if (isRefusal(result) && result.refused === 'rate_limited') {
      const { max, window_seconds: seconds, retry_after_seconds: wait } = result.extra as Record<string, number>
      announceRate(reply, { max: max!, windowMs: seconds! * 1000, remaining: 0, resetMs: wait! * 1000 }, caller)
    }
    const { confirmation, rate, isReplay, session } = granted(result)
    announceRate(reply, rate, caller)
    if (isReplay) void reply.header('idempotency-replayed', 'true')
    const { id, action, timeoutSeconds, deadline, digest, requester } = confirmation
    return {
      id,
      action,
      timeoutSeconds,
      deadline,
      digest,
      requester,
      session,
      covered: isSettledAtOnce(confirmation) ? confirmation : null,
    }
  }

  app.get(
    '/confirm',
    {
      config: { needs: 'read' },
      schema: {
        operationId: 'listConfirmations',
        tag: 'confirmations',
        summary: 'List confirmations',
        description: 'An agent sees its own.',
        querystring: requests.listQuery,
        response: { 200: answers.confirmationPage },
      },
    },
    async ({ query, caller }) => {
      const { status, action, session_key, limit, cursor } = query
      const order = isPendingAlone({ statuses: status }) ? 'deadline' : 'newest'
      const wanted = { statuses: status, action, sessionKey: session_key, ...ownOf(caller) }
      const listing = `confirm ${order}`
      const page = await service.list(wanted, order, limit, cursors.read(cursor, listing, caller))
      const confirmations = page.items.map(confirmationView)
      return { count: confirmations.length, confirmations, next_cursor: cursors.write(page.next, listing, caller) }
    },
  )

  app.get(
    '/confirm/:id',
    {
      config: { needs: 'read' },
      schema: {
        operationId: 'getConfirmation',
        tag: 'confirmations',
        summary: 'Read a confirmation with its deliveries, or wait for its end',
        params: requests.idParams,
        querystring: requests.waitQuery,
        known: requests.waitHeaders,
        response: { 200: answers.found },
        sends: ['Preference-Applied'],
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const waitMs = readWait(request, reply)
      if (waitMs > 0) assertHeld(shares, reply)
      // However short the wait: what is large is read once there is room for it.
      await reserveRoom(shares, reply, await service.wait(id, waitMs, request.caller, whenGone(reply)))
      auth.assertStillGood(request)
      return foundView(granted(await service.findInTurn(id, request.caller)), request.caller)
    },
  )

  app.get(
    '/short-ids/:short_id',
    {
      config: { needs: 'read' },
      schema: {
        operationId: 'findByShortId',
        tag: 'confirmations',
        summary: 'Read a confirmation of the last week by the end of its id',
        description:
          'What people type: six characters or more, since the beginnings of ids are a clock. It only reads: to decide, show ' +
          'what was found, and name it by its whole id.',
        params: requests.shortIdParams,
        response: { 200: answers.found },
        problems: ['ambiguous_id'],
      },
    },
    async ({ params, caller }) => foundView(granted(await service.findByShortId(params.short_id, caller)), caller),
  )

  app.post(
    '/confirm/:id/approve',
    {
      config: { needs: 'decide' },
      schema: {
        operationId: 'approveConfirmation',
        tag: 'decisions',
        summary: 'Approve a confirmation',
        params: requests.idParams,
        body: requests.approveBody,
        response: { 200: answers.decided },
        problems: [
          ...answers.decisionProblems,
          ...answers.approvalProblems,
          'no_session',
          'no_requester',
          'details_too_long',
          'high_risk',
          'not_whitelistable',
          'whitelist_full',
        ],
      },
    },
    async ({ params, body, caller }) => {
      const { approver, reason, remember, typed_action } = body ?? {}
      const decision = {
        verdict: 'approve' as const,
        reason: textOrNull(reason),
        remember: remember === undefined ? null : readRemember(remember),
        typed: typed_action ?? null,
        approver: approverOf(caller, approver),
        authority: authorityOf(caller),
        via: 'http' as const,
      }
      const { confirmation, grant } = granted(await service.decide(params.id, decision))
      return { ...decisionView(confirmation), ...(grant === null ? {} : { grant: grantView(grant) }) }
    },
  )

  app.post(
    '/confirm/:id/deny',
    {
      config: { needs: 'decide' },
      schema: {
        operationId: 'denyConfirmation',
        tag: 'decisions',
        summary: 'Deny a confirmation',
        params: requests.idParams,
        body: requests.denyBody,
        response: { 200: answers.decided },
        problems: answers.decisionProblems,
      },
    },
    async ({ params, body, caller }) => {
      const { denier, reason } = body ?? {}
      const decision = {
        verdict: 'deny' as const,
        reason: textOrNull(reason),
        remember: null,
        typed: null,
        approver: approverOf(caller, denier),
        authority: authorityOf(caller),
        via: 'http' as const,
      }
      const { confirmation } = granted(await service.decide(params.id, decision))
      return decisionView(confirmation)
    },
  )

  app.post(
    '/confirm/:id/cancel',
    {
      config: { needs: 'act' },
      schema: {
        operationId: 'cancelConfirmation',
        tag: 'confirmations',
        summary: 'Withdraw a confirmation: the agent changed its mind',
        params: requests.idParams,
        body: requests.cancelBody,
        response: { 200: answers.decided },
        problems: ['not_yours', 'already_resolved'],
      },
    },
    async ({ params, body, caller }) => {
      const { cancelled_by, reason } = body ?? {}
      const given = cancelled_by === undefined ? null : nameOr(cancelled_by, 'api')
      const { confirmation } = granted(await service.cancel(params.id, given, textOrNull(reason), caller, 'http'))
      return decisionView(confirmation)
    },
  )

  app.post(
    '/confirm/:id/claim',
    {
      config: { needs: 'act' },
      schema: {
        operationId: 'claimConfirmation',
        tag: 'confirmations',
        summary: 'The last gate before acting: passes once, for what was approved',
        params: requests.idParams,
        known: requests.keyHeaders,
        body: requests.claimBody,
        response: { 200: answers.claimed },
        sends: ['Idempotency-Replayed'],
        problems: [
          'not_yours',
          'not_approved',
          'approval_expired',
          'digest_mismatch',
          'digest_required',
          'already_claimed',
          'key_reused',
          'session_suspended',
        ],
      },
    },
    async ({ params, headers, body, caller }, reply) => {
      const act = { id: params.id, key: readKey(headers), caller, via: 'http' as const }
      return executedView(await service.claim(act, body?.digest ?? null), reply)
    },
  )

  app.post(
    '/confirm/:id/report',
    {
      config: { needs: 'act' },
      schema: {
        operationId: 'reportConfirmation',
        tag: 'confirmations',
        summary: 'Say how the act went',
        description: 'This closes the record. Late is better than never.',
        params: requests.idParams,
        known: requests.keyHeaders,
        body: requests.reportBody,
        response: { 200: answers.closed },
        sends: ['Idempotency-Replayed'],
        problems: ['not_yours', 'not_claimed', 'already_reported', 'key_reused'],
      },
    },
    async ({ params, headers, body, caller }, reply) => {
      const act = { id: params.id, key: readKey(headers), caller, via: 'http' as const }
      return executedView(await service.report(act, body.outcome, textOrNull(body.message)), reply)
    },
  )
}

function readRemember({ scope, ttl_seconds, for: whom, details }: Remembering): Remember {
  return { scope, ttlSeconds: ttl_seconds ?? null, for: whom ?? null, isExact: details === 'exact' }
}

type Remembering = NonNullable<NonNullable<z.output<typeof requests.approveBody>>['remember']>

function executedView(result: Acted | Refusal, reply: FastifyReply) {
  const { confirmation, isReplay } = granted(result)
  if (isReplay) void reply.header('idempotency-replayed', 'true')
  return confirmationView(confirmation)
}

interface Submitting {
  body: z.output<typeof requests.submitBody>
  headers: IncomingHttpHeaders
  caller: Caller
  made: unknown
}

/**
 * draft-ietf-httpapi-ratelimit-headers: the policy, and how this action stands. Once there are keys the window may be one
 * that several share, and how it stands would tell each what the others ask for.
 */
function announceRate(
  reply: FastifyReply,
  { max, windowMs, remaining, resetMs }: Quota & RateLimit,
  caller: Caller,
): void {
  void reply.header('ratelimit-policy', `"action";q=${max};w=${windowMs / 1000}`)
  if (caller.role !== null) return
  void reply.header('ratelimit', `"action";r=${remaining};t=${Math.max(0, Math.ceil(resetMs / 1000))}`)
}

/** Agents see what they asked for themselves. */
function ownOf(caller: Caller) {
  return caller.role === 'agent' ? { requester: nameOf(caller) ?? '' } : {}
}
