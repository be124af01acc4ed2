// Keys and roles: who is let in, to what, until when; and that no secret is kept anywhere.
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { parse } from 'yaml'
import { type Role, roles } from '../../src/access/role.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { withTelegram } from '../notify/chats.js'
import { locally } from '../actors.js'
import {
  type Answer,
  build,
  type Built,
  giveKeys,
  manualClock,
  t0,
  temporaryFolder,
  until,
  withKey,
} from '../support.js'

const everyone = { bot: 'agent', olga: 'operator', audrey: 'auditor', root: 'admin', plat: 'provisioner' } as const

interface Route {
  roles: Role[]
  /** What whoever is let in is answered, to this body. */
  answers: number
  body?: unknown
}

const acting: Role[] = ['agent', 'admin']
const reading: Role[] = ['agent', 'operator', 'auditor', 'admin']
const surveying: Role[] = ['operator', 'auditor', 'admin']
const deciding: Role[] = ['operator', 'admin']
const provisioning: Role[] = ['admin', 'provisioner']
const asked = { action: 'a', description: 'd' }

/** Every route there is, written out: one that is added must be added here. */
const matrix: Record<string, Route> = {
  'POST /confirm': { roles: acting, answers: 202, body: asked },
  'POST /confirm/batch': { roles: acting, answers: 200, body: { items: [asked] } },
  'POST /confirm/{id}/cancel': { roles: acting, answers: 404 },
  'POST /confirm/{id}/claim': { roles: acting, answers: 404 },
  'POST /confirm/{id}/report': { roles: acting, answers: 404, body: { outcome: 'failed' } },
  'GET /confirm': { roles: reading, answers: 200 },
  'GET /confirm/{id}': { roles: reading, answers: 404 },
  'GET /confirm/{id}/events': { roles: reading, answers: 404 },
  'GET /short-ids/{short_id}': { roles: reading, answers: 404 },
  'GET /openapi.yaml': { roles: reading, answers: 200 },
  'POST /confirm/{id}/approve': { roles: deciding, answers: 404 },
  'POST /confirm/{id}/deny': { roles: deciding, answers: 404 },
  'POST /decisions': { roles: deciding, answers: 200, body: { decisions: [{ id: 'nope', verdict: 'deny' }] } },
  'GET /whitelist': { roles: surveying, answers: 200 },
  'POST /whitelist': { roles: deciding, answers: 201, body: { action: 'w' } },
  'DELETE /whitelist/{id}': { roles: deciding, answers: 404 },
  'GET /sessions': { roles: reading, answers: 200 },
  'GET /sessions/{key}': { roles: reading, answers: 404 },
  'POST /sessions/{key}/messages': { roles: acting, answers: 200 },
  'POST /sessions/{key}/reset': { roles: deciding, answers: 404 },
  'POST /sessions/{key}/suspend': { roles: deciding, answers: 404 },
  'POST /sessions/{key}/resume': { roles: deciding, answers: 404 },
  'POST /sessions/{key}/switch': { roles: deciding, answers: 404, body: { session_id: 'nope' } },
  'POST /sessions/gc': { roles: ['admin'], answers: 200, body: {} },
  'GET /sessions/gc/progress': { roles: ['admin'], answers: 200 },
  'GET /audit': { roles: surveying, answers: 200 },
  'GET /audit/events': { roles: surveying, answers: 200 },
  // Answered by streams of which one would never end, were it not for this.
  'GET /audit/export': { roles: surveying, answers: 400 },
  'GET /audit/events/export': { roles: surveying, answers: 400 },
  'GET /events': { roles: surveying, answers: 400 },
  'GET /ready': { roles: surveying, answers: 200 },
  'GET /metrics': { roles: surveying, answers: 200 },
  'GET /keys': { roles: ['auditor', 'admin'], answers: 200 },
  'POST /keys': { roles: ['admin'], answers: 400, body: {} },
  'POST /keys/{id}/rotate': { roles: ['admin'], answers: 404 },
  'POST /keys/{id}/sign-in-link': { roles: ['admin'], answers: 404 },
  'DELETE /keys/{id}': { roles: ['admin'], answers: 404 },
  'GET /people': { roles: ['auditor', 'admin'], answers: 200 },
  'PUT /people/{name}': { roles: ['admin'], answers: 200 },
  'POST /aap/v1/requests': { roles: acting, answers: 201, body: { tool: 't', arguments: {}, timeout: '1m' } },
  'GET /aap/v1/requests/{id}': { roles: acting, answers: 404 },
  'DELETE /aap/v1/requests/{id}': { roles: acting, answers: 404 },
  'POST /aap/v1/instances': { roles: provisioning, answers: 201, body: {} },
  'GET /aap/v1/instances/{id}': { roles: provisioning, answers: 404 },
  'PATCH /aap/v1/instances/{id}': { roles: provisioning, answers: 404, body: { instance_name: 'x' } },
  'DELETE /aap/v1/instances/{id}': { roles: provisioning, answers: 404 },
}
const openToAll = ['GET /health']
/** For those who submit; whoever may not is answered with a denial. */
const hooks = ['POST /hooks/claude-code']

type Method = Parameters<Built['call']>[0]

const queryOf: Record<string, string> = {
  '/events': '?type=nothing',
  '/audit/export': '?format=nothing',
  '/audit/events/export': '?format=nothing',
}

const ask = (call: Built['call'], route: string, body?: unknown): Promise<Answer> => {
  const [method, path] = route.split(' ') as [Method, string]
  const key = path.endsWith('/messages') ? 'talk' : 'nope'
  const url = path.replace('{id}', 'nope').replace('{name}', 'somebody').replace('{key}', key)
  const headers = path.startsWith('/aap/') ? { 'idempotency-key': 'k' } : undefined
  return call(method, `${url}${queryOf[path] ?? ''}`, body, headers)
}

/** In either shape. */
const codeIn = ({ body }: Answer) => body.error?.code ?? body.code
const typeOn = (route: string) => (route.includes(' /aap/') ? /^application\/json/ : /^application\/problem\+json/)

t.test('the table knows every route that is described', async (t) => {
  const { openapi } = await build(t)
  const { paths } = parse(openapi()) as { paths: Record<string, Record<string, { description?: string }>> }
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  t.same(described.sort(), [...Object.keys(matrix), ...openToAll, ...hooks].sort())
  for (const [route, { roles: allowed }] of Object.entries(matrix)) {
    const [method, path] = route.split(' ') as [string, string]
    const { description } = paths[path]![method.toLowerCase()]!
    t.equal(description?.split('\n').at(-1), `Roles: ${allowed.join(', ')}.`, route)
  }
})

