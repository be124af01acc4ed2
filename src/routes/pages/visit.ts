// A confirmation on its page: looked at, decided on, and followed. How a visitor came there, signed in or by a link, is said by
// the page itself; all else is the same.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../access/role.js'
import { isVerified, textOf, unknownActor, type Voter } from '../../core/actor.js'
import type { Confirmation, Verdict, Via } from '../../core/model.js'
import { isRefusal, type Refusal, refuse } from '../../core/refusal.js'
import { problemWithVoter } from '../../core/vote.js'
import type { Decided, Decision } from '../../service/decide.js'
import type { Authority } from '../../service/settle.js'
import { StoreUnavailable } from '../../store/store.js'
import { recordedApproval } from '../../web/approvals.js'
import type { Next } from '../../web/confirmation-page.js'
import type { Api } from '../api.js'
import { granted, problemOf, problems } from '../errors.js'
import { hold, whenGone } from '../wait.js'
import { problemWith, readDecision } from './decision.js'
import { bodyLimit, type Fields, pathOf } from './form.js'
import { notSignedIn, signInUrl, toSignIn } from './sign-in-page.js'
import { baseOf, config, goTo, longestPollMs, type Site } from './site.js'

export interface Visitor {
  /** Of the confirmation. */
  id: string
  /** Where its page is. */
  path: string
  via: Via
  caller: Caller
  authority: Authority
  by: Voter
  isSignedIn: boolean
  mayDecide: boolean
  /** Why they cannot decide, whatever the confirmation. */
  obstacle: string | null
  decide(decision: Decision): Promise<Decided | Refusal>
}

/** Among how many of those that end soonest the next one for somebody is looked for. */
const maxLooked = 20

/** `visitorOf` answers null for a reader who has to sign in first. */
export function visitRoutes(
  pages: Api,
  { service, auth, shares, forms, render, frameOf, send }: Site,
  path: string,
  visitorOf: (request: FastifyRequest) => Promise<Visitor | null>,
): void {
  pages.get(path, { config }, async (request, reply) => {
    const visitor = await visitorOf(request)
    if (visitor === null) return toSignIn(request, reply)
    return show(request, reply, visitor, await find(visitor))
  })

  pages.post(path, { config, bodyLimit }, async (request, reply) => {
    const fields = forms.read(request)
    const visitor = await visitorOf(request)
    if (visitor === null) {
      await auth.note(request, notSignedIn, unknownActor, { via: 'page' })
      return toSignIn(request, reply)
    }
    const { id, via, authority, by, mayDecide, obstacle } = visitor
    const confirmation = await find(visitor)
    if (!mayDecide) await auth.reject(request, refuse('forbidden', obstacle!), by, { via, id })
    const decision = readDecision(fields, confirmation, by, authority, via)
    const result = isRefusal(decision) ? decision : await visitor.decide(decision)
    // What came of it is on the page, which is loaded anew; what did not is said at the form, or where it was.
    if (!isRefusal(result)) return goTo(reply, pathOf(request))
    const again = (await visitorOf(request)) ?? visitor
    return show(request, reply.code(problems[result.refused].status), again, await find(again), result, fields)
  })

  /** The version of the record, once it is another than the one that is shown, or the time is over. */
  pages.get(`${path}/state`, { config }, async (request, reply) => {
    const visitor = await visitorOf(request)
    if (visitor === null) throw problemOf(notSignedIn)
    const { version, wait } = request.query as { version?: unknown; wait?: unknown }
    const asked = Math.min(longestPollMs, Math.max(0, Number(wait) * 1000 || 0))
    // A reader who cannot be held is told at once how it stands, and asks again in a second.
    const waitMs = asked > 0 && hold(shares, reply) === 'held' ? asked : 0
    const news = granted(await service.waitForNews(visitor.id, Number(version), waitMs, whenGone(reply)))
    return reply.type('application/json').send({ version: news.version })
  })

  async function find({ id, caller }: Visitor): Promise<Confirmation> {
    return granted(await service.find(id, caller)).confirmation
  }

  /** The next to expire on which they can decide; for who only looks, the next to expire. Null: nobody can tell. */
  async function nextFor({ id, by, mayDecide }: Visitor, base: string): Promise<Next | null> {
    const isFor = (one: Confirmation) =>
      one.id !== id &&
      one.status === 'pending' &&
      (!mayDecide || problemWithVoter(one, { by, verdict: 'deny' }) === null)
    try {
      const { items, next: more } = await service.listPending(maxLooked, null)
      const next = items.find(isFor)
      if (next === undefined) return more === null ? 'nothing' : null
      return { action: next.action, requester: next.requester, url: `${base}/view/${next.id}` }
    } catch (error) {
      // What came of this one is told, also while that of others is in doubt.
      if (error instanceof StoreUnavailable) return null
      throw error
    }
  }

  /** With a refusal: why a decision was not taken, and what was entered with it. */
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    visitor: Visitor,
    confirmation: Confirmation,
    refusal: Refusal | null = null,
    entered: Fields = {},
  ): Promise<FastifyReply> {
    const { path, by, obstacle, isSignedIn } = visitor
    const isOver = confirmation.status !== 'pending'
    const problemWithVote = (verdict: Verdict) =>
      isOver ? null : (problemWithVoter(confirmation, { by, verdict })?.sentence ?? null)
    // Who may not approve may still be allowed to deny.
    const why = obstacle ?? problemWithVote('deny')
    const done = recordedApproval(confirmation, by)
    const { verdict = '', name = '', reason = '', typed = '', duration = '', whom = '', details = '' } = entered
    const form = {
      action: path,
      csrf: forms.tokenFor(request, reply, path),
      by,
      whyNotApprove: problemWithVote('approve'),
      verdict,
      name,
      reason,
      typed,
      duration,
      whom,
      details,
    }
    const said = done === null ? null : { kind: 'done' as const, text: done }
    const mayList = isSignedIn || service.openMode.isOpen()
    const base = baseOf(request)
    const isDone = isOver || why !== null
    const page = await render(request, {
      ...frameOf(request, reply, isVerified(by) ? textOf(by) : null, isSignedIn),
      confirmation,
      now: service.now(),
      decision: isOver ? null : why === null ? { form } : { why },
      message: refusal === null ? said : problemWith(refusal, typed),
      draft: { reason, typed },
      stateUrl: isOver ? null : `${path}/state`,
      signInUrl: mayList || done !== null ? null : signInUrl(`/view/${confirmation.id}`),
      backUrl: mayList ? `${base}/` : null,
      next: mayList && isDone ? await nextFor(visitor, base) : null,
    })
    return send(reply, page)
  }
}
