// /hooks: what the hosts of agents ask before each call of a tool, and tell after it. Each is answered with a decision: see
// createErrorHandler for all that goes wrong.
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { actorOf, type Caller } from '../access/role.js'
import { isRefusal } from '../core/refusal.js'
import { allow, denyFor, type HookAnswer, noted, timesWithin, tooSlow } from '../hooks/claude-code.js'
import type { Service } from '../service/service.js'
import { reserveRoom } from './answer-room.js'
import type { Api } from './api.js'
import * as answers from './answers.js'
import type { Auth } from './auth.js'
import { granted, isHookCall, problemOf } from './errors.js'
import { letGo, madeOf } from './large-body.js'
import * as requests from './requests.js'
import type { Shares } from './shares.js'
import { type Told, toTold, usualRequester } from './submission.js'
import { whenEnded } from './response-end.js'
import { expectHooks } from './socket.js'
import { hold, whenGone } from './wait.js'

/** Calls back so many milliseconds later, and answers with a way to call it off. */
type After = (ms: number, run: () => void) => () => void

/** A request stays open for longer than a hook waits: so its agent can make the call again, and find what came meanwhile. */
const openFor = 2

const arrivals = new WeakMap<FastifyRequest, number>()

/** Before anything else: whatever the rest waits for, a body, the disk or a person, a hook is answered in its time. */
export function answerHooksInTime(app: Api, now: () => number, after: After): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isHookCall(request)) return done()
    arrivals.set(request, now())
    expectHooks(request.raw.socket)
    // What is wrong with it is said in a moment.
    const { timeout } = requests.hookQuery.safeParse(request.query).data ?? { timeout: 1 }
    const { answerMs } = timesWithin(timeout)
    const callOff = after(answerMs, () => {
      if (!reply.sent) void reply.code(200).send(tooSlow)
    })
    whenEnded(reply, callOff)
    done()
  })
}

export function hookRoutes(app: Api, service: Service, auth: Auth, shares: Shares): void {
  app.post(
    '/hooks/claude-code',
    {
      config: { needs: 'submit', reads: 'hook' },
      schema: {
        operationId: 'answerClaudeCodeHook',
        tag: 'hooks',
        summary: "Decide on a call of a tool, in the form of Claude Code's hooks",
        description:
          'Before a call: held until a person has answered or the time of the hook is nearly up, and then a denial that says ' +
          'so. The same call again (requester, session, tool, input and folder) joins the request while it is pending, claims ' +
          'its approval once, and is denied after a denial. After a call: what came of it, for the approval that it claimed.',
        querystring: requests.hookQuery,
        body: requests.hookBody,
        response: { 200: answers.hookAnswer },
        // Not in the body: hosts may refuse what they do not know there.
        sends: ['Confirmation-Id'],
      },
    },
    async (request, reply): Promise<HookAnswer> => {
      const { caller } = request
      const held = await begin(request)
      if (held === null) return noted
      const { id, isPending } = held
      void reply.header('confirmation-id', id)
      if (isPending) {
        // Where there is no room to wait, it is told so at once.
        if (hold(shares, reply) === 'held') {
          letGo(request)
          const { waitMs } = timesWithin(request.query.timeout)
          const waitsUntil = arrivals.get(request)! + waitMs
          await reserveRoom(shares, reply, await service.wait(id, waitsUntil - service.now(), caller, whenGone(reply)))
          auth.assertStillGood(request)
        }
        const { confirmation } = granted(await service.findInTurn(id, caller))
        if (confirmation.execution === null) return denyFor(confirmation)
      }
      // Nobody hears it any more: whoever makes the call again has the approval.
      return reply.sent || request.raw.socket.destroyed ? tooSlow : claim(held, caller)
    },
  )

  /** Submits a call, and keeps what its answer needs; null: it is over, and this is what came of it. */
  async function begin(request: Hooked): Promise<Held | null> {
    const { body, caller, query } = request
    const told = madeOf(request, 'hook') ?? toTold(body, caller)
    if (told.kind === 'outcome') return note(told, caller)
    const { asked, name } = told
    const submission = { ...asked.submission, timeoutSeconds: openFor * query.timeout }
    const { confirmation } = granted(await service.submit({ ...asked, submission }, 'http'))
    return { id: confirmation.id, isPending: confirmation.status === 'pending', digest: asked.computed.digest, name }
  }

  /** It is allowed once the claim is on disk: whatever ends the service in between has allowed nothing. */
  async function claim({ id, digest, name }: Held, caller: Caller): Promise<HookAnswer> {
    const result = await service.claim({ id, key: null, caller, via: 'http', name }, digest)
    if (!isRefusal(result)) return allow(result.confirmation)
    if (result.refused !== 'already_claimed') throw problemOf(result)
    return denyFor(granted(await service.findInTurn(id, caller)).confirmation)
  }

  /** What nobody has claimed, or is reported already, stays as it is. */
  async function note({ name, outcome, message }: Told & { kind: 'outcome' }, caller: Caller): Promise<null> {
    const id = name === null ? null : await service.claimedAs(name, actorOf(caller, usualRequester))
    if (id !== null) await service.report({ id, key: null, caller, via: 'http' }, outcome, message)
    return null
  }
}

interface Hooked {
  body: z.output<typeof requests.hookBody>
  query: z.output<typeof requests.hookQuery>
  caller: Caller
  made: unknown
}

interface Held {
  id: string
  isPending: boolean
  /** Of what is about to be done. */
  digest: string
  /** Of the act. */
  name: string | null
}