for (const [name, role] of Object.entries(everyone)) {
  t.test(`the role '${role}' is let in where it belongs, and refused everywhere else`, async (t) => {
    const built = await build(t, { config: { floodLimit: 0 } })
    const keys = await giveKeys(built, everyone)
    const { events } = auditing(keys.audrey)
    for (const [route, { roles: allowed, answers, body }] of Object.entries(matrix)) {
      const answer = await ask(keys[name as keyof typeof keys], route, body)
      const isAllowed = allowed.includes(role)
      t.equal(answer.status, isAllowed ? answers : 403, route)
      if (!isAllowed) {
        t.equal(codeIn(answer), 'forbidden', route)
        t.match(answer.headers['content-type'], typeOn(route))
        const [method, path] = route.split(' ')
        t.match((await events()).at(-1), {
          type: 'rejected',
          actor: name,
          data: { code: 'forbidden', method, route: path!.replace(/\{(\w+)\}/, ':$1'), address: '127.0.0.1' },
        })
      }
      // The manual clock stands still, and thirty refusals are looked at in a minute.
      await built.clock.advance(5000)
    }
    for (const route of openToAll) t.equal((await ask(keys[name as keyof typeof keys], route)).status, 200)
    for (const route of hooks) {
      const { status, body } = await ask(keys[name as keyof typeof keys], route, {})
      t.equal(status, 200, route)
      const code = acting.includes(role) ? 'invalid_request' : 'forbidden'
      t.match(body.hookSpecificOutput, { permissionDecision: 'deny', permissionDecisionReason: `(${code})` }, route)
    }
  })
}

t.test('without a key everything is refused, also what does not exist', async (t) => {
  const built = await build(t, { config: { floodLimit: 0 } })
  await giveKeys(built, everyone)
  for (const [route, { body }] of Object.entries(matrix)) {
    const answer = await ask(built.call, route, body)
    t.equal(answer.status, 401, route)
    t.equal(codeIn(answer), 'unauthorized')
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="holdpoint"')
    t.match(answer.headers['content-type'], typeOn(route))
    await built.clock.advance(5000)
  }
  for (const path of ['/nowhere', '/confirm/x/y/z', '/.env']) t.equal((await built.call('GET', path)).status, 401, path)
  t.equal((await built.call('PUT', '/confirm')).status, 401)
  for (const route of openToAll) t.equal((await ask(built.call, route)).status, 200)
})

t.test(
  'while there is no key, a service that asks for one says how to make it, but not to others where it is',
  async (t) => {
    const here = await build(t, { config: { auth: 'keys' } })
    const none = 'This service asks for a key, and it has none: whoever runs it makes one'
    const sentence = async ({ call }: Pick<Built, 'call'>) => (await call('GET', '/confirm')).body.error
    t.equal(await sentence(here), `${none}: holdpoint keys add --name NAME --role admin`)
    t.match((await here.call('GET', '/login')).body, 'holdpoint keys add --name NAME --role admin')
    for (const config of [{ host: '0.0.0.0' }, { publicUrl: 'https://hold.example' }]) {
      const there = await build(t, { config: { auth: 'keys', ...config } })
      t.equal(await sentence(there), `${none}. Its log says how.`)
    }
  },
)

t.test('HEAD asks for what GET asks for', async (t) => {
  const built = await build(t)
  const { audrey } = await giveKeys(built, everyone)
  for (const url of ['/audit', '/keys', '/confirm', '/metrics']) {
    t.equal((await built.app.inject({ method: 'HEAD', url })).statusCode, 401, url)
    const headers = { authorization: `Bearer ${audrey.key}` }
    t.equal((await built.app.inject({ method: 'HEAD', url, headers })).statusCode, 200, url)
  }
})

t.test('while there is no key, everyone may do everything but say who is who', async (t) => {
  const built = await build(t)
  for (const [route, { answers, body }] of Object.entries(matrix)) {
    if (route.startsWith('POST /keys') || route.startsWith('PUT /people')) continue
    // The Agent Approval Protocol knows nobody who has no credential.
    const wanted = route.includes(' /aap/') ? 401 : answers
    t.equal((await ask(built.call, route, body)).status, wanted, route)
  }
  t.match(await built.call('GET', '/health'), { body: { auth: 'open' } })
})

t.test('the first key closes the service, and revoking the last one does not open it again', async (t) => {
  const built = await build(t)
  const { call } = built
  const made = await call('POST', '/keys', { name: 'root', role: 'admin' })
  t.equal(made.status, 201)
  t.match(made.body, { name: 'root', role: 'admin', state: 'live', key: /^hpk_[0-9a-f]{12}_[0-9a-f]{64}$/ })
  t.match(await call('GET', '/health'), { body: { auth: 'keys' } })
  t.equal((await call('POST', '/keys', { name: 'eve', role: 'admin' })).status, 401)
  const root = withKey(call, made.body.key)
  t.match(await root('DELETE', `/keys/${made.body.id}`), { status: 200, body: { state: 'revoked' } })
  t.equal((await root('GET', '/keys')).status, 401)
  t.equal((await call('GET', '/keys')).status, 401)
  t.match(await call('GET', '/health'), { body: { auth: 'keys' } })
})

t.test('an expired key keeps it closed as well, also after a restart', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const before = await build(t, { dbPath })
  const { key } = (await before.call('POST', '/keys', { name: 'root', role: 'admin', expires_in_seconds: 60 })).body
  const root = withKey(before.call, key)
  await before.clock.advance(59_999)
  t.equal((await root('GET', '/keys')).status, 200)
  await before.clock.advance(1)
  t.match(await root('GET', '/keys'), { status: 401, body: { code: 'unauthorized' } })
  t.equal((await before.call('GET', '/audit')).status, 401)
  await before.stop()
  const after = await build(t, { dbPath, clock: manualClock(t0 + 60_000) })
  t.equal((await after.call('GET', '/audit')).status, 401)
  t.match(await after.call('GET', '/health'), { body: { auth: 'keys' } })
})

t.test('a key that was made before a restart is good after it', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const before = await build(t, { dbPath })
  const { bot, root } = await giveKeys(before, everyone)
  await root('DELETE', `/keys/${bot.keyId}`)
  await before.stop()
  const after = await build(t, { dbPath })
  t.equal((await withKey(after.call, root.key)('GET', '/keys')).status, 200)
  t.equal((await withKey(after.call, bot.key)('GET', '/confirm')).status, 401)
})

