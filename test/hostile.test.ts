// An agent with a key of its own and full knowledge of the API, and nothing good in mind: no sequence of requests ends in
// its own approval, its own whitelist entry or another agent's record, and what it tried is in the audit.
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { hashSecret } from '../src/access/key.js'
import type { FakeTelegram } from './notify/fake-telegram.js'
import { withTelegram } from './notify/chats.js'
import { locally } from './actors.js'
import { type Answer, type Built, type CallAs, giveKeys, rulesFrom, t0, until } from './support.js'

const people = { mallory: 'agent', victim: 'agent', olga: 'operator', audrey: 'auditor', root: 'admin' } as const

/** Words that only the other agent's record has. */
const secret = 'the-secret-of-the-victim'

const rules = `
groups: { ops: [olga] }
rules:
  - { name: own, action: lax_*, own_requests: true, risk: low }
  - { name: two, action: two_*, approvals: 2 }
  - { name: ops, action: ops_*, deciders: ['group:ops'] }
`

interface Scene extends Built, Record<keyof typeof people, CallAs> {
  telegram: FakeTelegram
  /** The agent's own, which waits, and the other one's, approved and waiting. */
  mine: string
  theirs: { approved: string; pending: string }
  link: string
  /** Everything the agent was ever answered. */
  seen: string[]
  /** With the agent's key, whatever else it says. */
  attack(method: string, url: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  history(): Promise<any[]>
}

async function scene(t: Test): Promise<Scene> {
  // Without buttons, so that there is a link that decides.
  const config = { floodLimit: 0, rateLimit: 100_000, approvalTtl: 86_400, telegramMode: 'off' } as const
  const built = await withTelegram(t, { rules, config })
  const keys = await giveKeys(built, people)
  const { mallory, victim, olga, audrey } = keys
  const ask = async (as: CallAs, description: string, action = 'send_mail') =>
    (await as('POST', '/confirm', { action, description, session_key: 's', timeout_seconds: 3600 })).body.id as string
  const mine = await ask(mallory, 'mine')
  const theirs = { approved: await ask(victim, secret), pending: await ask(victim, secret) }
  await olga('POST', `/confirm/${theirs.approved}/approve`)
  await until(() => built.telegram.messages.length >= 1)
  const seen: string[] = []
  return {
    ...built,
    ...keys,
    mine,
    theirs,
    seen,
    link: /\/link\/[\w-]+/.exec(built.telegram.messages[0]!.text)![0],
    async attack(method, url, body, headers = {}) {
      const payload = body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      const response = await built.app.inject({
        method: method as 'GET',
        url,
        headers: { authorization: `Bearer ${mallory.key}`, ...type, ...headers },
        ...payload,
      })
      seen.push(`${JSON.stringify(response.headers)}${response.body}`)
      const isJson = response.body !== '' && String(response.headers['content-type']).includes('json')
      return {
        status: response.statusCode,
        headers: response.headers,
        body: isJson ? response.json() : response.body,
      }
    },
    history: async () => {
      const all: any[] = []
      for (let after = 0, more = true; more;) {
        const { body } = await audrey('GET', `/audit/events?limit=500&after=${after}`)
        all.push(...body.events)
        after = body.next_after
        more = body.more
      }
      return all
    },
  }
}

/** What must be true whatever was tried. */
async function assertUnharmed(t: Test, { audrey, mine, theirs, seen, history }: Scene): Promise<void> {
  const events = await history()
  const decided = new Set(['voted', 'approved', 'denied', 'auto_approved', 'granted', 'revoked'])
  t.same(
    events.filter(({ type, confirmation_id }) => decided.has(type) && confirmation_id !== theirs.approved),
    [],
    'nothing was decided, and no entry given',
  )
  t.match(await audrey('GET', '/whitelist'), { body: { count: 0 } })
  for (const status of ['approved', 'auto_approved']) {
    t.match(await audrey('GET', `/audit?requester=mallory&status=${status}`), { body: { count: 0 } })
  }
  t.match(await audrey('GET', '/keys'), { body: { count: Object.keys(people).length } })
  t.match(await audrey('GET', `/confirm/${theirs.pending}`), { body: { status: 'pending', votes: [] } })
  t.match(await audrey('GET', `/confirm/${theirs.approved}`), { body: { status: 'approved', execution: 'unclaimed' } })
  t.match(await audrey('GET', `/confirm/${mine}`), { body: { votes: [] } })
  t.notOk(
    seen.some((text) => text.includes(secret)),
    'nothing of the other was answered',
  )
}

/** The refusals on record that are the agent's, as code and confirmation. */
async function rejections({ history, store }: Scene, actor = 'mallory'): Promise<[string, string | null][]> {
  await store.probe()
  const rejected = (await history()).filter((event) => event.type === 'rejected' && event.actor === actor)
  return rejected.map(({ data, confirmation_id }) => [data.code, confirmation_id])
}

function attempt(sentence: string, run: (t: Test, scene: Scene) => Promise<void>): void {
  void t.test(sentence, async (t) => {
    const all = await scene(t)
    await run(t, all)
    await assertUnharmed(t, all)
  })
}

attempt('it approves its own request, by every route there is', async (t, all) => {
  const { attack, mine } = all
  for (const [url, body] of [
    [`/confirm/${mine}/approve`, undefined],
    [`/confirm/${mine}/approve`, { approver: 'olga' }],
    [`/confirm/${mine}/approve`, { approver: 'olga', remember: 'global' }],
    [`/confirm/${mine}/approve?approver=olga`, {}],
    [`/confirm/${mine}/deny`, { denier: 'olga' }],
  ] as const) {
    t.match(await attack('POST', url, body), { status: 403, body: { code: 'forbidden' } }, url)
  }
  const decisions = [{ id: mine, verdict: 'approve' }]
  t.equal((await attack('POST', '/decisions', { decisions, decided_by: 'olga' })).status, 403)
  t.same(await rejections(all), [...Array.from({ length: 5 }, () => ['forbidden', mine]), ['forbidden', null]])
})

attempt('it writes the path in another way, to come past the check', async (t, { attack, mine }) => {
  for (const url of [
    `/confirm/${mine}/approve/`,
    `//confirm/${mine}/approve`,
    `/confirm/${mine}//approve`,
    `/CONFIRM/${mine}/APPROVE`,
    `/confirm/${mine}/%61pprove`,
    `/confirm/${mine}%2fapprove`,
    `/confirm/./${mine}/approve`,
    `/confirm/x/../${mine}/approve`,
    `/confirm/${mine};/approve`,
    `/confirm/${mine}/approve%00`,
    `/confirm/${mine}/approve%20`,
    `/confirm/${mine}/approve?x=/health`,
    `/confirm/${mine}/approve#/health`,
  ]) {
    const { status } = await attack('POST', url, {})
    t.ok([400, 403, 404, 405].includes(status), `${url}: ${status}`)
  }
})

attempt('it asks for another method than it sends', async (t, { attack, mine }) => {
  for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override', '_method']) {
    t.equal((await attack('GET', `/confirm/${mine}/approve`, undefined, { [name]: 'POST' })).status, 405)
    t.equal((await attack('POST', `/confirm/${mine}/approve?_method=GET`, {}, { [name]: 'GET' })).status, 403)
  }
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET', 'HEAD', 'TRACE']) {
    const { status } = await attack(method, `/confirm/${mine}/approve`)
    t.ok(status === 404 || status === 405, `${method}: ${status}`)
  }
})

