// What every route shares: zod as the validator, whose turn it is, and the type of the app.
import type { IncomingMessage } from 'node:http'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { z } from 'zod'
import { isAapPath } from '../aap/problem.js'
import { nameOf } from '../access/role.js'
import { stringifyInert } from '../core/json.js'
import type { Turnstile } from '../service/turnstile.js'
import { Problem, type ProblemCode } from './errors.js'
import type { Tag } from './openapi.js'
import { LargeBody } from './large-body.js'
import { noBody, noQuery } from './requests.js'
import type { ResponseHeader } from './response-headers.js'
import { problemWithHeaders } from './socket.js'

interface ZodTypes extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
  serializer: this['schema'] extends z.ZodType ? z.input<this['schema']> : unknown
}

export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypes
>

/** A route's schema: zod for each part, and what else openapi.yaml says of it. */
declare module 'fastify' {
  interface FastifySchema {
    operationId?: string
    tag?: Tag
    summary?: string
    /** More than the summary, where that is not enough. */
    description?: string
    /** What it may refuse with, beside what follows from what it needs and takes; see problemsOf. */
    problems?: readonly ProblemCode[]
    /** Refused without a key even in open mode. */
    needsKeyInOpenMode?: boolean
    /** Headers that matter here, for openapi.yaml alone: as `headers`, Fastify would drop all others. */
    known?: z.ZodObject
    /** The success as other text, by its media type, where that is asked for. */
    also?: Record<string, z.ZodString>
    /** Headers that a success may have here. */
    sends?: readonly ResponseHeader[]
  }
}

/** Before anything else: the headers of every answer, and no more work once the service shuts down. */
export function beginAnswers(app: Api): void {
  let closing = false
  app.addHook('preClose', (done) => {
    closing = true
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    // Nobody is there to be answered: what came behind the last of a connection that was cut off.
    const { socket } = request.raw
    if (socket.destroyed || socket.writableEnded) return void reply.hijack()
    void reply.header('cache-control', 'no-store')
    void reply.header('x-content-type-options', 'nosniff')
    if (isAapPath(request.url)) void reply.header('x-request-id', request.id)
    const problem = problemWithHeaders(request.raw)
    if (problem !== null) {
      void reply.header('connection', 'close')
      return done(problem)
    }
    if (isReading(request.raw) && request.raw.headers['transfer-encoding'] !== undefined) {
      void reply.header('connection', 'close')
      return done(new Problem('invalid_request', `A ${request.raw.method} takes no body; leave out Transfer-Encoding.`))
    }
    if (closing) {
      done(new Problem('shutting_down', 'Holdpoint is shutting down; nothing was done. Try again in a moment.'))
    } else done()
  })
}

/** Nobody reads its body, so what is held would keep all of it that has come. */
function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** For Fastify's own compilers, which take long to load: useZod has others. */
export const withoutCompilers = { compilersFactory: { buildValidator: notCompiled, buildSerializer: notCompiled } }

function notCompiled(): never {
  throw new Error('schemas are for zod')
}

/** What reads the usual of a schema, faster and to the same end; null: it is not usual. */
export type Quick = ReadonlyMap<z.ZodType, (data: unknown) => unknown>

export function useZod(app: Api, quick: Quick = new Map()): void {
  app.setValidatorCompiler<z.ZodType>(({ schema, httpPart }) => {
    const readUsual = quick.get(schema) ?? (httpPart === 'querystring' ? withoutQuery(schema) : () => null)
    return (data: unknown) => {
      if (data instanceof LargeBody) return data.against(schema)
      const usual = readUsual(data)
      if (usual !== null) return { value: usual }
      // Fastify says null for a body that is not there; a JSON null never gets this far.
      const result = schema.safeParse(data ?? undefined)
      return result.success ? { value: result.data } : { error: result.error }
    }
  })
  // The line break is for people who read answers on a terminal.
  app.setReplySerializer((payload) => `${stringifyInert(payload)}\n`)
  app.setSerializerCompiler(() => JSON.stringify)
}

/** Most requests have none, and it is the same for all of them. */
function withoutQuery(schema: z.ZodType): (data: unknown) => unknown {
  const { data: nothing = null } = schema.safeParse({})
  Object.freeze(nothing)
  return (data) => {
    for (const _ in data as object) return null
    return nothing
  }
}

/** What a route does not name it does not take. Asked after the routes were told what they are described by. */
export function refuseUnnamed(app: Api): void {
  app.addHook('onRoute', (route) => {
    // What has no schema is for people: chats and browsers append to links what they like.
    if (route.schema === undefined) return
    const takesBody = route.method !== 'GET' && route.method !== 'HEAD'
    route.schema = {
      ...route.schema,
      querystring: route.schema.querystring ?? noQuery,
      ...(takesBody ? { body: route.schema.body ?? noBody } : {}),
    }
  })
}

/**
 * What is read is read in turn, before its answer is known and again before it is written out: it may be large. A request that
 * writes waits for the disk, which lets no more of them through than it can take.
 */
export function takeTurns(app: Api, turnstile: Turnstile): void {
  // Supervisors do not queue.
  const turnFor = ({ method, caller, routeOptions: { config } }: FastifyRequest) =>
    method === 'GET' && config.rateLimit !== false ? turnstile.wait(nameOf(caller)) : null
  app.addHook('preHandler', (request, _reply, done) => {
    const turn = turnFor(request)
    if (turn === null) done()
    else void turn.then(() => done())
  })
  app.addHook('preSerialization', (request, _reply, payload, done) => {
    const turn = turnFor(request)
    if (turn === null) done(null, payload)
    else void turn.then(() => done(null, payload))
  })
}