t.test('keys are listed with whose they are and how they stand, never with what they are', async (t) => {
  const built = await build(t)
  const { root, bot } = await giveKeys(built, everyone)
  await root('DELETE', `/keys/${bot.keyId}`)
  const { body } = await root('GET', '/keys')
  t.match(body, {
    count: 5,
    keys: [
      { name: 'bot', role: 'agent', state: 'revoked', created_by: 'local', revoked_at: t0 / 1000 },
      { name: 'olga', role: 'operator', state: 'live', expires_at: null },
      { name: 'audrey', role: 'auditor' },
      { name: 'root', role: 'admin' },
      { name: 'plat', role: 'provisioner' },
    ],
  })
  t.notMatch(JSON.stringify(body), /hpk_|hash/)
})

t.test('revoking again changes nothing, and a key that is not there is not found', async (t) => {
  const built = await build(t)
  const { root, bot, audrey } = await giveKeys(built, everyone)
  const first = await root('DELETE', `/keys/${bot.keyId}`)
  await built.clock.advance(1000)
  t.same((await root('DELETE', `/keys/${bot.keyId}`)).body, first.body)
  const { events } = auditing(audrey)
  t.equal((await events()).filter(({ type }) => type === 'key_revoked').length, 1)
  t.match(await root('DELETE', '/keys/000000000000'), { status: 404, body: { code: 'not_found' } })
  t.match(await root('POST', '/keys/000000000000/rotate'), { status: 404, body: { code: 'not_found' } })
})

t.test('a rotated key stays good for the overlap, and the new one after it', async (t) => {
  const built = await build(t)
  const { root, olga, audrey } = await giveKeys(built, everyone)
  const rotated = await root('POST', `/keys/${olga.keyId}/rotate`, { overlap_seconds: 60 })
  t.equal(rotated.status, 201)
  t.match(rotated.body, {
    name: 'olga',
    role: 'operator',
    expires_at: null,
    replaces: { id: olga.keyId, state: 'live', expires_at: t0 / 1000 + 60 },
  })
  const fresh = withKey(built.call, rotated.body.key)
  for (const key of [olga, fresh]) t.equal((await key('GET', '/audit')).status, 200)
  await built.clock.advance(60_000)
  t.equal((await olga('GET', '/audit')).status, 401)
  t.equal((await fresh('GET', '/audit')).status, 200)
  const { events } = auditing(audrey)
  t.match(
    (await events()).filter(({ type }) => type === 'key_rotated'),
    [{ actor: 'root', data: { key_id: rotated.body.id, old_key_id: olga.keyId, name: 'olga', overlap_seconds: 60 } }],
  )
})

t.test('rotating without overlap ends the old key at once; what is not good cannot be rotated', async (t) => {
  const built = await build(t)
  const { root, olga, bot } = await giveKeys(built, everyone)
  const { body } = await root('POST', `/keys/${olga.keyId}/rotate`, { overlap_seconds: 0 })
  t.equal(body.replaces.state, 'expired')
  t.equal((await olga('GET', '/audit')).status, 401)
  t.match(await root('POST', `/keys/${olga.keyId}/rotate`), { status: 409, body: { code: 'key_not_live' } })
  await root('DELETE', `/keys/${bot.keyId}`)
  t.match(await root('POST', `/keys/${bot.keyId}/rotate`), { status: 409, body: { code: 'key_not_live' } })
  t.equal((await root('POST', `/keys/${root.keyId}/rotate`)).status, 201, 'a day, when nothing is said')
})

t.test('a rotated key lives as long as the old one was meant to, and never prolongs it', async (t) => {
  const built = await build(t)
  const { root } = await giveKeys(built, everyone)
  const short = (await root('POST', '/keys', { name: 'temp', role: 'operator', expires_in_seconds: 100 })).body
  await built.clock.advance(40_000)
  const { body } = await root('POST', `/keys/${short.id}/rotate`, { overlap_seconds: 1000 })
  t.equal(body.expires_at, t0 / 1000 + 140)
  t.equal(body.replaces.expires_at, t0 / 1000 + 100)
})

t.test('of many who rotate one key at once, one gets the key in its place; that one can be rotated next', async (t) => {
  const built = await build(t)
  const { root, olga } = await giveKeys(built, everyone)
  const url = `/keys/${olga.keyId}/rotate`
  const made = await Promise.all(Array.from({ length: 5 }, () => root('POST', url, { overlap_seconds: 10 })))
  const [first, ...others] = made.filter(({ status }) => status === 201)
  t.same(others, [])
  const refused = made.filter(({ status }) => status === 409)
  t.equal(refused.length, 4)
  for (const { body } of refused) t.match(body, { code: 'key_not_live', error: new RegExp(first!.body.id) })
  t.match(await root('GET', '/keys'), { body: { count: 5 } })
  const next = await root('POST', `/keys/${first!.body.id}/rotate`)
  t.match(next, { status: 201, body: { expires_at: null, replaces: { replaced_by: next.body.id } } })
})

t.test('whoever waits with a key that is revoked meanwhile is not told how it ended', async (t) => {
  const built = await build(t)
  const { bot, olga, root } = await giveKeys(built, everyone)
  const { id } = (await bot('POST', '/confirm', asked)).body
  const waiting = bot('GET', `/confirm/${id}?wait=60`)
  await until(() => built.service.countListeners().one === 1)
  await root('DELETE', `/keys/${bot.keyId}`)
  await olga('POST', `/confirm/${id}/approve`)
  t.match(await waiting, { status: 401, body: { code: 'unauthorized' } })
})

t.test('nor when nothing happens until the time is over', async (t) => {
  const built = await build(t)
  const { bot, root } = await giveKeys(built, everyone)
  const waiting = bot('POST', '/confirm?wait=60', asked)
  await until(() => built.service.countListeners().one === 1)
  await root('DELETE', `/keys/${bot.keyId}`)
  await built.clock.advance(60_000)
  t.match(await waiting, { status: 401, body: { code: 'unauthorized' } })
})

t.test('nor when the key expires while it is held', async (t) => {
  const built = await build(t)
  const { root } = await giveKeys(built, everyone)
  const made = (await root('POST', '/keys', { name: 'temp', role: 'agent', expires_in_seconds: 30 })).body
  const waiting = withKey(built.call, made.key)('POST', '/confirm?wait=60', asked)
  await until(() => built.service.countListeners().one === 1)
  await built.clock.advance(60_000)
  t.equal((await waiting).status, 401)
})

