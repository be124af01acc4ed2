// The pages that people decide on: what waits, one confirmation, one link. A GET never changes anything; a decision is a form
// that only its page can send, with a choice that nobody made in advance.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Link } from '../access/link.js'
import { actorOf, anyone, type Caller, type KeyHolder, may, nameOf } from '../access/role.js'
import { isVerified, textOf, unknown, type Voter } from '../core/actor.js'
import type { Confirmation, Verdict, Via } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { problemWithVoter } from '../core/vote.js'
import type { Decided, Decision, Remember } from '../service/decide.js'
import type { Service } from '../service/service.js'
import { durations, unanswered } from '../web/always.js'
import { recordedApproval } from '../web/approvals.js'
import { assets } from '../web/assets.js'
import { pageHeaders } from '../web/headers.js'
import { listPage, messagePage, type Problem as FormProblem, signInPage } from '../web/page.js'
import type { Api } from './api.js'
import { type Auth, noKeyYet } from './auth.js'
import { cookieOf, sessionCookie, setCookie } from './cookie.js'
import type { Cursors } from './cursor.js'
import { granted, Problem, problemOf, problems, sendProblem, toProblem } from './errors.js'
import { createForms, type Fields, pathOf } from './form.js'
import type { Unsent } from './guard.js'
import { createPainter } from './painter.js'
import { createSessions } from './session.js'
import { textOrNull } from './voter.js'
import { mayHold, whenGone } from './wait.js'

export interface PagesDeps {
  service: Service
  auth: Auth
  unsent: Unsent
  cursors: Cursors
  /** 256 bits and more of chance, as hexadecimal digits. */
  chance: () => string
  /** Whether browsers come by https, so that cookies may stay on it. */
  isSecure: () => boolean
}

type ById = { Params: { id: string } }
type InSession = { Params: { session: string } }
type ByToken = { Params: { token: string } }

/** A confirmation as somebody sees it. */
interface Seen {
  confirmation: Confirmation
  /** Where the page is. */
  path: string
  by: Voter
  /** Why they may not decide, whatever the confirmation. */
  obstacle: string | null
  isSignedIn: boolean
  /** Why a decision was not taken, and what was entered with it. */
  refusal?: Refusal
  entered?: Fields
}

const config = { needs: 'page' as const }
/** More than the longest reason, percent-encoded; a form is small. */
const bodyLimit = 128 * 1024
const maxReason = 10_000
const maxListed = 100
const longestPollMs = 60_000

