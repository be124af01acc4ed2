// /sessions: what one requester does under one session key, counted, looked at, and stopped by operators.
import type { FastifyReply } from 'fastify'
import type { Service } from '../service/service.js'
import { promptOf } from '../sessions/prompt.js'
import { prefersText } from './accept.js'
import * as answers from './answers.js'
import type { Api } from './api.js'
import type { Cursors } from './cursor.js'
import { granted } from './errors.js'
import * as requests from './requests.js'
import { sessionStateView, sessionView, wholeSessionView } from './view.js'
import { nameOr, textOrNull, viaOf } from './voter.js'

const minuteMs = 60_000

export function sessionRoutes(app: Api, service: Service, cursors: Cursors): void {
  const { sessions } = service

  app.get(
    '/sessions',
    {
      config: { needs: 'observe' },
      schema: {
        operationId: 'listSessions',
        tag: 'sessions',
        summary: 'List sessions',
        description: 'The latest active first. An agent sees its own.',
        querystring: requests.sessionsQuery,
        response: { 200: answers.sessionPage },
      },
    },
    async ({ query, caller }) => {
      const { active_minutes: minutes, platform, suspended: isSuspended, requester, limit, cursor } = query
      const activeSince = minutes === undefined ? undefined : service.now() - minutes * minuteMs
      const filter = { requester, platform, isSuspended, activeSince }
      const page = await sessions.list(filter, limit, cursors.read(cursor, 'sessions', caller), caller)
      const seen = page.items.map((one) => sessionView(one, service.now()))
      return { count: seen.length, sessions: seen, next_cursor: cursors.write(page.next, 'sessions', caller) }
    },
  )

  app.get(
    '/sessions/:key',
    {
      config: { needs: 'observe' },
      schema: {
        operationId: 'getSession',
        tag: 'sessions',
        summary: 'Read a session, with its grants, what is pending and how the last requests ended',
        description: "An agent reads its own. As `text/plain` it is a block for the agent's prompt.",
        params: requests.sessionParams,
        querystring: requests.sessionQuery,
        response: { 200: answers.wholeSession },
        also: { 'text/plain': answers.sessionText },
        problems: ['ambiguous_session'],
      },
    },
    async ({ params, query, headers, caller }, reply) => {
      const whole = granted(await sessions.read(named(params, query), caller))
      if (!prefersText(headers.accept)) return wholeSessionView(whole, service.now())
      return sendText(reply, promptOf(whole, service.now()))
    },
  )

  app.post(
    '/sessions/:key/messages',
    {
      config: { needs: 'submit' },
      schema: {
        operationId: 'addMessages',
        tag: 'sessions',
        summary: 'Say that the conversation went on',
        description: 'A submission counts as a message by itself. The answer says how the session stands.',
        params: requests.sessionParams,
        body: requests.messagesBody,
        response: { 200: answers.countedMessages },
        problems: ['disk_limited'],
      },
    },
    async ({ params, body, caller }) => {
      const state = granted(await sessions.addMessages(params.key, body?.count ?? 1, caller, 'http'))
      return { session: sessionStateView(state) }
    },
  )

  /** What operators do to a session has its record as the answer. */
  const steering = { needs: 'steer' as const }
  const ofOne = {
    tag: 'sessions' as const,
    params: requests.sessionParams,
    querystring: requests.sessionQuery,
    response: { 200: answers.session },
    problems: ['ambiguous_session'] as const,
  }

  app.post(
    '/sessions/:key/reset',
    {
      config: steering,
      schema: {
        ...ofOne,
        operationId: 'resetSession',
        summary: 'Begin a session anew: its grants end, and so does a suspension',
        description: 'It gets another session id, at once or when what is pending or claimed is over; see `due_since`.',
        body: requests.resetBody,
      },
    },
    async ({ params, query, body, caller }) => {
      const by = nameOr(body?.reset_by, 'api')
      return sessionView(granted(await sessions.reset(named(params, query), by, caller, viaOf(caller))), service.now())
    },
  )

  app.post(
    '/sessions/:key/suspend',
    {
      config: steering,
      schema: {
        ...ofOne,
        operationId: 'suspendSession',
        summary: 'Take nothing from a session any more',
        description: 'Every submission and claim is refused with 423, until it is resumed or reset.',
        body: requests.suspendBody,
      },
    },
    async ({ params, query, body, caller }) => {
      const by = nameOr(body?.suspended_by, 'api')
      const reason = textOrNull(body?.reason)
      const done = await sessions.suspend(named(params, query), reason, by, caller, viaOf(caller))
      return sessionView(granted(done), service.now())
    },
  )

  app.post(
    '/sessions/:key/resume',
    {
      config: steering,
      schema: {
        ...ofOne,
        operationId: 'resumeSession',
        summary: 'Let a suspended session go on',
        description: "Its grants stand as they did, and so does its streak: only a person's approval ends that.",
        body: requests.resumeBody,
      },
    },
    async ({ params, query, body, caller }) => {
      const by = nameOr(body?.resumed_by, 'api')
      const reason = textOrNull(body?.reason)
      const done = await sessions.resume(named(params, query), reason, by, caller, viaOf(caller))
      return sessionView(granted(done), service.now())
    },
  )

  app.post(
    '/sessions/:key/switch',
    {
      config: steering,
      schema: {
        ...ofOne,
        operationId: 'switchSession',
        summary: 'Go back to an earlier id of a session',
        description: 'Its counts come back, its grants do not. It may have to wait, as a reset may.',
        body: requests.switchBody,
      },
    },
    async ({ params, query, body, caller }) => {
      const by = nameOr(body.switched_by, 'api')
      const done = await sessions.switchTo(named(params, query), body.session_id, by, caller, viaOf(caller))
      return sessionView(granted(done), service.now())
    },
  )
}

function sendText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/plain; charset=utf-8').send(text)
}

function named({ key }: { key: string }, { requester }: { requester?: string | undefined }) {
  return { key, requester: requester ?? null }
}