t.test('the first key also ends what was held while the service was open', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  const waiting = built.call('GET', `/confirm/${id}?wait=60`)
  await until(() => built.service.countListeners().one === 1)
  const { olga } = await giveKeys(built, { olga: 'operator' })
  await olga('POST', `/confirm/${id}/deny`)
  t.match(await waiting, { status: 401, body: { code: 'unauthorized' } })
})

async function stream(t: Test, { app }: Built, path: string, key?: string) {
  if (app.server.address() === null) await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const response = await request(`http://127.0.0.1:${port}${path}`, { headers, bodyTimeout: 0 })
  let text = ''
  let isOver = false
  response.body.setEncoding('utf8')
  response.body.on('data', (chunk: string) => (text += chunk))
  response.body.on('end', () => (isOver = true))
  response.body.on('error', () => (isOver = true))
  t.teardown(() => response.body.destroy())
  return { status: response.statusCode, text: () => text, isOver: () => isOver }
}

t.test('a stream ends with the key that opened it, and tells nothing more', async (t) => {
  const built = await build(t)
  const { bot, audrey, olga, root } = await giveKeys(built, everyone)
  const { id } = (await bot('POST', '/confirm', asked)).body
  const [own, all] = [
    await stream(t, built, `/confirm/${id}/events`, bot.key),
    await stream(t, built, '/events?after=0', audrey.key),
  ]
  t.equal(own.status, 200)
  t.equal(all.status, 200)
  await until(() => own.text().includes('submitted') && all.text().includes('submitted'))
  for (const { keyId } of [bot, audrey]) await root('DELETE', `/keys/${keyId}`)
  await olga('POST', `/confirm/${id}/deny`, { reason: 'told to nobody' })
  await until(() => own.isOver() && all.isOver())
  for (const one of [own, all]) t.notMatch(one.text(), /told to nobody|denied/)
})

t.test('who else was refused is told in no stream of an agent', async (t) => {
  const built = await build(t)
  const { bot, audrey, olga } = await giveKeys(built, everyone)
  const { id } = (await bot('POST', '/confirm', asked)).body
  t.equal((await audrey('POST', `/confirm/${id}/approve`)).status, 403)
  t.equal((await bot('POST', `/confirm/${id}/approve`)).status, 403)
  const own = await stream(t, built, `/confirm/${id}/events`, bot.key)
  const all = await stream(t, built, `/confirm/${id}/events`, audrey.key)
  await olga('POST', `/confirm/${id}/deny`)
  await until(() => own.isOver() && all.isOver())
  t.equal(all.text().split('event: rejected').length, 3)
  t.equal(own.text().split('event: rejected').length, 2)
  t.notMatch(own.text(), /audrey/)
})

t.test('a stream of an open service ends with the first key', async (t) => {
  const built = await build(t)
  const all = await stream(t, built, '/events?after=0')
  await built.submit()
  await until(() => all.text().includes('submitted'))
  const { bot } = await giveKeys(built, everyone)
  await bot('POST', '/confirm', { ...asked, description: 'told to nobody' })
  await until(() => all.isOver())
  t.notMatch(all.text(), /told to nobody/)
})

t.test('guessing ends in a pause, but a good key is let in all the while', async (t) => {
  const built = await build(t, { config: { floodLimit: 0 } })
  const { bot, audrey } = await giveKeys(built, everyone)
  const guess = (digit: number) => `hpk_${bot.keyId}_${String(digit).padStart(64, '0')}`
  for (let i = 0; i < 30; i++) t.equal((await withKey(built.call, guess(i))('GET', '/confirm')).status, 401)
  const paused = await withKey(built.call, guess(31))('GET', '/confirm')
  const headers = { 'retry-after': 60, connection: 'close' }
  t.match(paused, { status: 429, body: { code: 'guess_limited' }, headers })
  t.equal((await built.call('GET', '/confirm')).status, 429, 'also without any')
  t.equal((await bot('GET', '/confirm')).status, 200)
  const { events } = auditing(audrey)
  const rejected = (await events()).filter(({ type }) => type === 'rejected')
  t.equal(rejected.length, 31, 'what is refused unseen is written down once')
  t.match(rejected.at(-1), { actor: 'unknown', data: { code: 'guess_limited', route: '/confirm' } })
  t.match((await audrey('GET', '/metrics')).body, /limiter_refusals_total\{limiter="guess"\} 2/)
  t.match(rejected[0], { actor: 'unknown', data: { code: 'unauthorized', address: '127.0.0.1', route: '/confirm' } })
  await built.clock.advance(60_000)
  t.equal((await withKey(built.call, guess(32))('GET', '/confirm')).status, 401)
})

t.test('one who guesses holds up nobody at another address', async (t) => {
  const built = await build(t, { config: { floodLimit: 0 } })
  await giveKeys(built, everyone)
  const from = async (remoteAddress: string, headers = {}) =>
    (await built.app.inject({ method: 'GET', url: '/confirm', remoteAddress, headers })).statusCode
  for (let i = 0; i < 30; i++) await from('192.0.2.1')
  t.equal(await from('192.0.2.1'), 429)
  t.equal(await from('192.0.2.1', { 'x-forwarded-for': '192.0.2.9', forwarded: 'for=192.0.2.9' }), 429)
  t.equal(await from('192.0.2.2'), 401)
  for (let i = 0; i < 30; i++) await from(`127.0.0.${i + 1}`)
  for (const own of ['127.9.9.9', '::1', '::ffff:127.0.0.5'])
    t.equal(await from(own), 429, 'this machine is one address')
  for (let i = 0; i < 30; i++) await from(`2001:db8::${i}`)
  t.equal(await from('2001:db8::ffff'), 429, 'a network of IPv6 is one address')
  t.equal(await from('2001:db9::1'), 401)
})