export async function pageRoutes(
  app: Api,
  { service, auth, unsent, cursors, chance, isSecure }: PagesDeps,
): Promise<void> {
  const { people, openMode } = service
  const sessions = createSessions(service, chance)
  const forms = createForms(chance, isSecure)
  const paint = createPainter()

  for (const [path, { type, body }] of Object.entries(assets)) {
    app.get(path, { config: { needs: 'nothing' } }, (_request, reply) => reply.type(type).send(body))
  }

  await app.register(async (pages: Api) => {
    // A form and nothing else: the fields of JSON could be anything.
    pages.removeAllContentTypeParsers()
    pages.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body: Buffer, done) =>
      body.length === 0 ? done(null, undefined) : done(noForm()),
    )
    pages.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    )
    pages.addHook('onRequest', (request, reply, done) => {
      void reply.headers(pageHeaders)
      // The flood limit counts whoever is signed in by their key.
      request.keyId = signedIn(request)?.keyId ?? null
      done()
    })
    pages.setErrorHandler(async (error: FastifyError, request, reply) => {
      const problem = inFormWords(toProblem(error))
      if (problem.code === 'cross_origin') {
        await auth.note(request, refuse('forbidden', problem.message), unknown, { via: 'page' })
      }
      // What went wrong inside is the main handler's to log.
      if (problems[problem.code].status >= 500) throw error
      if (pathOf(request).endsWith('/state')) return sendProblem(reply, problem)
      return say(request, reply, problem)
    })

    // In open mode, and for those who are signed in.
    for (const place of ['', '/s/:session']) {
      pages.get<{ Querystring: { cursor?: string } }>(`${place}/`, { config }, async (request, reply) => {
        const caller = callerOf(request)
        if (caller === null) return toSignIn(request, reply)
        const from = cursors.read(request.query.cursor, 'page', caller)
        const page = await service.waiting(maxListed, from)
        const base = baseOf(request)
        const items = page.items.map((confirmation) => ({ confirmation, url: `${base}/view/${confirmation.id}` }))
        const frame = frameOf(request, reply, nameOf(caller))
        const moreUrl = page.next === null ? null : `${base}/?cursor=${cursors.write(page.next, 'page', caller)}`
        const startUrl = from === null ? null : `${base}/`
        return html(reply, listPage({ ...frame, items, now: service.now(), moreUrl, startUrl }))
      })

      pages.get<ById>(`${place}/view/:id`, { config }, async (request, reply) => {
        const caller = callerOf(request)
        if (caller === null) return toSignIn(request, reply)
        return html(reply, await render(request, reply, await seenBy(caller, request)))
      })

      pages.post<ById>(`${place}/view/:id`, { config, bodyLimit }, async (request, reply) => {
        const fields = forms.read(request)
        const caller = callerOf(request)
        if (caller === null) {
          await auth.note(request, notSignedIn, unknown, { via: 'page' })
          return toSignIn(request, reply)
        }
        const { by, confirmation } = await seenBy(caller, request)
        if (!may(caller, 'decide')) await auth.reject(request, forbidden, by, { via: 'page' })
        const decision = readDecision(fields, confirmation, by, 'page')
        const result = isRefusal(decision) ? decision : await service.decide(request.params.id, decision)
        return answer(request, reply, result, fields, () => seenBy(caller, request))
      })

      pages.get<ById>(`${place}/view/:id/state`, { config }, async (request, reply) => {
        if (callerOf(request) === null) throw problemOf(notSignedIn)
        return sendState(request, reply, request.params.id)
      })
    }

    pages.get<ByToken>('/link/:token', { config }, async (request, reply) =>
      html(reply, await render(request, reply, await seenThrough(await findLink(request), pathOf(request)))),
    )

    pages.post<ByToken>('/link/:token', { config, bodyLimit }, async (request, reply) => {
      const fields = forms.read(request)
      const link = await findLink(request)
      const { by, confirmation, obstacle } = await seenThrough(link, pathOf(request))
      if (!people.mayDecide(textOf(link.recipient))) {
        const target = { via: 'link' as const, id: link.confirmationId }
        await auth.reject(request, { ...forbidden, sentence: obstacle! }, by, target)
      }
      const decision = readDecision(fields, confirmation, by, 'link')
      const result = isRefusal(decision) ? decision : await service.decideByLink(link, decision)
      return answer(request, reply, result, fields, async () => seenThrough(await findLink(request), pathOf(request)))
    })

    pages.get<ByToken>('/link/:token/state', { config }, async (request, reply) =>
      sendState(request, reply, (await findLink(request)).confirmationId),
    )

    pages.get<{ Querystring: { next?: string; undecided?: string } }>('/login', { config }, async (request, reply) => {
      const { next, undecided } = request.query
      const whyNot = people.hasKeys() || openMode.isOpen() ? null : noKeyYet
      return html(reply, signIn(request, reply, safePath(next), undecided === undefined ? whyNot : signedOut))
    })

    pages.post('/login', { config, bodyLimit }, async (request, reply) => {
      const fields = forms.read(request)
      const next = safePath(fields.next)
      try {
        const holder = await auth.signIn(request, (fields.key ?? '').trim())
        if (!may(holder, 'survey')) await auth.reject(request, agentsStayOut, holder.actor, { via: 'page' })
        const { place, secret } = sessions.start(holder.keyId)
        setCookie(reply, sessionCookie, secret, isSecure(), `/s/${place}`)
        return goTo(reply, `/s/${place}${next}`)
      } catch (error) {
        const problem = toProblem(error as Error)
        const { status } = problems[problem.code]
        if (status >= 500) throw error
        return html(reply.code(status), signIn(request, reply, next, problem.message))
      }
    })

    pages.post<InSession>('/s/:session/logout', { config, bodyLimit }, async (request, reply) => {
      forms.read(request)
      sessions.end(request.params.session)
      setCookie(reply, sessionCookie, '', isSecure(), baseOf(request))
      return goTo(reply, '/login')
    })
  })

  // -- who looks ---------------------------------------------------------------------------------------------------------

  /** The person who is signed in, anyone in open mode, or nobody. */
  function callerOf(request: FastifyRequest): Caller | null {
    return openMode.isOpen() ? anyone : signedIn(request)
  }

  function signedIn(request: FastifyRequest): KeyHolder | null {
    const { session } = request.params as Partial<InSession['Params']>
    return session === undefined ? null : sessions.holderOf(session, cookieOf(request, sessionCookie))
  }

  async function findLink(request: FastifyRequest<ByToken>): Promise<Link> {
    const link = await service.findLink(request.params.token)
    return link ?? auth.reject(request, noSuchLink, unknown, { via: 'link' })
  }

  async function seenBy(caller: Caller, request: FastifyRequest<ById>): Promise<Seen> {
    const { confirmation } = granted(await service.find(request.params.id, caller))
    return {
      confirmation,
      path: `${baseOf(request)}/view/${confirmation.id}`,
      by: actorOf(caller, 'page'),
      obstacle: may(caller, 'decide') ? null : 'Your key lets you look, but not decide.',
      isSignedIn: caller.role !== null,
    }
  }

  async function seenThrough({ recipient, confirmationId, usedAt }: Link, path: string): Promise<Seen> {
    const { confirmation } = granted(await service.find(confirmationId, anyone))
    const name = textOf(recipient)
    const mayDecide = people.mayDecide(name)
    const obstacle = mayDecide
      ? 'This link has been used, and a link is good for one decision.'
      : `${name}, for whom this link was made, may not decide.`
    return {
      confirmation,
      path,
      by: { kind: 'link', recipient },
      obstacle: usedAt === null && mayDecide ? null : obstacle,
      isSignedIn: false,
    }
  }

  // -- what they see -----------------------------------------------------------------------------------------------------

  function frameOf(request: FastifyRequest, reply: FastifyReply, viewer: string | null, isSignedIn = viewer !== null) {
    const action = `${baseOf(request)}/logout`
    const signOut = isSignedIn ? { action, csrf: forms.tokenFor(request, reply, action) } : null
    return { isOpen: openMode.isOpen(), viewer, signOut }
  }

  function render(request: FastifyRequest, reply: FastifyReply, seen: Seen): Promise<string> {
    const { confirmation, path, by, obstacle, isSignedIn, refusal, entered = {} } = seen
    const now = service.now()
    const isOver = confirmation.status !== 'pending'
    const problemWith = (verdict: Verdict) =>
      isOver ? null : (problemWithVoter(confirmation, { by, verdict })?.sentence ?? null)
    // Who may not approve may still be allowed to deny.
    const why = obstacle ?? problemWith('deny')
    const done = recordedApproval(confirmation, by)
    const { verdict = '', reason = '', typed = '', duration = '', whom = '', details = '' } = entered
    const csrf = forms.tokenFor(request, reply, path)
    const said = done === null ? null : { kind: 'done' as const, text: done }
    const draft = { verdict, reason, typed, duration, whom, details }
    const form = { action: path, csrf, by, whyNotApprove: problemWith('approve'), ...draft }
    return paint({
      ...frameOf(request, reply, isVerified(by) ? textOf(by) : null, isSignedIn),
      confirmation,
      now,
      decision: isOver ? null : why === null ? { form } : { why },
      message: refusal === undefined ? said : formProblem(refusal, typed),
      draft: { reason, typed },
      stateUrl: isOver ? null : `${path}/state`,
      signInUrl: isSignedIn || openMode.isOpen() || done !== null ? null : signInUrl(`/view/${confirmation.id}`),
      backUrl: isSignedIn || openMode.isOpen() ? `${baseOf(request)}/` : null,
    })
  }

  function signIn(request: FastifyRequest, reply: FastifyReply, next: string, problem: string | null): string {
    const csrf = forms.tokenFor(request, reply, '/login')
    return signInPage({ csrf, next, problem, isOpen: openMode.isOpen() })
  }

  /** What came of it is on the page itself, which is loaded anew; what did not is said at the form, or where it was. */
  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    result: Decided | Refusal,
    entered: Fields,
    look: () => Promise<Seen>,
  ): Promise<FastifyReply> {
    if (!isRefusal(result)) return goTo(reply, pathOf(request))
    const text = await render(request, reply, { ...(await look()), refusal: result, entered })
    return html(reply.code(problems[result.refused].status), text)
  }

  /** The version of the record, once it is another than the one that is shown, or the time is over. */
  async function sendState(request: FastifyRequest, reply: FastifyReply, id: string): Promise<FastifyReply> {
    const { version, wait } = request.query as { version?: unknown; wait?: unknown }
    // Whoever cannot be held is told at once how it stands, and asks again in a second.
    const waitMs = mayHold(service, unsent, anyone) ? Math.min(longestPollMs, Math.max(0, Number(wait) * 1000 || 0)) : 0
    const news = granted(await service.waitForNews(id, Number(version), waitMs, whenGone(reply)))
    return reply.type('application/json').send({ version: news.version })
  }

  function say(request: FastifyRequest, reply: FastifyReply, { code, message, extra }: Problem): Promise<FastifyReply> {
    const { status, title } = problems[code]
    if (typeof extra.retry_after_seconds === 'number') void reply.header('retry-after', extra.retry_after_seconds)
    const frame = { isOpen: openMode.isOpen(), viewer: null, signOut: null }
    const said = code === 'cross_origin' ? refusedForm(request, message) : { title, text: message }
    return html(reply.code(status), messagePage({ ...frame, ...said }))
  }

  async function html(reply: FastifyReply, text: string): Promise<FastifyReply> {
    await unsent.reserve(reply, text.length)
    return reply.type('text/html; charset=utf-8').send(text)
  }
}