attempt('it pretends to come from the machine itself, a proxy or a page of ours', async (t, all) => {
  const { attack, mine, theirs } = all
  const forged: Record<string, string>[] = [
    { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1', forwarded: 'for=127.0.0.1' },
    { 'x-forwarded-user': 'olga', 'x-remote-user': 'olga', 'x-authenticated-user': 'olga' },
    { 'x-original-url': `/confirm/${mine}`, 'x-rewrite-url': `/confirm/${mine}` },
    { 'x-forwarded-host': 'localhost', 'x-forwarded-proto': 'https', host: 'localhost' },
    { origin: 'http://127.0.0.1:6000', 'sec-fetch-site': 'same-origin', host: '127.0.0.1:6000' },
    { 'x-role': 'admin', role: 'admin', 'x-holdpoint-role': 'admin' },
    { cookie: 'holdpoint_session=1; role=admin' },
    { 'proxy-authorization': 'Bearer x', 'x-api-key': 'x' },
  ]
  for (const headers of forged) {
    const what = Object.keys(headers).join()
    t.equal((await attack('POST', `/confirm/${mine}/approve`, {}, headers)).status, 403, what)
    t.equal((await attack('GET', `/confirm/${theirs.pending}`, undefined, headers)).status, 404, what)
    t.equal((await attack('GET', '/keys', undefined, headers)).status, 403, what)
  }
  const codes = await rejections(all)
  t.equal(codes.filter(([code, id]) => code === 'forbidden' && id === mine).length, forged.length)
  t.equal(codes.filter(([code, id]) => code === 'not_yours' && id === theirs.pending).length, forged.length)
})

attempt('it guesses the keys of others, whose ids it may know', async (t, all) => {
  const { attack, olga, root, mine } = all
  for (const { keyId, key } of [olga, root]) {
    for (const guess of [
      `hpk_${keyId}_${'0'.repeat(64)}`,
      `hpk_${keyId}_`,
      keyId,
      hashSecret(key),
      `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`,
      `${key}0`,
      'undefined',
      'null',
      'hpk___proto___',
    ]) {
      const headers = { authorization: `Bearer ${guess}` }
      t.equal((await attack('POST', `/confirm/${mine}/approve`, {}, headers)).status, 401)
    }
  }
  t.same(
    await rejections(all, 'unknown'),
    Array.from({ length: 18 }, () => ['unauthorized', mine]),
  )
})

attempt('it sends two keys at once, its own and a wrong one', async (t, { app, mallory, mine }) => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const wrong = `hpk_${'0'.repeat(12)}_${'0'.repeat(64)}`
  for (const pair of [
    [mallory.key, wrong],
    [wrong, mallory.key],
  ]) {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    const authorization = pair.map((key) => `Authorization: Bearer ${key}\r\n`).join('')
    socket.write(`POST /confirm/${mine}/approve HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n`)
    socket.write(`${authorization}\r\n`)
    await once(socket, 'close')
    t.match(text, /^HTTP\/1\.1 (401|403) /)
  }
})