t.test('one with a key who tries what it may not is paused too, and goes on with what it may', async (t) => {
  const built = await build(t, { config: { floodLimit: 0, rateLimit: 100 } })
  const { bot, olga } = await giveKeys(built, everyone)
  const { id } = (await bot('POST', '/confirm', asked)).body
  for (let i = 0; i < 30; i++) t.equal((await bot('POST', `/confirm/${id}/approve`)).status, 403)
  for (let i = 0; i < 5; i++) {
    t.match(await bot('POST', `/confirm/${id}/approve`), { status: 429, body: { code: 'guess_limited' } })
  }
  const told = (await olga('GET', '/audit/events?type=rejected&actor=bot&limit=100')).body.events
  t.equal(told.filter(({ data }: any) => data.code === 'guess_limited').length, 1, 'that there was more is on record')
  t.equal((await bot('POST', '/confirm', asked)).status, 202)
  t.equal((await olga('GET', `/confirm/${id}`)).body.status, 'pending')
})

t.test('only a bearer is read, in whatever case, and only one', async (t) => {
  const built = await build(t)
  const { bot } = await giveKeys(built, everyone)
  const status = async (authorization: string) =>
    (await built.call('GET', '/confirm', undefined, { authorization })).status
  for (const right of [`Bearer ${bot.key}`, `bearer ${bot.key}`, `BEARER  ${bot.key} `]) {
    t.equal(await status(right), 200, right.slice(0, 8))
  }
  const basic = Buffer.from(`bot:${bot.key}`).toString('base64')
  for (const wrong of [
    bot.key,
    `Basic ${basic}`,
    `Bearer`,
    `Bearer ${bot.key} ${bot.key}`,
    `Bearer "${bot.key}"`,
    `Bearer ${bot.key.toUpperCase()}`,
    `Bearer ${bot.key.slice(0, -1)}`,
    `Token ${bot.key}`,
  ]) {
    t.equal(await status(wrong), 401, wrong.slice(0, 12))
  }
  t.equal((await built.call('GET', `/confirm?key=${bot.key}&access_token=${bot.key}`)).status, 401, 'not in the URL')
})

t.test(
  'no key, no link and no button is in the events, the log or the database, whatever was done with it',
  async (t) => {
    const built = await withTelegram(t, {}, '4242')
    const keys = await giveKeys(built, everyone)
    const { bot, olga, audrey, root } = keys
    const made = (await root('POST', '/keys', { name: 'fresh', role: 'operator', telegram_id: '1001' })).body
    const rotated = (await root('POST', `/keys/${made.id}/rotate`, { overlap_seconds: 0 })).body
    const { id } = (await bot('POST', '/confirm', asked)).body
    await until(() => built.telegram.messages.length === 1)
    const [, token] = /\/link\/([\w-]+)/.exec(built.telegram.messages[0]!.text)!
    t.equal(token!.length, 43, '256 bits')
    const buttons = built.telegram.messages[0]!.buttons.flat().map((one) => String(one.callback_data))
    const pressed = buttons.map((data) => /^\w+:([\w-]{43})$/.exec(data)![1]!)
    t.equal(pressed.length, 2)
    const headers = { origin: 'http://127.0.0.1:6000', host: '127.0.0.1:6000' }
    await built.app.inject({ method: 'GET', url: `/link/${token}` })
    await built.app.inject({ method: 'POST', url: `/link/${token}`, headers })
    await built.app.inject({ method: 'POST', url: '/login', headers, payload: `key=${olga.key}` })
    for (const wrong of [`${olga.key}0`, made.key]) await withKey(built.call, wrong)('GET', '/audit')
    await built.call('GET', `/confirm/${bot.key}`, undefined, { authorization: `Basic ${bot.key}` })
    await olga('POST', `/confirm/${id}/approve`)
    await root('DELETE', `/keys/${bot.keyId}`)
    const { events } = auditing(audrey)
    const history = JSON.stringify(await events())
    const log = JSON.stringify(built.logged)
    await built.stop()
    const folder = dirname(built.dbPath)
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
    t.ok(files.some((text) => text.includes(id)))
    for (const secret of [...Object.values(keys).map(({ key }) => key), made.key, rotated.key, token!, ...pressed]) {
      // All of it, or what is secret of it.
      for (const part of [secret, secret.slice(-43)]) {
        t.notOk(history.includes(part), 'the events')
        t.notOk(log.includes(part), 'the log')
        for (const text of files) t.notOk(text.includes(part), 'the database')
      }
    }
  },
)

t.test('a key is shown once, and every change of keys is on record with who made it', async (t) => {
  const built = await build(t)
  const { root, audrey } = await giveKeys(built, everyone)
  const { id } = (await root('POST', '/keys', { name: 'x', role: 'agent', expires_in_seconds: 60 })).body
  await root('DELETE', `/keys/${id}`)
  const { events } = auditing(audrey)
  t.match((await events()).slice(-2), [
    { type: 'key_added', actor: 'root', channel: 'http', data: { key_id: id, name: 'x', expires_at: t0 / 1000 + 60 } },
    { type: 'key_revoked', actor: 'root', data: { key_id: id, name: 'x', role: 'agent' } },
  ])
})

t.test('nobody gets a name that looks like the name of another', async (t) => {
  const built = await build(t)
  const { root } = await giveKeys(built, everyone)
  for (const name of ['Olga', 'OLGA', 'о1ga'.replace('1', 'l'), 'ol ga', 'o.l.g.a', 'ólga', 'ｏlga']) {
    t.match(
      await root('POST', '/keys', { name, role: 'operator' }),
      { status: 409, body: { code: 'name_taken' } },
      name,
    )
    t.match(await root('PUT', `/people/${encodeURIComponent(name)}`), { status: 409 }, name)
  }
  t.equal((await root('POST', '/keys', { name: 'olga', role: 'agent' })).status, 201, 'their own second key')
  t.match(await root('GET', '/people'), { body: { count: 4 } })
})

t.test('nobody is called what the service calls itself, and what is no name is refused', async (t) => {
  const built = await build(t)
  const { root } = await giveKeys(built, everyone)
  for (const name of [
    'system',
    'Whitelist',
    'lоcal',
    'unknown',
    'telegram:-1001',
    'a\nb',
    '',
    ' ',
    '\u3164',
    5,
    null,
  ]) {
    const { status, body } = await root('POST', '/keys', { name, role: 'operator' })
    t.equal(status, 400, JSON.stringify(name))
    t.match(body.error, /^Field 'name'/)
  }
  for (const body of [
    { name: 'x' },
    { name: 'x', role: 'owner' },
    { name: 'x', role: 'agent', expires_in_seconds: 0 },
    { name: 'x', role: 'agent', expires_in: 60 },
    { name: 'x', role: 'agent', telegram_id: 'abc' },
  ]) {
    t.equal((await root('POST', '/keys', body)).status, 400, JSON.stringify(body))
  }
  t.match(await root('GET', '/keys'), { body: { count: 4 } })
})

