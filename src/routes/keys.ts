// /keys and /people: who may use the service, for administrators.
import type { FastifyRequest } from 'fastify'
import { type Key, stateOf } from '../access/key.js'
import { idIn, type Person } from '../access/person.js'
import { actorOf, type Caller } from '../access/role.js'
import { textOf, unknownActor } from '../core/actor.js'
import { refuse } from '../core/refusal.js'
import type { By, MadeKey } from '../service/people.js'
import { authorityOf } from '../service/settle.js'
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import * as answers from './answers.js'
import type { Auth } from './auth.js'
import { granted } from './errors.js'
import * as requests from './requests.js'
import { iso, seconds } from './view.js'
import { viaOf } from './voter.js'

const config = { needs: 'administer' as const }
const reading = { needs: 'inspect' as const }

/** `pagesUrl` is where people open the pages; `namePerson` the command that says who is who. */
export function keyRoutes(app: Api, service: Service, auth: Auth, pagesUrl: () => string, namePerson: string): void {
  const { people, signIns } = service
  const notForAnyone = refuse(
    'forbidden',
    `While there is no key, nobody can say over HTTP who is who. Make a key first, or say it by command: ${namePerson}`,
  )

  /** Who is who outlasts open mode, so it is not for anyone to say. */
  async function assertIsVerified(request: FastifyRequest): Promise<void> {
    if (request.caller.role === null) await auth.reject(request, notForAnyone, unknownActor)
  }

  app.get(
    '/keys',
    {
      config: reading,
      schema: {
        operationId: 'listKeys',
        tag: 'access',
        summary: 'List the keys, never their secrets',
        response: { 200: answers.keyList },
      },
    },
    async () => {
      const uses = await service.lastUses()
      const keys = people.keys().map((key) => keyView(key, service.now(), uses))
      return { count: keys.length, keys }
    },
  )

  app.post(
    '/keys',
    {
      config,
      schema: {
        operationId: 'addKey',
        tag: 'access',
        summary: 'Make a key; the answer shows it, this once',
        body: requests.keyBody,
        response: { 201: answers.madeKey },
        problems: ['name_taken'],
      },
    },
    async (request, reply) => {
      const { body, caller } = request
      const { name, role, expires_in_seconds } = body
      const chatIds = chatIdsIn(body)
      if (Object.values(chatIds).some((id) => id !== undefined)) await assertIsVerified(request)
      const expiresInMs = expires_in_seconds === undefined ? null : expires_in_seconds * 1000
      const asked = { name, role, expiresInMs, chatIds }
      const made = granted(await people.addKey(asked, byOf(caller)))
      return reply.code(201).send(madeKeyView(made, service.now()))
    },
  )

  app.post(
    '/keys/:id/rotate',
    {
      config,
      schema: {
        operationId: 'rotateKey',
        tag: 'access',
        summary: 'Make a key in the place of another',
        description: 'The other stays good for a while.',
        params: requests.idParams,
        body: requests.rotateBody,
        response: { 201: answers.madeKey },
        problems: ['key_not_live'],
      },
    },
    async ({ params, body, caller }, reply) => {
      const overlapMs = (body?.overlap_seconds ?? requests.usualOverlapSeconds) * 1000
      // Before the new key is made, which is shown this once: what fails now loses nothing.
      const uses = await service.lastUses()
      const made = granted(await people.rotateKey(params.id, overlapMs, byOf(caller)))
      const now = service.now()
      return reply.code(201).send({ ...madeKeyView(made, now), replaces: keyView(made.old, now, uses) })
    },
  )

  app.post(
    '/keys/:id/sign-in-link',
    {
      config,
      schema: {
        operationId: 'makeSignInLink',
        tag: 'access',
        summary: "Make a link that signs its recipient in with a person's key, once",
        description: 'It is good for five minutes, and no longer than the service runs and the key is good.',
        params: requests.idParams,
        response: { 201: answers.signInLink },
        problems: ['key_not_live'],
      },
    },
    async ({ params, caller }, reply) => {
      const { token, link, key } = granted(await signIns.makeLink(params.id, byOf(caller)))
      return reply.code(201).send({
        url: `${pagesUrl()}/signin/${token}`,
        key_id: key.id,
        name: key.person,
        role: key.role,
        expires_at: link.endsAt / 1000,
        expires_at_iso: iso(link.endsAt),
      })
    },
  )

  app.delete(
    '/keys/:id',
    {
      config,
      schema: {
        operationId: 'revokeKey',
        tag: 'access',
        summary: 'Revoke a key, at once',
        params: requests.idParams,
        response: { 200: answers.key.meta({ description: 'The key, which is good no more.' }) },
      },
    },
    async ({ params, caller }) => {
      const uses = await service.lastUses()
      const { key } = granted(await people.revokeKey(params.id, byOf(caller)))
      return keyView(key, service.now(), uses)
    },
  )

  app.get(
    '/people',
    {
      config: reading,
      schema: {
        operationId: 'listPeople',
        tag: 'access',
        summary: 'List people',
        response: { 200: answers.personList },
      },
    },
    async () => {
      const all = people.people().map(personView)
      return { count: all.length, people: all }
    },
  )

  app.put(
    '/people/:name',
    {
      config,
      schema: {
        operationId: 'setPerson',
        tag: 'access',
        summary: 'Name somebody, and say by which ids the chats know them',
        params: requests.nameParams,
        body: requests.personBody,
        response: { 200: answers.person },
        problems: ['name_taken'],
        needsKeyInOpenMode: true,
      },
    },
    async (request) => {
      const { params, body, caller } = request
      await assertIsVerified(request)
      const asked = { name: params.name, chatIds: chatIdsIn(body ?? {}) }
      const { person } = granted(await people.setPerson(asked, byOf(caller)))
      return personView(person)
    },
  )
}

export function byOf(caller: Caller): By {
  return { actor: actorOf(caller, 'api'), via: viaOf(caller), authority: authorityOf(caller) }
}

const neverUsed: ReadonlyMap<string, number> = new Map()

/** With its secret: it is shown this once. */
export function madeKeyView({ key, secret }: MadeKey, now: number) {
  return { ...keyView(key, now, neverUsed), key: secret }
}

function keyView(key: Key, now: number, uses: ReadonlyMap<string, number>) {
  const lastUsedAt = uses.get(key.id) ?? null
  return {
    id: key.id,
    name: key.person,
    role: key.role,
    state: stateOf(key, now),
    created_by: textOf(key.createdBy),
    created_at: key.createdAt / 1000,
    created_at_iso: iso(key.createdAt),
    expires_at: seconds(key.expiresAt),
    expires_at_iso: iso(key.expiresAt),
    revoked_at: seconds(key.revokedAt),
    revoked_at_iso: iso(key.revokedAt),
    replaced_by: key.replacedBy,
    last_used_at: seconds(lastUsedAt),
    last_used_at_iso: iso(lastUsedAt),
  }
}

type ChatId = string | null | undefined

function chatIdsIn(body: { telegram_id?: ChatId; discord_id?: ChatId; slack_id?: ChatId }) {
  return { telegram: body.telegram_id, discord: body.discord_id, slack: body.slack_id }
}

function personView(person: Person) {
  const { name, createdAt } = person
  return {
    name,
    telegram_id: idIn('telegram', person),
    discord_id: idIn('discord', person),
    slack_id: idIn('slack', person),
    created_at: createdAt / 1000,
    created_at_iso: iso(createdAt),
  }
}
