// Who asks, and may they? Every route says what it needs; what says nothing is closed to all.
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { isAapPath } from '../aap/problem.js'
import { anyone, type Caller, isForOwner, type KeyHolder, localOwner, may, type Permission } from '../access/role.js'
import { type Actor, textOf, unknownActor } from '../core/actor.js'
import type { Via } from '../core/model.js'
import { type Refusal, refuse } from '../core/refusal.js'
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import { Problem, problemOf } from './errors.js'
import { addressOf } from './flood.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `nothing`: open to everyone; `page`: a page asks in its own way. */
    needs?: Permission | 'nothing' | 'page'
  }
  interface FastifyRequest {
    caller: Caller
    keyId: string | null
  }
}

/** By which way an attempt came, and on which confirmation, where the path does not tell. */
interface Target {
  via: Via
  id?: string
}

export interface Auth {
  /** To a caller before there is a key, or after all were lost with the database. */
  noKeyYet: string
  /** Throws if the key with which the request came has gone meanwhile: for requests that were held. */
  assertStillGood(request: FastifyRequest): void
  isStillGood(request: FastifyRequest): boolean
  /** Whose key this is. A wrong one is recorded; guessing ends in a pause. */
  signIn(request: FastifyRequest, secret: string): Promise<KeyHolder>
  /** Records an attempt, where there was not too much of that, and answers the problem that it is. */
  note(request: FastifyRequest, refusal: Refusal, actor: Actor, target?: Target): Promise<Problem>
  /** The same, and throws it. */
  reject(request: FastifyRequest, refusal: Refusal, actor: Actor, target?: Target): Promise<never>
}

/**
 * `isLocal` tells what came through the database's own socket; `onLimited` is told of what is refused unseen. `makeKey` is
 * the command that makes a key; null: it is for those alone who read the log.
 */
export function authenticate(
  app: Api,
  service: Service,
  isLocal: (raw: IncomingMessage) => boolean,
  onLimited: () => void,
  makeKey: string | null,
): Auth {
  const noKeyYet = `This service asks for a key, and it has none: whoever runs it makes one${
    makeKey === null ? '. Its log says how.' : `: ${makeKey}`
  }`
  const { people, openMode } = service
  app.decorateRequest('caller')
  app.decorateRequest('keyId', null)
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.needs === undefined) throw new Error(`${url} does not say what it needs`)
  })

  app.addHook('onRequest', (request, _reply, done) => {
    request.caller = anyone
    // A path that leads nowhere tells nobody without a key so.
    const needs = request.routeOptions.config.needs ?? 'read'
    if (isLocal(request.raw)) {
      if (!isForOwner(needs) && request.routeOptions.url !== '/health')
        return done(
          new Problem(
            'no_such_route',
            'Here nothing is asked for, decided, claimed or reported: that takes the port of the API, and a key once there is one.',
          ),
        )
      request.caller = localOwner
      return done()
    }
    if (needs === 'nothing' || needs === 'page' || openMode.isOpen()) return done()
    const secret = readBearer(request)
    const holder = secret === null ? null : people.holderOf(secret)
    if (holder === null) return void refuseStranger(request, secret !== null).catch(done)
    request.caller = holder
    request.keyId = holder.keyId
    if (may(holder, needs)) return done()
    const refusal = refuse('forbidden', `A key with the role '${holder.role}' may not do this.`)
    reject(request, refusal, holder.actor).catch(done)
  })

  // Again, now that the body is there, for which a caller may take long: what was good when it began may be no more.
  app.addHook('preHandler', (request, _reply, done) => {
    const { needs } = request.routeOptions.config
    if (needs === 'nothing' || needs === 'page' || isStillGood(request)) done()
    else done(noLongerGood())
  })

  const limited = new WeakSet<FastifyRequest>()
  // So that each further guess costs a connection.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (limited.has(request)) void reply.header('connection', 'close')
    done(null, payload)
  })

  async function signIn(request: FastifyRequest, secret: string): Promise<KeyHolder> {
    return people.holderOf(secret) ?? refuseStranger(request, true)
  }

  function refuseStranger(request: FastifyRequest, hasKey: boolean): Promise<never> {
    const sentence = hasKey
      ? 'This key is not known, or no longer good. Ask an administrator for a new one.'
      : "This service asks for a key: send the header 'Authorization: Bearer KEY'."
    return reject(request, refuse('unauthorized', people.hasKeys() ? sentence : noKeyYet), unknownActor)
  }

  async function reject(...attempt: Parameters<Auth['note']>): Promise<never> {
    throw await note(...attempt)
  }

  async function note(
    request: FastifyRequest,
    refusal: Refusal,
    actor: Actor,
    target: Target = { via: isAapPath(request.url) ? 'aap' : 'http' },
  ): Promise<Problem> {
    const who = actor.kind === 'unknown' ? `address ${addressOf(request)}` : `name ${textOf(actor)}`
    const { method, ip, routeOptions, params } = request
    const where = { address: ip, method, route: routeOptions.url ?? 'unknown' }
    const { id = target.id ?? null } = params as { id?: string }
    const full = await service.recordRefusal(refusal, { actor, via: target.via, id }, where, who)
    if (full === null) return problemOf(refusal)
    onLimited()
    limited.add(request)
    const seconds = Math.max(1, Math.ceil(full.resetMs / 1000))
    const sentence = `Too many attempts were refused; try again in ${seconds} s. A good key is still let in.`
    return problemOf(refuse('guess_limited', sentence, { share: 'refusals', retry_after_seconds: seconds }))
  }

  function isStillGood({ caller, keyId }: FastifyRequest): boolean {
    if (keyId !== null) return people.holderOfKey(keyId) !== null
    return caller.role !== null || openMode.isOpen()
  }

  return {
    noKeyYet,
    signIn,
    note,
    reject,
    isStillGood,
    assertStillGood(request) {
      if (!isStillGood(request)) throw noLongerGood()
    },
  }
}

function noLongerGood(): Problem {
  const sentence =
    'What this request came with is no longer good, or a key is asked for by now. Send it again with one.'
  return new Problem('unauthorized', sentence)
}

export function readBearer({ headers }: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null
}