t.test('of many look-alikes that are added at once, one is', async (t) => {
  const built = await build(t)
  const { root } = await giveKeys(built, everyone)
  const names = ['zed', 'Zed', 'ZED', 'z.ed', 'zéd']
  const made = await Promise.all(names.map((name) => root('POST', '/keys', { name, role: 'operator' })))
  t.same(made.map(({ status }) => status).sort(), [201, 409, 409, 409, 409])
})

t.test('a chat belongs to one person', async (t) => {
  const built = await build(t)
  const { root } = await giveKeys(built, everyone)
  t.match(await root('PUT', '/people/olga', { telegram_id: 77 }), { status: 200, body: { telegram_id: '77' } })
  t.match(await root('PUT', '/people/bot', { telegram_id: '77' }), { status: 409, body: { code: 'name_taken' } })
  t.match(await root('POST', '/keys', { name: 'new', role: 'agent', telegram_id: '77' }), { status: 409 })
  t.equal((await root('PUT', '/people/olga', { discord_id: '5' })).body.telegram_id, '77', 'what is left out stays')
  t.equal((await root('PUT', '/people/olga', { telegram_id: null })).body.telegram_id, null)
  t.equal((await root('PUT', '/people/bot', { telegram_id: '77' })).status, 200)
  const both = await Promise.all(
    ['audrey', 'newcomer'].map((name) => root('PUT', `/people/${name}`, { discord_id: '99' })),
  )
  t.same(both.map(({ status }) => status).sort(), [200, 409])
})

t.test("whoever asks with a key asks in its owner's name; another in the body is a comment", async (t) => {
  const built = await build(t)
  const { bot, olga, audrey } = await giveKeys(built, everyone)
  const { id, requester } = (await bot('POST', '/confirm', { ...asked, requester: 'olga' })).body
  t.equal(requester, 'bot')
  t.match(await olga('GET', `/confirm/${id}`), { body: { requester: 'bot', requested_as: 'olga' } })
  const { events } = auditing(audrey)
  t.match((await events()).filter(({ type }) => type === 'submitted')[0], {
    actor: 'bot',
    data: { requester: 'bot', requested_as: 'olga' },
  })
  for (const same of ['bot', ' ', undefined]) {
    const { body } = await bot('POST', '/confirm', { ...asked, requester: same })
    t.equal((await olga('GET', `/confirm/${body.id}`)).body.requested_as, null)
  }
})

t.test("whoever decides with a key decides in its owner's name; another in the body is a comment", async (t) => {
  const built = await build(t)
  const { bot, olga, audrey } = await giveKeys(built, everyone)
  const ids = []
  for (let i = 0; i < 3; i++) ids.push((await bot('POST', '/confirm', asked)).body.id)
  t.match(await olga('POST', `/confirm/${ids[0]}/approve`, { approver: 'root' }), {
    body: { resolved_by: 'olga', votes: [{ by: 'olga', comment: 'root' }] },
  })
  t.match(await olga('POST', `/confirm/${ids[1]}/deny`, { denier: 'olga' }), {
    body: { resolved_by: 'olga', votes: [{ comment: null }] },
  })
  const decisions = [{ id: ids[2], verdict: 'approve' }]
  t.match(await olga('POST', '/decisions', { decisions, decided_by: 'root' }), {
    body: { results: [{ body: { resolved_by: 'olga', votes: [{ by: 'olga', comment: 'root' }] } }] },
  })
  t.match(await olga('POST', '/whitelist', { action: 'w', granted_by: 'root' }), { body: { granted_by: 'olga' } })
  const { events } = auditing(audrey)
  t.match(
    (await events()).find(({ type }) => type === 'approved'),
    { actor: 'olga', data: { comment: 'root' } },
  )
})

t.test('nobody decides what they submitted, with any key of theirs', async (t) => {
  const built = await build(t)
  const { root, audrey } = await giveKeys(built, everyone)
  const ownOperator = withKey(built.call, (await root('POST', '/keys', { name: 'root', role: 'operator' })).body.key)
  const { id } = (await root('POST', '/confirm', asked)).body
  for (const key of [root, ownOperator]) {
    for (const [verb, name] of [
      ['approve', 'approver'],
      ['deny', 'denier'],
    ]) {
      const answer = await key('POST', `/confirm/${id}/${verb}`, { [name!]: 'olga' })
      t.match(answer, { status: 403, body: { code: 'own_request' } })
    }
    t.match(await key('POST', '/decisions', { decisions: [{ id, verdict: 'approve' }] }), {
      body: { results: [{ status_code: 403, body: { code: 'own_request' } }] },
    })
    t.match(await key('POST', `/confirm/${id}/approve`, { remember: 'global' }), { status: 403 })
  }
  t.match(await root('GET', `/confirm/${id}`), { body: { status: 'pending', votes: [] } })
  t.match(await root('GET', '/whitelist'), { body: { count: 0 } })
  const { events } = auditing(audrey)
  const rejected = (await events()).filter(({ type }) => type === 'rejected')
  t.equal(rejected.length, 8)
  for (const one of rejected) t.match(one, { actor: 'root', confirmation_id: id, data: { code: 'own_request' } })
})

t.test("what an agent asked for is its own: others' does not exist for it, and nobody else acts on it", async (t) => {
  const built = await build(t)
  const { bot, other, root, olga, audrey } = await giveKeys(built, { ...everyone, other: 'agent' })
  const { id } = (await bot('POST', '/confirm', asked)).body
  await olga('POST', `/confirm/${id}/approve`)
  for (const [method, path, body] of [
    ['GET', ''],
    ['GET', '?wait=60'],
    ['GET', '/events'],
    ['POST', '/cancel'],
    ['POST', '/claim'],
    ['POST', '/report', { outcome: 'succeeded' }],
  ] as const) {
    const answer = await other(method, `/confirm/${id}${path}`, body)
    const unknown = await other(method, `/confirm/${'x'.repeat(id.length)}${path}`, body)
    t.equal(answer.status, 404, path)
    t.equal(unknown.status, 404, path)
    t.same(Object.keys(answer.body), Object.keys(unknown.body), 'nothing tells them apart')
    const admin = await root(method, `/confirm/${id}${path}`, body)
    if (method === 'POST') t.match(admin, { status: 403, body: { code: 'not_yours' } }, path)
    else t.equal(admin.status, 200, path)
  }
  const { events } = auditing(audrey)
  const rejected = (await events()).filter(({ type }) => type === 'rejected')
  t.equal(rejected.filter(({ actor }) => actor === 'other').length, 6)
  for (const one of rejected) t.match(one, { confirmation_id: id, data: { code: 'not_yours' } })
  t.match(await other('GET', '/confirm'), { body: { count: 0 } })
  t.match(await other('GET', '/confirm?status=approved&action=a'), { body: { count: 0 } })
  t.match(await bot('GET', '/confirm'), { body: { count: 1 } })
  t.equal((await bot('POST', `/confirm/${id}/claim`)).status, 200)
})

