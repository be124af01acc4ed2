// /aap/v1: the provider's side of the Agent Approval Protocol, in its synchronous mode.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { findRequest, type Proposal } from '../aap/request.js'
import { isOwn, type KeyHolder } from '../access/role.js'
import { unknownActor } from '../core/actor.js'
import { digestOf, sha256 } from '../core/digest.js'
import type { Confirmation } from '../core/model.js'
import { isRefusal, refuse } from '../core/refusal.js'
import type { Service } from '../service/service.js'
import { unknown } from '../service/settle.js'
import * as aap from './aap-bodies.js'
import { reserveRoom } from './answer-room.js'
import type { Api } from './api.js'
import { type Auth, readBearer } from './auth.js'
import { granted, Problem, problemOf } from './errors.js'
import { madeOf } from './large-body.js'
import { idParams } from './requests.js'
import type { Shares } from './shares.js'
import * as answers from './answers.js'
import { assertHeld, whenGone } from './wait.js'

const via = 'aap'
const tag = 'aap' as const
const sends = ['X-Request-ID'] as const
/** What an approval may be refused with that is on record and not handed out. */
const withheld = ['session_suspended', 'approval_expired', 'already_claimed', 'digest_mismatch'] as const

export function aapRoutes(app: Api, service: Service, auth: Auth, shares: Shares): void {
  const { instances } = service

  /** The protocol knows nobody who has no credential. */
  async function assertHasKey(request: FastifyRequest): Promise<void> {
    if (request.caller.role === null) await auth.reject(request, refuse('unauthorized', auth.noKeyYet), unknownActor)
  }
  const onRequest = assertHasKey

  app.post(
    '/aap/v1/requests',
    {
      config: { needs: 'submit', reads: 'aap' },
      onRequest,
      schema: {
        operationId: 'proposeCall',
        tag,
        summary: 'Ask whether a tool may be called',
        description: 'The same again with its `Idempotency-Key` is answered with the request as it stands now.',
        known: aap.aapKeyHeader,
        body: aap.aapRequestBody,
        response: {
          201: aap.aapRequest.meta({ description: 'The new request.' }),
          200: aap.aapRequest,
        },
        needsKeyInOpenMode: true,
        sends,
        problems: [...answers.submissionProblems, ...withheld],
      },
    },
    async (request, reply) => {
      const { body, headers, caller } = request
      // A space of their own: they are another operation's. Any text is one, and what is kept has one length.
      const key = `${via} requests ${sha256(readKey(headers))}`
      const asked = madeOf(request, 'aap') ?? aap.toAskedByAap(body, null, caller)
      const { confirmation, isReplay } = granted(await service.submit({ ...asked, key }, via))
      return reply.code(isReplay ? 200 : 201).send(await handOut(confirmation, request))
    },
  )

  app.get(
    '/aap/v1/requests/:id',
    {
      config: { needs: 'act' },
      // Nothing would be handed out by it.
      exposeHeadRoute: false,
      onRequest,
      schema: {
        operationId: 'readProposedCall',
        tag,
        summary: 'Read a request, or wait for its end',
        description: 'An approval counts as claimed as soon as it is answered: there is no claim in this protocol.',
        params: idParams,
        querystring: aap.aapWaitQuery,
        response: { 200: aap.aapRequest },
        needsKeyInOpenMode: true,
        sends,
        problems: withheld,
      },
    },
    async (request, reply) => {
      const { params, query, caller } = request
      if (query.wait !== undefined) assertHeld(shares, reply)
      await reserveRoom(shares, reply, await service.wait(params.id, query.wait ?? 0, caller, whenGone(reply)))
      auth.assertStillGood(request)
      return handOut(await findOwn(request), request)
    },
  )

  app.delete(
    '/aap/v1/requests/:id',
    {
      config: { needs: 'act' },
      onRequest,
      schema: {
        operationId: 'withdrawProposedCall',
        tag,
        summary: 'Withdraw a request: nobody waits to make the call',
        params: idParams,
        response: { 200: aap.aapRequest },
        needsKeyInOpenMode: true,
        sends,
        problems: ['already_resolved'],
      },
    },
    async (request) => {
      const found = await findOwn(request)
      if (found.status === 'cancelled') return findRequest(found)!
      const result = await service.cancel(found.id, null, null, request.caller, via)
      if (!isRefusal(result)) return findRequest(result.confirmation)!
      // Another of the same may have been faster.
      const standing = await findOwn(request)
      if (standing.status !== 'cancelled') throw problemOf(result)
      return findRequest(standing)!
    },
  )

  /** What its requester has put here; to others, and elsewhere, there is nothing. */
  async function findOwn({ params, caller }: FastifyRequest): Promise<Confirmation> {
    const { id } = params as { id: string }
    const { confirmation } = granted(await service.findInTurn(id, caller))
    if (!isOwn(caller, confirmation) || confirmation.aap === null) throw problemOf(unknown(id))
    return confirmation
  }

  /**
   * The request as it is answered. An approval that is still good is claimed first, and only then handed out; again, it is
   * told again, as long as nothing else was done with it.
   */
  async function handOut(confirmation: Confirmation, { caller }: FastifyRequest): Promise<Proposal> {
    const { id, execution } = confirmation
    if (execution !== null && service.now() < execution.claimBy) {
      const act = { id, key: `${via} handed out ${id}`, caller, via } as const
      const result = await service.claim(act, digestOf(confirmation))
      if (isRefusal(result) && service.now() < execution.claimBy) throw problemOf(result)
    }
    return findRequest(confirmation)!
  }

  app.post(
    '/aap/v1/instances',
    {
      config: { needs: 'provision' },
      onRequest,
      schema: {
        operationId: 'provisionInstance',
        tag,
        summary: 'Make an agent, with its key',
        description:
          'The same again with its `Idempotency-Key`, and the same key of the provisioner, is answered with the same. Where ' +
          'somebody has the name, the instance gets one that begins so.',
        known: aap.aapKeyHeader,
        body: aap.instanceBody,
        response: {
          201: aap.aapProvisioned,
          200: aap.aapProvisioned.meta({ description: 'As it was answered before.' }),
        },
        needsKeyInOpenMode: true,
        sends,
        problems: ['unsupported_delivery_type', 'key_reused', 'instance_deleted', 'credential_lost', 'name_taken'],
      },
    },
    async (request, reply) => {
      const { instance_name, delivery } = request.body
      refuseDelivery(delivery, false)
      const asked = { caller: holderOf(request), secret: readBearer(request)!, key: readKey(request.headers) }
      const { id, name, token, isReplay } = granted(await instances.provision(instance_name ?? null, asked))
      return reply.code(isReplay ? 200 : 201).send({ instance: { id, name }, credential: { token } })
    },
  )

  app.get(
    '/aap/v1/instances/:id',
    {
      config: { needs: 'provision' },
      onRequest,
      schema: {
        operationId: 'readInstance',
        tag,
        summary: 'Read an instance',
        params: idParams,
        response: { 200: aap.aapInstance },
        needsKeyInOpenMode: true,
        sends,
      },
    },
    async (request) => {
      const { id, name } = granted(await instances.get(request.params.id, holderOf(request)))
      return { id, name }
    },
  )

  app.patch(
    '/aap/v1/instances/:id',
    {
      config: { needs: 'provision' },
      onRequest,
      schema: {
        operationId: 'changeInstance',
        tag,
        summary: 'Name an instance anew',
        description: 'For its provisioner: on record, and to people, it stays who it was.',
        params: idParams,
        known: aap.aapKeyHeader,
        body: aap.instanceChange,
        response: { 200: aap.aapInstance },
        needsKeyInOpenMode: true,
        sends,
        problems: ['unsupported_delivery_type', 'key_reused'],
      },
    },
    async (request) => {
      const { instance_name, delivery } = request.body
      refuseDelivery(delivery, true)
      const asked = { caller: holderOf(request), key: readKey(request.headers) }
      return granted(await instances.update(request.params.id, instance_name ?? null, asked))
    },
  )

  app.delete(
    '/aap/v1/instances/:id',
    {
      config: { needs: 'provision' },
      onRequest,
      schema: {
        operationId: 'deleteInstance',
        tag,
        summary: 'Delete an instance: its keys are revoked and its requests withdrawn',
        params: idParams,
        response: { 204: aap.aapDeleted },
        needsKeyInOpenMode: true,
        sends,
      },
    },
    async (request, reply) => {
      granted(await instances.remove(request.params.id, holderOf(request)))
      return deleted(reply)
    },
  )
}

function deleted(reply: FastifyReply): null {
  void reply.code(204)
  return null
}

/** `assertHasKey` was asked before. */
function holderOf({ caller }: FastifyRequest): KeyHolder {
  if (!('keyId' in caller)) throw new Error('nobody provisions without a key')
  return caller
}

function readKey(headers: IncomingHttpHeaders): string {
  const key = headers['idempotency-key']
  if (typeof key !== 'string' || key === '')
    throw new Problem('invalid_request', "Header 'Idempotency-Key' is required")
  return key
}

function refuseDelivery(delivery: unknown, mayBeNull: boolean): void {
  if (delivery === undefined || (delivery === null && mayBeNull)) return
  if (typeof delivery !== 'object' || delivery === null || Array.isArray(delivery)) {
    throw new Problem('invalid_request', "Field 'delivery' must be an object, and is refused even then: leave it out")
  }
  throw new Problem(
    'unsupported_delivery_type',
    "Field 'delivery' asks for the asynchronous mode, which is not supported. Leave it out, and let the adapter poll.",
  )
}