const notSignedIn = refuse('unauthorized', 'Sign in first.')
const forbidden = refuse('forbidden', 'Your key lets you look, but not decide.')
const signedOut = 'Nothing was decided: you are not signed in, or no longer. Sign in and decide again.'
const agentsStayOut = refuse('forbidden', "The pages are for people: an agent's key does not open them.")
const noSuchLink = refuse(
  'unauthorized',
  'There is no such link. Take the one from the message, or sign in with a key.',
)

function readDecision(fields: Fields, confirmation: Confirmation, by: Voter, via: Via): Decision | Refusal {
  const { verdict: choice = '', typed } = fields
  // Browsers send line breaks as two characters.
  const reason = (fields.reason ?? '').replaceAll('\r\n', '\n')
  const forSession = { scope: 'session', ttlSeconds: null, for: null, isExact: false } as const
  const choices: Partial<Record<string, Pick<Decision, 'verdict' | 'remember'>>> = {
    approve: { verdict: 'approve', remember: null },
    approve_session: { verdict: 'approve', remember: forSession },
    approve_always: { verdict: 'approve', remember: readAlways(fields) },
    deny: { verdict: 'deny', remember: null },
  }
  const chosen = Object.hasOwn(choices, choice) ? choices[choice] : undefined
  if (chosen === undefined)
    return refuse('invalid_choice', 'Choose whether to approve or to deny. Nothing was decided.')
  const open = choice === 'approve_always' ? unanswered(confirmation, fields) : []
  if (open.length > 0) {
    const topics = open.map(({ topic }) => topic).join(', and ')
    return refuse('invalid_choice', `To approve always, choose ${topics}. Nothing was decided.`)
  }
  if (reason.length > maxReason || reason.includes('\0') || !reason.isWellFormed()) {
    const sentence = `The reason must be text of at most ${maxReason} characters. Nothing was decided.`
    return refuse('invalid_choice', sentence, { field: 'reason' })
  }
  return { ...chosen, reason: textOrNull(reason), typed: typed ?? null, approver: { by, comment: null }, via }
}