t.test('an Idempotency-Key is its owner’s: another agent with the same one asks anew', async (t) => {
  const built = await build(t)
  const { bot, other } = await giveKeys(built, { ...everyone, other: 'agent' })
  const headers = { 'idempotency-key': 'k1' }
  const first = await bot('POST', '/confirm', { ...asked, description: 'of bot' }, headers)
  const spoofed = await other('POST', '/confirm', { ...asked, description: 'of bot', requester: 'bot' }, headers)
  t.equal(spoofed.status, 202)
  t.not(spoofed.body.id, first.body.id)
  t.notOk('idempotency-replayed' in spoofed.headers)
  const again = await bot('POST', '/confirm', { ...asked, description: 'of bot' }, headers)
  t.match(again, { body: { id: first.body.id }, headers: { 'idempotency-replayed': 'true' } })
  t.match(await other('POST', '/confirm', asked, headers), { status: 422, body: { id: spoofed.body.id } })
})

/** The history, read by somebody who may. */
function auditing(audrey: Built['call']) {
  return { events: async () => (await audrey('GET', '/audit/events?limit=500')).body.events as any[] }
}

t.test('the matrix is whole: every role is in it', async (t) => {
  t.same(Object.values(everyone).sort(), [...roles].sort())
})

// -- what began before --------------------------------------------------------------------------------------------------

/** Sends all of a request but the end of its body; what it returns sends that, and answers the status. */
async function begin(
  t: Test,
  { app }: Built,
  path: string,
  body: unknown,
  key?: string,
): Promise<() => Promise<number>> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
  const text = JSON.stringify(body)
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    `content-length: ${text.length}`,
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
  ]
  let answer = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk))
  let arrived = false
  app.server.once('request', () => (arrived = true))
  socket.write(`${lines.join('\r\n')}\r\n\r\n${text.slice(0, 1)}`)
  await until(() => arrived)
  return async () => {
    socket.write(text.slice(1))
    await until(() => answer.includes('\r\n'))
    return Number(answer.split(' ')[1])
  }
}

t.test('what began while the service was open does not end after the first key', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  const ends = [
    await begin(t, built, '/keys', { name: 'mallory', role: 'admin' }),
    await begin(t, built, `/confirm/${id}/approve`, { approver: 'alice' }),
    await begin(t, built, '/whitelist', { action: 'pay_rent', granted_by: 'alice' }),
    await begin(t, built, '/confirm', { action: 'a', description: 'b' }),
  ]
  const { root } = await giveKeys(built, { root: 'admin' })
  for (const end of ends) t.equal(await end(), 401)
  t.equal((await root('GET', `/confirm/${id}`)).body.status, 'pending')
  t.match(await root('GET', '/keys'), { body: { count: 1 } })
  t.match(await root('GET', '/whitelist'), { body: { count: 0 } })
  t.match(await root('GET', '/confirm'), { body: { count: 1 } })
})

t.test('what began with a key does not end after that is revoked', async (t) => {
  const built = await build(t)
  const { bot, olga, root } = await giveKeys(built, everyone)
  const { id } = (await bot('POST', '/confirm', { action: 'a', description: 'b' })).body
  const end = await begin(t, built, `/confirm/${id}/approve`, { reason: 'late' }, olga.key)
  await root('DELETE', `/keys/${olga.keyId}`)
  t.equal(await end(), 401)
  t.equal((await root('GET', `/confirm/${id}`)).body.status, 'pending')
})

t.test('what was whitelisted while the service was open counts no more after the first key', async (t) => {
  const built = await build(t)
  await built.call('POST', '/whitelist', { action: 'send_mail', granted_by: 'olga' })
  t.equal((await built.submit()).body.status, 'auto_approved')
  const { bot, olga } = await giveKeys(built, everyone)
  const mail = { action: 'send_mail', description: 'b' }
  t.equal((await bot('POST', '/confirm', mail)).body.status, 'pending')
  t.match(await olga('GET', '/whitelist'), { body: { count: 0 } })
  await olga('POST', '/whitelist', { action: 'send_mail' })
  t.equal((await bot('POST', '/confirm', mail)).body.status, 'auto_approved')
})

t.test('what has begun while the service was open is not done once the first key is on its way', async (t) => {
  // The first key comes after whoever asks was let in, while what they ask for is being looked up.
  let meanwhile: (() => Promise<unknown>) | null = null
  const pass = async () => {
    const other = meanwhile
    meanwhile = null
    await other?.()
  }
  const wrapStore = (store: Store): Store => ({
    ...store,
    confirmations: {
      ...store.confirmations,
      async get(id) {
        await pass()
        return store.confirmations.get(id)
      },
    },
    grants: {
      ...store.grants,
      mayCover: () => true,
      async covering(...asked) {
        await pass()
        return store.grants.covering(...asked)
      },
      async get(id) {
        await pass()
        return store.grants.get(id)
      },
    },
  })
  const grantId = async ({ call }: Built) => (await call('POST', '/whitelist', { action: 'tag' })).body.id as string
  for (const [method, path, body] of [
    ['POST', '/confirm', { action: 'a', description: 'b' }],
    ['POST', '/confirm/batch', { items: [{ action: 'a', description: 'b' }] }],
    ['POST', '/confirm/ID/approve', { approver: 'olga', remember: 'global' }],
    ['POST', '/confirm/ID/deny', { denier: 'olga' }],
    ['POST', '/confirm/ID/cancel', {}],
    ['POST', '/whitelist', { action: 'x', granted_by: 'olga' }],
    ['DELETE', '/whitelist/GRANT', undefined],
  ] as const) {
    const built = await build(t, { wrapStore })
    const { id } = (await built.submit()).body
    const url = path.replace('ID', id).replace('GRANT', await grantId(built))
    const by = locally
    let key = ''
    meanwhile = async () => {
      const made = await built.service.people.addKey({ name: 'root', role: 'admin', expiresInMs: null }, by)
      if ('secret' in made) key = made.secret
    }
    t.match(await built.call(method, url, body), { status: 401, body: { code: 'unauthorized' } }, `${method} ${path}`)
    const root = withKey(built.call, key)
    t.match(await root('GET', '/confirm'), { body: { count: 1, confirmations: [{ status: 'pending' }] } }, path)
    const types = (await root('GET', '/audit/events?limit=500')).body.events.map(({ type }: any) => type)
    t.equal(types.at(-1), 'key_added', path)
  }
})