attempt('it hides a second request behind the first', async (t, { app, mallory, mine, seen, theirs }) => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const head = `Host: x\r\nAuthorization: Bearer ${mallory.key}\r\nContent-Type: application/json\r\n`
  const inner = `POST /confirm/${mine}/approve HTTP/1.1\r\n${head}Content-Length: 0\r\n\r\n`
  const peek = `GET /confirm/${theirs.pending} HTTP/1.1\r\n${head}\r\n`
  for (const smuggled of [
    `POST /confirm HTTP/1.1\r\n${head}Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    `POST /confirm HTTP/1.1\r\n${head}Content-Length: 2\r\nContent-Length: 0\r\n\r\n{}${inner}`,
    `GET /health HTTP/1.1\r\n${head}\r\n${inner}${peek}`,
    `POST /confirm HTTP/1.1\r\n${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`,
  ]) {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.on('error', () => {})
    socket.end(smuggled)
    await once(socket, 'close')
    seen.push(text)
    t.notMatch(text, /"status":"approved"/)
  }
})

attempt('it asks in the name of whoever may decide, so that the request looks like theirs', async (t, all) => {
  const { attack, olga } = all
  for (const requester of ['olga', 'root', 'victim', 'Olga', 'telegram:-1001', 'local']) {
    const { body } = await attack('POST', '/confirm', { action: 'send_mail', description: 'd', requester })
    t.match(await olga('GET', `/confirm/${body.id}`), { body: { requester: 'mallory', requested_as: requester } })
  }
  for (const requester of ['system:timeout', 'whitelist:x', { toString: 'olga' }, ['olga'], 5]) {
    const { status } = await attack('POST', '/confirm', { action: 'send_mail', description: 'd', requester })
    t.equal(status, 400, JSON.stringify(requester))
  }
})

attempt('it asks under a rule that lets requesters decide: its role still does not', async (t, { attack }) => {
  const { body } = await attack('POST', '/confirm', { action: 'lax_one', description: 'd' })
  t.equal((await attack('POST', `/confirm/${body.id}/approve`)).status, 403)
  t.equal((await attack('POST', '/decisions', { decisions: [{ id: body.id, verdict: 'approve' }] })).status, 403)
})

attempt('it whitelists its action, for itself, for its session and for all', async (t, all) => {
  const { attack, mine } = all
  for (const body of [
    { action: 'send_mail' },
    { action: 'send_mail', session_key: 's' },
    { action: 'send_mail', granted_by: 'olga' },
    { action: '*' },
  ]) {
    t.equal((await attack('POST', '/whitelist', body)).status, 403)
  }
  t.equal((await attack('POST', `/confirm/${mine}/approve`, { remember: 'session' })).status, 403)
  t.equal((await attack('GET', '/whitelist')).status, 403)
  t.equal((await attack('DELETE', `/whitelist/${mine}`)).status, 403)
  t.equal((await rejections(all)).length, 7)
  const again = await attack('POST', '/confirm', { action: 'send_mail', description: 'd', session_key: 's' })
  t.equal(again.status, 202)
})

attempt('it makes itself a better key, or changes who somebody is', async (t, all) => {
  const { attack, mallory, olga, root, audrey } = all
  for (const [method, url, body] of [
    ['POST', '/keys', { name: 'mallory', role: 'admin' }],
    ['POST', '/keys', { name: 'olga', role: 'operator' }],
    ['POST', `/keys/${olga.keyId}/rotate`, {}],
    ['POST', `/keys/${mallory.keyId}/rotate`, {}],
    ['DELETE', `/keys/${root.keyId}`, undefined],
    ['GET', '/keys', undefined],
    ['GET', '/people', undefined],
    ['PUT', '/people/olga', { telegram_id: '666' }],
    ['PUT', '/people/mallory', { telegram_id: '1001' }],
  ] as const) {
    t.match(await attack(method, url, body), { status: 403, body: { code: 'forbidden' } }, `${method} ${url}`)
  }
  t.equal((await rejections(all)).length, 9)
  t.equal((await olga('GET', '/audit')).status, 200)
  for (const { telegram_id } of (await audrey('GET', '/people')).body.people) t.equal(telegram_id, null)
})

attempt('it reads, waits for, follows, withdraws, claims and reports what another asked for', async (t, all) => {
  const { attack, theirs } = all
  for (const id of [theirs.pending, theirs.approved]) {
    for (const [method, path, body] of [
      ['GET', ''],
      ['HEAD', ''],
      ['GET', '?wait=300'],
      ['GET', '/events'],
      ['GET', '/events?after=0'],
      ['POST', '/cancel', { cancelled_by: 'victim' }],
      ['POST', '/claim'],
      ['POST', '/report', { outcome: 'succeeded' }],
    ] as const) {
      t.equal((await attack(method, `/confirm/${id}${path}`, body)).status, 404, path)
    }
  }
  const codes = await rejections(all)
  t.equal(codes.filter(([code, id]) => code === 'not_yours' && id === theirs.pending).length, 8)
  t.equal(codes.filter(([code, id]) => code === 'not_yours' && id === theirs.approved).length, 8)
})

attempt('it lists and searches for what another asked for', async (t, all) => {
  const { attack, mine, theirs } = all
  for (const url of [
    '/confirm',
    '/confirm?requester=victim',
    '/confirm?limit=500&status=approved',
    '/confirm?session_key=s',
    `/confirm?action=send_mail&status=pending`,
    '/confirm?requester=victim&requester=mallory',
  ]) {
    const { status, body } = await attack('GET', url)
    if (status === 200) for (const one of body.confirmations) t.equal(one.requester, 'mallory', url)
    else t.equal(status, 400, url)
  }
  for (let arrival = 0; arrival < 5; arrival++) {
    for (const key of [t0, t0 + 1, Number.MAX_SAFE_INTEGER]) {
      const cursor = Buffer.from(JSON.stringify([key, arrival])).toString('base64url')
      const { body } = await attack('GET', `/confirm?cursor=${cursor}`)
      for (const one of body.confirmations ?? []) t.equal(one.id, mine)
    }
  }
  for (const url of [
    '/audit',
    '/audit/events',
    '/events',
    `/audit/events?confirmation_id=${theirs.pending}`,
    '/metrics',
  ]) {
    t.equal((await attack('GET', url)).status, 403, url)
  }
  t.equal((await rejections(all)).length, 5)
})

attempt("it uses another's Idempotency-Key to get at what was asked with it", async (t, { attack, victim, theirs }) => {
  const asked = { action: 'send_mail', description: secret, session_key: 's' }
  const headers = { 'idempotency-key': 'shared' }
  const { id } = (await victim('POST', '/confirm', asked, headers)).body
  const other = { action: 'send_mail', description: 'x', session_key: 's', requester: 'victim' }
  const answer = await attack('POST', '/confirm', other, headers)
  t.equal(answer.status, 202)
  t.not(answer.body.id, id)
  const items = [{ ...other, idempotency_key: 'shared' }]
  const { body } = await attack('POST', '/confirm/batch', { items })
  t.notMatch(JSON.stringify(body), new RegExp(`${id}|${theirs.pending}`))
})

attempt(
  'it brings the same as another, to be merged with what they asked for',
  async (t, { attack, service, victim }) => {
    await service.useRules(
      rulesFrom('rules: [{ name: merged, action: "*", merge_identical: true, refuse_after_denial: 60 }]'),
    )
    const asked = { action: 'merge_me', description: 'same', session_key: 's' }
    const { id, digest } = (await victim('POST', '/confirm', asked)).body
    const { body } = await attack('POST', '/confirm', { ...asked, requester: 'victim' })
    t.not(body.id, id)
    t.not(body.digest, digest)
  },
)

attempt('it tries the links: guessed, cut, and the pages around them', async (t, all) => {
  const { attack, link, mine, theirs, app } = all
  const origin = { origin: 'http://127.0.0.1:6000', 'sec-fetch-site': 'same-origin', host: '127.0.0.1:6000' }
  const form = { ...origin, 'content-type': 'application/x-www-form-urlencoded' }
  const guesses = [
    '/link/',
    `/link/${mine}`,
    `/link/${hashSecret(link.replace('/link/', ''))}`,
    `${link.slice(0, -1)}`,
    `${link}=`,
    `/link/${'A'.repeat(43)}`,
    '/link/%00',
    '/link/..%2fview%2f1',
  ]
  for (const url of guesses) {
    const { status } = await attack('GET', url)
    t.ok(status === 401 || status === 404, `${url.slice(0, 20)}: ${status}`)
    const sent = await attack('POST', url, `csrf=${hashSecret(` ${url}`)}&verdict=approve`, form)
    t.ok(sent.status === 401 || sent.status === 403 || sent.status === 404, `${url.slice(0, 20)}: ${sent.status}`)
  }
  for (const url of ['/', `/view/${mine}`, `/view/${theirs.pending}`]) {
    t.equal((await attack('GET', url)).status, 303, url)
    t.equal((await attack('POST', url, 'verdict=approve', form)).status, url === '/' ? 415 : 403, url)
  }
  t.equal((await attack('GET', `/view/${theirs.pending}/state?version=0`)).status, 401)
  t.ok((await rejections(all, 'unknown')).length >= 6)
  t.equal((await app.inject({ method: 'GET', url: link })).statusCode, 200, 'and the real one was not spent')
})

attempt('it signs in on the pages, and brings sessions and fields that it made up', async (t, all) => {
  const { attack, mallory, mine, app } = all
  const cookie = `holdpoint_form=${'a'.repeat(64)}`
  const origin = { origin: 'http://127.0.0.1:6000', 'sec-fetch-site': 'same-origin', host: '127.0.0.1:6000' }
  const form = { ...origin, 'content-type': 'application/x-www-form-urlencoded' }
  const csrf = hashSecret(`${'a'.repeat(64)} /login`)
  const entered = await attack('POST', '/login', `csrf=${csrf}&key=${mallory.key}`, { ...form, cookie })
  t.equal(entered.status, 403)
  t.notOk(entered.headers['set-cookie'])
  for (const session of ['a'.repeat(64), mallory.key, hashSecret(mallory.key), 'x']) {
    const known = { ...form, cookie: `holdpoint_session=${session}` }
    const made = hashSecret(`${session} /view/${mine}`)
    const sent = await attack('POST', `/view/${mine}`, `csrf=${made}&verdict=approve`, known)
    t.ok(sent.status === 303 || sent.status === 403, `${sent.status}`)
    if (sent.status === 303) t.match(sent.headers.location, /^\/login/)
  }
  t.same(await rejections(all), [['forbidden', null]])
  t.equal((await app.inject({ method: 'GET', url: '/', headers: { cookie } })).statusCode, 303)
})

attempt('it lets the browser of an operator send the form, from a page of its own', async (t, { app, olga, mine }) => {
  // What the operator's browser would bring: the session, whatever the page asks for.
  const html = { host: '127.0.0.1:6000', 'content-type': 'application/x-www-form-urlencoded' }
  const page = await app.inject({ method: 'GET', url: '/login' })
  const form = page.cookies[0]!.value
  const entered = await app.inject({
    method: 'POST',
    url: '/login',
    headers: { ...html, origin: 'http://127.0.0.1:6000', cookie: `holdpoint_form=${form}` },
    payload: `csrf=${hashSecret(`${form} /login`)}&key=${olga.key}`,
  })
  t.equal(entered.statusCode, 303)
  const session = entered.cookies[0]!.value
  for (const headers of [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site', origin: 'http://evil.127.0.0.1:6000' },
    {},
    { referer: 'http://127.0.0.1:6000/' },
    { origin: 'http://127.0.0.1:6000', 'sec-fetch-site': 'same-origin' },
  ]) {
    const sent = await app.inject({
      method: 'POST',
      url: `/view/${mine}`,
      headers: { ...html, ...headers, cookie: `holdpoint_session=${session}` },
      payload: `csrf=${hashSecret(` /view/${mine}`)}&verdict=approve`,
    })
    t.equal(sent.statusCode, 403, JSON.stringify(headers))
  }
  const api = await app.inject({
    method: 'POST',
    url: `/confirm/${mine}/approve`,
    headers: { cookie: `holdpoint_session=${session}` },
  })
  t.equal(api.statusCode, 401)
})

attempt('it brings ids that are no ids', async (t, { attack, theirs }) => {
  for (const id of [
    '%00',
    "x' OR 1=1 --",
    '%25',
    '../keys',
    '..%2fkeys',
    '*',
    '__proto__',
    'constructor',
    'batch',
    'x'.repeat(500),
    `${theirs.pending}%00`,
    `${theirs.pending} `,
    theirs.pending.toUpperCase(),
    '\ud83d\ude00',
  ]) {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/cancel'],
      ['POST', '/claim'],
    ] as const) {
      const { status } = await attack(method, `/confirm/${encodeURI(id)}${path}`)
      t.ok([400, 403, 404, 405].includes(status), `${method} ${id.slice(0, 20)}${path}: ${status}`)
    }
    t.ok((await attack('POST', `/confirm/${encodeURI(id)}/approve`)).status >= 400)
  }
})

attempt('it asks to be called back where only this machine gets to', async (t, { attack }) => {
  for (const callback_url of [
    'http://127.0.0.1:6000/confirm',
    'http://localhost:6000/keys',
    'http://[::1]/',
    'http://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    'gopher://x',
  ]) {
    const { status, body } = await attack('POST', '/confirm', { action: 'a', description: 'd', callback_url })
    t.equal(status, 400, callback_url)
    t.equal(body.code, 'callback_refused')
  }
})

attempt('it claims what is not approved, and what is denied, and claims it is something else', async (t, all) => {
  const { attack, mine } = all
  for (const body of [undefined, {}, { digest: '0'.repeat(64) }]) {
    t.match(await attack('POST', `/confirm/${mine}/claim`, body), { status: 409, body: { code: 'not_approved' } })
  }
  t.equal((await attack('POST', `/confirm/${mine}/report`, { outcome: 'succeeded' })).status, 409)
  t.equal((await attack('POST', `/confirm/${mine}/claim`, { approved: true })).status, 400)
  t.equal((await attack('POST', `/confirm/${mine}/cancel`)).status, 200)
  t.match(await attack('POST', `/confirm/${mine}/claim`), { status: 409, body: { code: 'not_approved' } })
})

attempt('it brings fields that it has no right to set', async (t, { attack, audrey }) => {
  const more = {
    status: 'approved',
    resolved_by: 'olga',
    id: 'id-0001',
    votes: [{ by: 'olga', verdict: 'approve' }],
    terms: { approvals: 0 },
    approvals_needed: 0,
    rule: 'own',
    risk: 'low',
    version: 9,
    isProven: true,
    execution: 'unclaimed',
  }
  const asked = { action: 'two_x', description: 'd' }
  for (const [name, value] of Object.entries(more)) {
    const body = { ...asked, [name]: value }
    t.match(await attack('POST', '/confirm', body), { status: 400, body: { code: 'unknown_field' } }, name)
    const { results } = (await attack('POST', '/confirm/batch', { items: [body] })).body
    t.match(results, [{ status_code: 400, body: { code: 'unknown_field' } }], name)
  }
  t.match(await audrey('GET', '/audit?action=two_x'), { body: { count: 0 } })
  for (const poisoned of [
    '{"__proto__":{"role":"admin"},"action":"a","description":"d"}',
    '{"constructor":{"prototype":{}}}',
  ]) {
    t.equal((await attack('POST', '/confirm', poisoned)).status, 400)
  }
})

attempt('it goes on after its key was revoked', async (t, all) => {
  const { attack, mine, audrey, service } = all
  const key = (await audrey('GET', '/keys')).body.keys.find(({ name }: any) => name === 'mallory')
  await service.people.revokeKey(key.id, locally)
  for (const [method, url] of [
    ['GET', `/confirm/${mine}`],
    ['POST', `/confirm/${mine}/claim`],
    ['POST', `/confirm/${mine}/approve`],
    ['GET', '/confirm'],
  ] as const) {
    t.equal((await attack(method, url)).status, 401)
  }
  t.same(await rejections(all, 'unknown'), [
    ['unauthorized', mine],
    ['unauthorized', mine],
    ['unauthorized', mine],
    ['unauthorized', null],
  ])
})

// -- any sequence

type Attack = { method: string; url: string; body: unknown; headers: Record<string, string>; target: string | null }

function anyAttack({ mine, theirs, olga, root, link }: Scene): fc.Arbitrary<Attack> {
  const target = fc.constantFrom(mine, theirs.approved, theirs.pending, olga.keyId, 'nope')
  const name = fc.constantFrom('mallory', 'victim', 'olga', 'root', 'local', 'telegram:-1001')
  const action = fc.constantFrom('send_mail', 'lax_one', 'two_x', 'ops_x', 'delete_data')
  const submission = fc.record(
    {
      action,
      description: fc.constant('d'),
      requester: name,
      session_key: fc.constantFrom('', 's'),
      details: fc.constantFrom({}, { x: 1 }),
      idempotency_key: fc.constantFrom('k', 'shared'),
    },
    { requiredKeys: ['action', 'description'] },
  )
  const body = fc.oneof(
    fc.constant(undefined),
    submission,
    fc.record({ items: fc.array(submission, { minLength: 1, maxLength: 3 }) }),
    fc.record(
      { approver: name, remember: fc.constantFrom('session', 'global'), typed_action: action },
      { requiredKeys: [] },
    ),
    fc.record({ denier: name, cancelled_by: name, reason: fc.constant('r') }, { requiredKeys: [] }),
    fc.record({
      decisions: fc.array(fc.record({ id: target, verdict: fc.constantFrom('approve', 'deny') }), {
        minLength: 1,
        maxLength: 3,
      }),
      decided_by: name,
    }),
    fc.record({ action, session_key: fc.constant('s'), granted_by: name }, { requiredKeys: ['action'] }),
    fc.record({ name, role: fc.constantFrom('admin', 'operator', 'agent') }),
    fc.record({ outcome: fc.constantFrom('succeeded', 'failed') }),
    fc.record({ telegram_id: fc.constant('1001') }),
    fc.constantFrom('verdict=approve&csrf=x', '{', 'null', '[]'),
  )
  const path = fc.oneof(
    fc.constantFrom('/confirm', '/confirm/batch', '/decisions', '/whitelist', '/keys', '/people', '/audit'),
    fc.constantFrom('/', '/login', '/logout', '/health', '/ready', '/metrics', '/openapi.yaml', '/nowhere', '/link/x'),
    fc.constant(`${link}x`),
    fc.tuple(fc.constantFrom('/view/', '/whitelist/', '/keys/', '/people/'), target).map((parts) => parts.join('')),
    fc
      .tuple(target, fc.constantFrom('', '/approve', '/deny', '/cancel', '/claim', '/report', '/state', '/%61pprove'))
      .map((parts) => `/confirm/${parts.join('')}`),
  )
  const wild = fc.record({ method: fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'DELETE', 'HEAD'), url: path, body })
  /** As the API wants it, so that nothing but who asks stands in the way. */
  const proper = fc
    .tuple(target, name, action)
    .chain(([id, who, what]) =>
      fc.constantFrom(
        { method: 'GET', url: `/confirm/${id}`, body: undefined },
        { method: 'POST', url: `/confirm/${id}/cancel`, body: undefined },
        { method: 'POST', url: `/confirm/${id}/claim`, body: undefined },
        { method: 'POST', url: `/confirm/${id}/report`, body: { outcome: 'succeeded' } },
        { method: 'POST', url: `/confirm/${id}/approve`, body: { approver: who, remember: 'global' } },
        { method: 'POST', url: `/confirm/${id}/deny`, body: { denier: who } },
        { method: 'POST', url: '/decisions', body: { decisions: [{ id, verdict: 'approve' }], decided_by: who } },
        { method: 'POST', url: '/confirm', body: { action: what, description: 'd', requester: who, session_key: 's' } },
        { method: 'POST', url: '/whitelist', body: { action: what, granted_by: who } },
        { method: 'POST', url: '/keys', body: { name: who, role: 'admin' } },
        { method: 'GET', url: '/audit', body: undefined },
      ),
    )
  /** Most say nothing more; some bring one of these. */
  const sometimes = (...some: Record<string, string>[]) =>
    fc.oneof({ weight: 5, arbitrary: fc.constant({}) }, fc.constantFrom(...some))
  const headers = fc
    .tuple(
      sometimes({ authorization: '' }, { authorization: `Bearer hpk_${root.keyId}` }),
      sometimes({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-user': 'root' }),
      sometimes({ 'x-http-method-override': 'POST' }, { 'idempotency-key': 'shared' }),
      sometimes(
        { origin: 'http://127.0.0.1:6000', 'sec-fetch-site': 'same-origin', host: '127.0.0.1:6000' },
        { origin: 'https://evil.example' },
      ),
      sometimes(
        { cookie: `holdpoint_session=${'a'.repeat(64)}` },
        { 'content-type': 'application/x-www-form-urlencoded' },
      ),
    )
    .map((parts) => Object.assign({}, ...parts) as Record<string, string>)
  const aimed = new Set([mine, theirs.approved, theirs.pending])
  return fc.tuple(fc.oneof(wild, proper), headers).map(([one, given]) => ({
    ...one,
    headers: given,
    target: [...aimed].find((id) => !one.url.startsWith('/people/') && one.url.split('/').includes(id)) ?? null,
  }))
}

attempt('it tries anything, in any order, many hundred times, and every refusal is on record', async (t, all) => {
  const { attack, theirs, clock, history, store, victim } = all
  await victim('POST', '/confirm', { action: 'send_mail', description: secret }, { 'idempotency-key': 'shared' })
  const counted = { unauthorized: 0, forbidden: 0, not_yours: 0 }

  async function tryOne({ method, url, body, headers, target }: Attack): Promise<void> {
    const before = await store.events.lastSeq()
    const answer = await attack(method, url, body, headers)
    const what = `${method} ${url} ${JSON.stringify({ body, headers })} was answered ${answer.status}`
    if (answer.status >= 500) throw new Error(what)
    const isOthers = target === theirs.pending || target === theirs.approved
    if (isOthers && answer.status < 400 && answer.status !== 303) throw new Error(what)
    if (/approve|deny|decisions|whitelist|keys|people/.test(url) && answer.status < 300) throw new Error(what)
    const code = answer.body?.code as string | undefined
    const hidden = isOthers && code === 'not_found' ? 'not_yours' : code
    // Whoever is not signed in is sent to do so, which is no attempt yet.
    if (url.startsWith('/view/')) return
    if (hidden !== 'unauthorized' && hidden !== 'forbidden' && hidden !== 'not_yours') return
    // What was hidden is written down without anybody waiting for it.
    await store.probe()
    const { events } = await store.events.list(before, 10)
    const recorded = events.some(({ type, confirmationId, data }) => {
      const about = JSON.parse(data) as { code: string; route?: string }
      // A path that leads nowhere is about nothing.
      const isAbout = confirmationId === (about.route === 'unknown' ? null : target)
      return type === 'rejected' && about.code === hidden && isAbout
    })
    if (!recorded) throw new Error(`${what}, and nobody will know`)
    counted[hidden] += 1
  }

  await fc.assert(
    fc.asyncProperty(fc.array(anyAttack(all), { minLength: 10, maxLength: 10 }), async (attacks) => {
      for (const one of attacks) await tryOne(one)
      // So that no refusal is left unseen because there were too many in a minute.
      await clock.advance(25_000)
    }),
    { numRuns: 60 },
  )
  for (const [code, count] of Object.entries(counted)) t.ok(count > 5, `${code}: ${count}`)
  const done = (await history()).filter(({ type, actor }) => type !== 'rejected' && actor === 'mallory')
  const harmless = new Set(['submitted', 'cancelled', 'rate_limited'])
  t.same(
    [...new Set(done.map(({ type }) => type))].filter((type) => !harmless.has(type)),
    [],
  )
})