/** What an entry is bound to that goes with "always"; whether all was answered is looked at elsewhere. */
function readAlways({ duration = '', whom, details }: Fields): Remember {
  return {
    scope: 'global',
    ttlSeconds: durations.get(duration) ?? null,
    for: whom === 'anyone' ? 'anyone' : 'requester',
    isExact: details === 'exact',
  }
}

/** What is wrong with one field of the form is told beside it, in words for whoever fills it in. */
function formProblem({ refused, sentence, extra }: Refusal, typed: string): FormProblem {
  const kind = 'problem'
  if (refused === 'typing_required') {
    const what = typed.trim() === '' ? 'The name is missing' : 'This is not the name of the action'
    return { kind, field: 'typed', text: `${what}. Type it exactly; nothing was decided.` }
  }
  if (refused === 'reason_required') {
    return { kind, field: 'reason', text: 'The reason is missing, and the rule wants one. Nothing was decided.' }
  }
  return { kind, text: sentence, ...(extra.field === 'reason' ? { field: 'reason' } : {}) }
}

function noForm(): Problem {
  const sentence = 'This page takes its own form and nothing else. Over the API, POST to /confirm/ID/approve or /deny.'
  return new Problem('unsupported_media_type', sentence)
}

/** What may be as large as a body is no form any more. */
function inFormWords(problem: Problem): Problem {
  if (problem.code !== 'body_too_large') return problem
  return new Problem(problem.code, `The form is larger than ${bodyLimit / 1024} KiB. Nothing was decided.`)
}

/** Where a person meets it, it is mostly a page that lay open until its cookie was gone. */
function refusedForm(request: FastifyRequest, text: string) {
  const path = pathOf(request)
  // What is only ever sent to has no page of its own.
  const url = path.endsWith('/logout') ? `${baseOf(request)}/` : path
  return { title: 'The form was not accepted', text, link: { url, text: 'Load the page again' } }
}

/** Whoever sent a decision is told there that it did not count. */
function toSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const url = signInUrl(pathOf(request).slice(baseOf(request).length))
  return goTo(reply, request.method === 'POST' ? `${url}&undecided=1` : url)
}

function signInUrl(next: string): string {
  return `/login?next=${encodeURIComponent(safePath(next))}`
}

/** The place of a session in the paths of its pages. */
function baseOf({ params }: FastifyRequest): string {
  const { session = '' } = params as Partial<InSession['Params']>
  return /^[0-9a-f]{64}$/.test(session) ? `/s/${session}` : ''
}

function goTo(reply: FastifyReply, path: string): FastifyReply {
  return reply.code(303).header('location', path).send()
}

/** A path of ours: never another site's, however it is written. */
function safePath(path: unknown): string {
  return typeof path === 'string' && /^\/(view\/[\w-]{1,100})?$/.test(path) ? path : '/'
}