t.test('of many who make the first key at once without one, one does', async (t) => {
  const { call, service } = await build(t)
  const made = await Promise.all(
    Array.from({ length: 10 }, (_, index) => call('POST', '/keys', { name: `root ${index}x`, role: 'admin' })),
  )
  t.same(made.map(({ status }) => status).sort(), [201, ...Array.from({ length: 9 }, () => 401)])
  t.equal(service.people.keys().length, 1)
})

t.test('a first key that cannot be written leaves the service open', async (t) => {
  let isFull = true
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) =>
      isFull && change.writes.some(({ kind }) => kind === 'key')
        ? Promise.reject(new StoreUnavailable('full'))
        : store.commit(change),
  })
  const { call } = await build(t, { wrapStore })
  const asked = { name: 'root', role: 'admin' }
  t.equal((await call('POST', '/keys', asked)).status, 503)
  t.match(await call('GET', '/health'), { body: { auth: 'open' } })
  isFull = false
  t.equal((await call('POST', '/keys', asked)).status, 201)
})

t.test('votes that count no more do not come back when their time is over', async (t) => {
  const built = await build(t, { rules: 'rules: [{ action: two_*, approvals: 2 }]' })
  const { id } = (await built.submit({ action: 'two_keys' })).body
  await built.call('POST', `/confirm/${id}/approve`, { approver: 'olga' })
  const { olga } = await giveKeys(built, everyone)
  await built.clock.advance(400_000)
  t.match(await olga('GET', `/confirm/${id}`), { body: { status: 'expired', approvals_given: 0, votes: [] } })
})

t.test('a vote that was given while the service was open counts no more after the first key', async (t) => {
  const built = await build(t, { rules: 'rules: [{ action: two_*, approvals: 2 }]' })
  const { id } = (await built.submit({ action: 'two_keys', requester: 'mallory' })).body
  const forged = await built.call('POST', `/confirm/${id}/approve`, { approver: 'olga' })
  t.match(forged, { status: 200, body: { approvals_given: 1, votes: [{ by: 'olga', proven: false }] } })
  const { olga, oscar } = await giveKeys(built, { ...everyone, oscar: 'operator' })
  t.match(await oscar('GET', `/confirm/${id}`), { body: { approvals_given: 0, votes: [] } })
  t.match((await oscar('GET', '/confirm?status=pending')).body.confirmations, [{ approvals_given: 0, votes: [] }])
  const first = await oscar('POST', `/confirm/${id}/approve`)
  t.match(first, {
    status: 200,
    body: { status: 'pending', approvals_given: 1, votes: [{ by: 'oscar', proven: true }] },
  })
  t.match(await olga('POST', `/confirm/${id}/approve`), { status: 200, body: { status: 'approved' } })
})

t.test(
  'an Idempotency-Key that was used in a name while the service was open is not used up for its owner',
  async (t) => {
    const built = await build(t)
    const asked = { action: 'send_mail', description: 'b' }
    const header = { 'idempotency-key': 'job-1' }
    const planted = (await built.call('POST', '/confirm', { ...asked, requester: 'bot' }, header)).body
    await built.call('POST', `/confirm/${planted.id}/approve`, { approver: 'olga' })
    const { bot } = await giveKeys(built, everyone)
    const own = await bot('POST', '/confirm', asked, header)
    t.match(own, { status: 202, body: { status: 'pending' } })
    t.not(own.body.id, planted.id)
    t.equal((await bot('POST', '/confirm', asked, header)).body.id, own.body.id)
  },
)

t.test('while the service is open nobody says over HTTP who is who', async (t) => {
  const built = await build(t)
  t.match(await built.call('PUT', '/people/alice', { telegram_id: '5' }), {
    status: 403,
    body: { code: 'forbidden', error: /Make a key first/ },
  })
  for (const chat of [{ telegram_id: '5' }, { discord_id: '5' }]) {
    const asked = { name: 'alice', role: 'operator', ...chat }
    t.match(await built.call('POST', '/keys', asked), { status: 403, body: { code: 'forbidden' } })
  }
  t.match(await built.call('GET', '/people'), { body: { count: 0 } })
  const told = (await built.events()).filter(({ type }) => type === 'rejected')
  t.equal(told.length, 3, 'who tried is on record')
  t.equal((await built.call('POST', '/keys', { name: 'alice', role: 'operator' })).status, 201)
})

t.test('a session that an operator remembers is remembered for whoever asked, not for all who name it', async (t) => {
  const built = await build(t)
  const { bot, other, olga } = await giveKeys(built, { ...everyone, other: 'agent' })
  const asked = { action: 'restart_worker', description: 'd', session_key: 'shared' }
  const { id } = (await bot('POST', '/confirm', asked)).body
  t.match(await olga('POST', `/confirm/${id}/approve`, { remember: 'session' }), {
    body: { status: 'approved', grant: { session_key: 'shared', requester: 'bot' } },
  })
  t.equal((await bot('POST', '/confirm', asked)).body.status, 'auto_approved')
  t.equal((await other('POST', '/confirm', asked)).body.status, 'pending')
  await olga('POST', '/whitelist', { action: 'restart_worker', session_key: 'shared', requester: 'other' })
  t.equal((await other('POST', '/confirm', asked)).body.status, 'auto_approved')
  t.match(await olga('GET', '/whitelist'), { body: { count: 2 } })
})

t.test("a group's id, and a number that has lost digits, are nobody's", async (t) => {
  const built = await build(t)
  const { root } = await giveKeys(built, everyone)
  for (const telegram_id of ['-1001', -1001, 123456789012345680000, 1.5, 'x', '']) {
    t.match(await root('PUT', '/people/olga', { telegram_id }), { status: 400, body: { error: /person's id/ } })
  }
  t.match(await root('PUT', '/people/olga', { telegram_id: 42 }), { status: 200, body: { telegram_id: '42' } })
})
