// The pages that people decide on, without a browser: links, forms, sessions, and everything that must decide nothing.
import t, { type Test } from 'tap'
import { hashSecret } from '../../../src/access/key.js'
import { withTelegram } from '../../notify/chats.js'
import type { FakeTelegram } from '../../notify/fake-telegram.js'
import { build, type Built, type BuildOptions, type CallAs, giveKeys, until } from '../../support.js'

const people = { bot: 'agent', olga: 'operator', paul: 'operator', audrey: 'auditor', root: 'admin' } as const
type Keys = Record<keyof typeof people, CallAs>

const own = 'http://127.0.0.1:6000'
/** What a browser says about a form of our own page. */
const sameOrigin = { origin: own, 'sec-fetch-site': 'same-origin' }

interface Page {
  status: number
  headers: Record<string, any>
  body: string
  /** The hidden fields of the forms on it, by where they are sent. */
  forms: Map<string, string>
}

type Sent = Record<string, string | undefined>

/** As much of a browser as the pages need: it keeps cookies by their path, and sends the forms that it was given. */
function browse({ app }: Pick<Built, 'app'>) {
  const jar: { name: string; value: string; path: string }[] = []
  // Where its session is: what it asks for is asked for there, and what it is answered is told as if it were not.
  let place = ''
  const there = (url: string) => (/^\/(link|login|signin|s)\b/.test(url) ? url : `${place}${url}`)
  const here = (text: string) => text.replaceAll(/\/s\/[0-9a-f]{64}(?=\/)/g, '')

  function cookies(url: string): Record<string, string> {
    const path = url.split('?')[0]!
    const fitting = jar
      .filter((one) => one.path === '/' || path === one.path || path.startsWith(`${one.path}/`))
      .sort((a, b) => b.path.length - a.path.length)
    if (fitting.length === 0) return {}
    return { cookie: fitting.map(({ name, value }) => `${name}=${value}`).join('; ') }
  }

  async function load(method: 'GET' | 'HEAD' | 'POST', path: string, payload?: string, headers: Sent = {}) {
    const url = there(path)
    const type = payload === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = { host: '127.0.0.1:6000', ...type, ...cookies(url), ...headers }
    const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined))
    const response = await app.inject({ method, url, headers: given, ...(payload === undefined ? {} : { payload }) })
    for (const { name, value, path } of response.cookies as { name: string; value: string; path: string }[]) {
      const standing = jar.findIndex((one) => one.name === name && one.path === path)
      if (standing !== -1) jar.splice(standing, 1)
      if (value !== '') jar.push({ name, value, path })
    }
    const [session] = /^\/s\/[0-9a-f]{64}/.exec(response.headers.location ?? '') ?? []
    if (session !== undefined) place = session
    const body = here(response.body)
    const found = body.matchAll(
      /<form method="post" action="([^"]+)"[^>]*>\s*<input type="hidden" name="csrf" value="(\w+)"/g,
    )
    const forms = new Map([...found].map(([, action, csrf]) => [action!, csrf!]))
    const { location } = response.headers
    const told = { ...response.headers, ...(location === undefined ? {} : { location: here(location) }) }
    return { status: response.statusCode, headers: told, body, forms }
  }

  const get = (url: string, headers: Sent = {}) => load('GET', url, undefined, headers)
  const post = (url: string, fields: Record<string, string>, headers: Sent = sameOrigin) =>
    load('POST', url, new URLSearchParams(fields).toString(), headers)
  /** Loads the page, and sends its form. */
  const send = async (url: string, fields: Record<string, string>, headers: Sent = sameOrigin) => {
    const { forms } = await get(url)
    return post(url, { csrf: forms.get(url) ?? 'none', ...fields }, headers)
  }
  const signIn = async ({ key }: { key: string }, next = '/') => {
    const { forms } = await get(`/login?next=${encodeURIComponent(next)}`)
    return post('/login', { csrf: forms.get('/login')!, next, key })
  }
  return { get, post, send, signIn, load, jar, there }
}

interface Linked extends Built, Keys {
  telegram: FakeTelegram
  id: string
  /** The path of the link in the message. */
  link: string
  status(): Promise<string>
  history(type?: string): Promise<any[]>
}

const asked = { action: 'send_mail', description: 'Send the newsletter' }

/** One confirmation, told by Telegram; the chat is olga's unless it is nobody's. */
async function linked(
  t: Test,
  { isChat = false, ...options }: BuildOptions & { isChat?: boolean } = {},
): Promise<Linked> {
  const built = await withTelegram(t, options, '4242')
  const keys = await giveKeys(built, people)
  if (!isChat) await keys.root('PUT', '/people/olga', { telegram_id: built.telegram.chat })
  const { id } = (await keys.bot('POST', '/confirm', asked)).body
  await until(() => built.telegram.messages.length === 1)
  return { ...built, ...keys, id, link: linkIn(built.telegram), ...reading(keys.audrey, id) }
}

function linkIn({ messages }: FakeTelegram, place = -1): string {
  return /https?:\/\/[^/\s]+(\/link\/[\w-]+)/.exec(messages.at(place)!.text)![1]!
}

function reading(audrey: CallAs, id: string) {
  return {
    status: async () => (await audrey('GET', `/confirm/${id}`)).body.status,
    history: async (type?: string) => {
      const { events } = (await audrey('GET', '/audit/events?limit=500')).body
      return events.filter((event: any) => type === undefined || event.type === type)
    },
  }
}

const html = (page: Page) => String(page.headers['content-type']).startsWith('text/html')

// -- links

t.test('a link shows what is asked and decides nothing by being looked at, however often', async (t) => {
  const { link, status, store, id, ...built } = await linked(t)
  for (const headers of [{}, { purpose: 'prefetch', 'sec-purpose': 'prefetch' }, { 'user-agent': 'TelegramBot' }]) {
    const page = await browse(built).get(link, headers)
    t.equal(page.status, 200)
    t.ok(html(page))
    t.match(page.body, /Send the newsletter/)
    t.ok(page.forms.has(link))
    t.equal((await browse(built).load('HEAD', link)).status, 200)
  }
  for (const query of ['?verdict=approve', '?approve', '?verdict=approve&csrf=x']) {
    t.equal((await browse(built).get(link + query)).status, 200)
  }
  t.equal(await status(), 'pending')
  t.match(await store.confirmations.get(id), { version: 1, votes: [] })
  t.match(await browse(built).send(link, { verdict: 'deny' }), { status: 303 }, 'and it is still good')
})

t.test('whoever decides sees what is odd about it: by the link, signed in, and in the list', async (t) => {
  const { bot, olga, telegram, ...built } = await linked(t)
  const ask = async () => (await bot('POST', '/confirm', { ...asked, session_key: 's-1' })).body.id as string
  for (let count = 0; count < 3; count++) await olga('POST', `/confirm/${await ask()}/deny`)
  const id = await ask()
  await until(() => telegram.messages.at(-1)!.text.includes(id))
  const sentence = 'In this session, 3 requests in a row were denied or expired.'
  t.match((await browse(built).get(linkIn(telegram))).body, sentence)
  const { get, signIn } = browse(built)
  await signIn(olga)
  t.match((await get(`/view/${id}`)).body, sentence)
  t.match((await get('/')).body, '3 denied or expired in a row')
})

t.test('sent from its own page it decides once, as the person it was made for', async (t) => {
  const { link, status, history, id, audrey, ...built } = await linked(t)
  const browser = browse(built)
  const page = await browser.send(link, { verdict: 'approve', reason: 'looks right' })
  t.equal(page.status, 303)
  t.equal(page.headers.location, link)
  t.equal(await status(), 'approved')
  t.match(await audrey('GET', `/confirm/${id}`), {
    body: { resolved_by: 'olga', resolved_via: 'link', reason: 'looks right', votes: [{ by: 'olga', via: 'link' }] },
  })
  t.match(await history('approved'), [{ actor: 'olga', channel: 'link', confirmation_id: id }])
  const after = await browser.get(link)
  t.equal(after.status, 200)
  t.match(after.body, /Approved/)
  t.notOk(after.forms.has(link), 'there is nothing to decide any more')
})

t.test('sent a second time it is refused, and says what stands', async (t) => {
  const { link, status, history, ...built } = await linked(t)
  const browser = browse(built)
  const { forms } = await browser.get(link)
  const csrf = forms.get(link)!
  t.equal((await browser.post(link, { csrf, verdict: 'deny', reason: 'no' })).status, 303)
  const again = await browser.post(link, { csrf, verdict: 'approve' })
  t.equal(again.status, 409)
  t.match(again.body, /already denied by olga/)
  t.equal(await status(), 'denied')
  t.equal((await history('denied')).length, 1)
})

t.test('sent many times at once it decides once', async (t) => {
  const { link, history, ...built } = await linked(t)
  const browser = browse(built)
  const csrf = (await browser.get(link)).forms.get(link)!
  const verdicts = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 'approve' : 'deny'))
  const pages = await Promise.all(verdicts.map((verdict) => browser.post(link, { csrf, verdict })))
  t.equal(pages.filter(({ status }) => status === 303).length, 1)
  t.equal(pages.filter(({ status }) => status === 409).length, 19)
  t.equal([...(await history('approved')), ...(await history('denied'))].length, 1)
})

t.test('a form that its page has not sent decides nothing and spends nothing', async (t) => {
  const { link, status, history, store, id, ...built } = await linked(t)
  const browser = browse(built)
  const csrf = (await browser.get(link)).forms.get(link)!
  const good = { csrf, verdict: 'approve' }
  const attempts: [string, () => Promise<Page>, number][] = [
    ['no origin', () => browser.post(link, good, {}), 403],
    ['a foreign origin', () => browser.post(link, good, { origin: 'https://evil.example' }), 403],
    ['a foreign site', () => browser.post(link, good, { ...sameOrigin, 'sec-fetch-site': 'cross-site' }), 403],
    ['a neighbour', () => browser.post(link, good, { ...sameOrigin, 'sec-fetch-site': 'same-site' }), 403],
    ['a hidden origin', () => browser.post(link, good, { origin: 'null' }), 403],
    ['our name in theirs', () => browser.post(link, good, { origin: `${own}.evil.example` }), 403],
    ['another port', () => browser.post(link, good, { origin: 'http://127.0.0.1:6001' }), 403],
    ['no cookie', () => browser.post(link, good, { ...sameOrigin, cookie: undefined }), 403],
    ['an empty cookie', () => browser.post(link, good, { ...sameOrigin, cookie: 'holdpoint_form=' }), 403],
    [
      'a chosen cookie',
      () => browser.post(link, good, { ...sameOrigin, cookie: `holdpoint_form=${'0'.repeat(64)}` }),
      403,
    ],
    ['no field', () => browser.post(link, { verdict: 'approve' }), 403],
    ['a wrong field', () => browser.post(link, { ...good, csrf: '0'.repeat(64) }), 403],
    ['an empty field', () => browser.post(link, { ...good, csrf: '' }), 403],
    ['no verdict', () => browser.post(link, { csrf }), 400],
    ['an empty verdict', () => browser.post(link, { csrf, verdict: '' }), 400],
    ['another verdict', () => browser.post(link, { csrf, verdict: 'yes' }), 400],
    ['an inherited verdict', () => browser.post(link, { csrf, verdict: 'constructor' }), 400],
    ['no body', () => browser.load('POST', link, undefined, sameOrigin), 403],
  ]
  for (const [what, attempt, expected] of attempts) {
    const page = await attempt()
    t.equal(page.status, expected, what)
    t.equal(await status(), 'pending', what)
  }
  t.match(await store.confirmations.get(id), { version: 1, votes: [] })
  t.same([...(await history('approved')), ...(await history('voted'))], [])
  t.equal((await browser.post(link, good)).status, 303, 'and then the right one does')
})

t.test('a form whose cookie is gone is refused in words for people, with a way back to its page', async (t) => {
  const { link, olga, ...built } = await linked(t)
  const browser = browse(built)
  await browser.signIn(olga)
  for (const [path, back] of [
    [link, link],
    ['/login', '/login'],
    ['/logout', '/'],
  ] as const) {
    const page = await browser.post(path, { csrf: 'old', verdict: 'approve' }, { ...sameOrigin, cookie: undefined })
    t.equal(page.status, 403, path)
    t.match(page.body, /<h1>.*The form was not accepted.*<\/h1>/)
    t.match(page.body, /the page is too old\. Nothing was done/)
    t.match(page.body, `<a href="${back}">Load the page again</a>`)
    t.notMatch(page.body, /cross-origin/i)
  }
  const foreign = await browser.post(link, {}, { origin: 'https://evil.example' })
  t.match(foreign.body, /The form was not accepted[^]*A page of another site/)
})

t.test('the field of one page is no good for another, and neither is that of another browser', async (t) => {
  const { link, status, root, bot, telegram, ...built } = await linked(t)
  const second = (await bot('POST', '/confirm', asked)).body.id
  await until(() => telegram.messages.length === 2)
  const other = linkIn(telegram)
  const [victim, thief] = [browse(built), browse(built)]
  await victim.get(link)
  const csrf = (await victim.get(other)).forms.get(other)!
  t.equal((await victim.post(link, { csrf, verdict: 'approve' })).status, 403)
  const stolen = (await thief.get(link)).forms.get(link)!
  t.equal((await victim.post(link, { csrf: stolen, verdict: 'approve' })).status, 403)
  t.equal(await status(), 'pending')
  t.equal((await root('GET', `/confirm/${second}`)).body.status, 'pending')
})

t.test('a body that is no form is refused, and nothing goes wrong inside', async (t) => {
  const { link, status, logged, ...built } = await linked(t)
  const browser = browse(built)
  const csrf = (await browser.get(link)).forms.get(link)!
  const json = { ...sameOrigin, 'content-type': 'application/json' }
  for (const fields of [
    { csrf, verdict: 'approve' },
    { csrf: 5 },
    { csrf: { length: 64 } },
    { csrf: [csrf], verdict: ['approve'] },
    { csrf, verdict: 'approve', reason: 5 },
    { csrf, verdict: 'approve', typed: {} },
  ]) {
    const page = await browser.load('POST', link, JSON.stringify(fields), json)
    t.equal(page.status, 415, JSON.stringify(Object.keys(fields)))
  }
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/xml']) {
    const page = await browser.load('POST', link, `csrf=${csrf}&verdict=approve`, {
      ...sameOrigin,
      'content-type': type,
    })
    t.equal(page.status, 415, type)
    t.ok(html(page))
  }
  const login = await browser.load('POST', '/login', JSON.stringify({ csrf: 5, key: 5 }), json)
  t.equal(login.status, 415)
  t.equal(await status(), 'pending')
  t.same(
    logged.filter(({ level }) => (level as number) >= 50),
    [],
  )
})

t.test('large and garbled forms decide nothing', async (t) => {
  const { link, status, logged, ...built } = await linked(t)
  const browser = browse(built)
  const csrf = (await browser.get(link)).forms.get(link)!
  const long = await browser.post(link, { csrf, verdict: 'approve', reason: 'x'.repeat(10_001) })
  t.equal(long.status, 400)
  t.match(long.body, /at most 10000 characters/)
  const huge = await browser.post(link, { csrf, verdict: 'approve', reason: 'x'.repeat(200_000) })
  t.equal(huge.status, 413)
  t.ok(html(huge))
  t.notMatch(huge.body, /1 MiB/, 'a form may not be that large')
  t.equal((await browser.post(link, { csrf, verdict: 'approve', reason: 'a\0b' })).status, 400)
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const garbage of ['%', '&&&===', '%ff%fe=%00', `csrf=${csrf}&verdict=approve&verdict=`, '__proto__=x', '\0']) {
    const page = await browser.load('POST', link, garbage, { ...sameOrigin, ...type })
    t.ok(page.status === 403 || page.status === 400, `${JSON.stringify(garbage)}: ${page.status}`)
  }
  t.equal(await status(), 'pending')
  t.same(
    logged.filter(({ level }) => (level as number) >= 50),
    [],
  )
  const fits = await browser.post(link, { csrf, verdict: 'deny', reason: 'ä'.repeat(10_000) })
  t.equal(fits.status, 303, 'the longest reason still fits, percent-encoded')
})

t.test('once it is resolved elsewhere a link is dead', async (t) => {
  const { link, id, paul, status, ...built } = await linked(t)
  const browser = browse(built)
  const csrf = (await browser.get(link)).forms.get(link)!
  await paul('POST', `/confirm/${id}/deny`)
  const page = await browser.post(link, { csrf, verdict: 'approve', reason: 'I <took> long', typed: 'send_' })
  t.equal(page.status, 409)
  const place = page.body.slice(page.body.indexOf('id="decision"'))
  t.match(place, /autofocus[^]*already denied by paul[^]*Denied[^]*paul/, 'it is told where the form was')
  t.match(place, /readonly[^]*>\nI &lt;took&gt; long<\/textarea>[^]*value="send_" readonly/, 'with what was written')
  t.equal(await status(), 'denied')
  t.notOk((await browser.get(link)).forms.has(link))
})

t.test('at the deadline a link is dead', async (t) => {
  const { link, clock, status, ...built } = await linked(t)
  const browser = browse(built)
  const csrf = (await browser.get(link)).forms.get(link)!
  await clock.advance(300_000)
  const late = await browser.post(link, { csrf, verdict: 'approve', reason: 'too late' })
  t.equal(late.status, 409)
  t.match(late.body.slice(late.body.indexOf('id="decision"')), /Expired[^]*readonly[^]*too late<\/textarea>/)
  t.equal(await status(), 'expired')
})

t.test('the requester cannot decide it by a link either', async (t) => {
  const { history, root, ...built } = await linked(t, { isChat: true })
  await root('PUT', '/people/root', { telegram_id: built.telegram.chat })
  const second = (await root('POST', '/confirm', asked)).body.id
  await until(() => built.telegram.messages.length === 2)
  const ownLink = linkIn(built.telegram)
  const browser = browse(built)
  const page = await browser.get(ownLink)
  t.match(page.body, /Nobody decides what they submitted themselves/)
  t.notOk(page.forms.has(ownLink), 'there is no form')
  for (const verdict of ['approve', 'deny', 'approve_always']) {
    // The field is made as the page would make it, had it a form.
    const csrf = await fieldFor(browser, ownLink)
    const answer = await browser.post(ownLink, { csrf, verdict, duration: 'hour', whom: 'requester' })
    t.equal(answer.status, 403, verdict)
  }
  t.equal((await root('GET', `/confirm/${second}`)).body.status, 'pending')
  const rejected = (await history('rejected')).filter(({ confirmation_id }) => confirmation_id === second)
  t.match(rejected, [{ actor: 'root', data: { code: 'own_request' } }, {}, {}])
})

/** What a page's hidden field is, also where the page has no form: the hash of the browser's cookie and the path. */
async function fieldFor({ jar, get, there }: ReturnType<typeof browse>, path: string): Promise<string> {
  await get(path)
  const url = there(path)
  const known =
    jar.find(({ name, path }) => name === 'holdpoint_session' && url.startsWith(path)) ??
    jar.find((one) => one.name === 'holdpoint_form' && one.path === path)
  return hashSecret(`${known?.value ?? ''} ${url}`)
}

t.test('whose keys are all revoked decides nothing by a link, until there is a good one again', async (t) => {
  const { link, olga, root, status, history, id, ...built } = await linked(t)
  const browser = browse(built)
  const csrf = (await browser.get(link)).forms.get(link)!
  await root('DELETE', `/keys/${olga.keyId}`)
  const page = await browser.get(link)
  t.match(page.body, /olga, for whom this link was made, may not decide/)
  t.notOk(page.forms.has(link))
  t.equal((await browser.post(link, { csrf, verdict: 'approve' })).status, 403)
  t.equal(await status(), 'pending')
  t.match(await history('rejected'), [
    { actor: 'olga', channel: 'link', confirmation_id: id, data: { code: 'forbidden' } },
  ])
  await root('POST', '/keys', { name: 'olga', role: 'auditor' })
  t.equal((await browser.post(link, { csrf, verdict: 'approve' })).status, 403, 'one that allows no decision')
  await root('POST', '/keys', { name: 'olga', role: 'operator' })
  t.equal((await browser.post(link, { csrf, verdict: 'approve' })).status, 303)
})

t.test('an agent that is known by a chat decides nothing by a link', async (t) => {
  const { root, history, ...built } = await linked(t, { isChat: true })
  const { other } = await giveKeys(built, { other: 'agent' })
  await root('PUT', '/people/bot', { telegram_id: built.telegram.chat })
  const { id } = (await other('POST', '/confirm', asked)).body
  await until(() => built.telegram.messages.length === 2)
  const link = linkIn(built.telegram)
  const browser = browse(built)
  t.equal((await browser.post(link, { csrf: await fieldFor(browser, link), verdict: 'approve' })).status, 403)
  t.equal((await root('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal((await history('approved')).length, 0)
})

t.test('a chat that many read decides where one approval is enough, in the name of the chat', async (t) => {
  const { link, status, telegram, audrey, id, ...built } = await linked(t, { isChat: true })
  t.equal((await browse(built).send(link, { verdict: 'approve' })).status, 303)
  t.match(await audrey('GET', `/confirm/${id}`), { body: { resolved_by: `telegram:${telegram.chat}` } })
  t.equal(await status(), 'approved')
})

const waysIn = (id: string) =>
  `<a href="/login?next=${encodeURIComponent(`/view/${id}`)}">Sign in with a key of your own</a>`

t.test('a link that cannot decide leads to signing in, once there are keys', async (t) => {
  const rules = 'rules: [{ name: named, action: "*", deciders: [paul] }]'
  const { link, id, paul, olga, ...built } = await linked(t, { isChat: true, rules })
  const browser = browse(built)
  const page = await browser.get(link)
  t.notOk(page.forms.has(link))
  t.match(page.body, waysIn(id))
  t.equal((await browser.signIn(paul, `/view/${id}`)).headers.location, `/view/${id}`)
  t.ok((await browser.get(`/view/${id}`)).forms.has(`/view/${id}`))
  await browser.signIn(olga)
  t.notMatch((await browser.get(`/view/${id}`)).body, /Sign in with/, 'whoever is signed in is')

  const open = await withTelegram(t, { rules }, '4242')
  await open.submit()
  await until(() => open.telegram.messages.length === 1)
  const shut = await browse(open).get(linkIn(open.telegram))
  t.match(shut.body, /lets only certain people decide this/)
  t.notMatch(shut.body, /Sign in with/, 'there is no key to sign in with')
})

const twoApprovals = 'rules: [{ name: two, action: "*", approvals: 2 }]'

t.test('where two people are needed, a chat that many read is nobody', async (t) => {
  const { link, status, history, id, ...built } = await linked(t, { isChat: true, rules: twoApprovals })
  const browser = browse(built)
  const page = await browser.get(link)
  t.match(page.body, /2 different people/)
  t.notOk(page.forms.has(link))
  t.match(page.body, waysIn(id), 'but people can sign in from there')
  const csrf = await fieldFor(browser, link)
  t.equal((await browser.post(link, { csrf, verdict: 'approve' })).status, 403)
  t.equal(await status(), 'pending')
  t.match(await history('rejected'), [{ confirmation_id: id, data: { code: 'not_a_decider' } }])
})

const seats = `groups: { security: [olga], operations: [paul] }
rules: [{ name: both, action: "*", approvals: { security: 1, operations: 1 } }]`

t.test('an approver in none of the groups can deny and is told why not approve; nothing else is offered', async (t) => {
  const { browser, root, path, status } = await served(t, { rules: seats })
  await browser.signIn(root)
  const page = await browser.get(path)
  t.match(page.body, /needs approvals from security, operations, and root is in none of these/)
  t.notMatch(page.body, /value="approve/)
  const refused = await browser.send(path, { verdict: 'approve' })
  t.equal(refused.status, 403)
  t.equal(await status(), 'pending')
  t.equal((await browser.send(path, { verdict: 'deny' })).status, 303)
  t.equal(await status(), 'denied')
})

t.test('one vote per person, by link, page and key together', async (t) => {
  const { link, id, olga, paul, status, ...built } = await linked(t, { rules: twoApprovals })
  const browser = browse(built)
  const csrf = (await browser.get(link)).forms.get(link)!
  t.equal((await browser.post(link, { csrf, verdict: 'approve' })).status, 303)
  t.equal(await status(), 'pending')
  const used = await browser.get(link)
  t.match(used.body, /Your approval is recorded: 1 of 2\. Somebody else must approve too\./)
  t.notMatch(used.body, waysIn(id), 'there is nothing left for them to do')
  const again = await browser.post(link, { csrf, verdict: 'approve' })
  t.equal(again.status, 409)
  t.match(again.body, /one person has one vote/)
  t.match(await olga('POST', `/confirm/${id}/approve`), { status: 409, body: { code: 'already_voted' } })
  await browser.signIn(olga)
  const page = await browser.get(`/view/${id}`)
  t.match(page.body, /role="status"[^]*Your approval is recorded: 1 of 2[^]*one person has one vote/)
  t.notOk(page.forms.has(`/view/${id}`))
  const csrfOfView = await fieldFor(browser, `/view/${id}`)
  t.equal((await browser.post(`/view/${id}`, { csrf: csrfOfView, verdict: 'deny' })).status, 409)
  t.equal(await status(), 'pending')
  const other = browse(built)
  await other.signIn(paul)
  t.notMatch((await other.get(`/view/${id}`)).body, /is recorded/, 'others see it among the votes')
  await paul('POST', `/confirm/${id}/approve`)
  t.equal(await status(), 'approved')
  t.notMatch((await browser.get(`/view/${id}`)).body, /is recorded/)
})

t.test('a link that does not exist is refused, on record, and guessing them ends in a pause', async (t) => {
  const { link, history, status, ...built } = await linked(t, { config: { floodLimit: 0 } })
  const browser = browse(built)
  const guess = (i: number) => `/link/${String(i).padStart(43, 'A')}`
  const first = await browser.get(guess(0))
  t.equal(first.status, 401)
  t.ok(html(first))
  t.match((await history('rejected'))[0], {
    actor: 'unknown',
    data: { code: 'unauthorized', route: '/link/:token', address: '127.0.0.1' },
  })
  for (let i = 1; i < 30; i++) await browser.get(guess(i))
  const paused = await browser.get(guess(30))
  t.equal(paused.status, 429)
  t.equal(paused.headers['retry-after'], '60')
  t.equal((await browser.get(link)).status, 200, 'a good link is still let in')
  t.equal(await status(), 'pending')
  t.equal((await history('rejected')).length, 31, 'and once, that there was more')
})

t.test('a form that nobody may send is on record, whatever is wrong with it', async (t) => {
  const { id, history, ...built } = await linked(t)
  const { load } = browse(built)
  const path = `/view/${id}`
  const cookie = 'ab'.repeat(32)
  const forged = `verdict=approve&csrf=${hashSecret(`${cookie} ${path}`)}`
  t.equal((await load('POST', path, forged, { ...sameOrigin, cookie: `holdpoint_form=${cookie}` })).status, 303)
  t.equal((await load('POST', path, 'verdict=approve', sameOrigin)).status, 403)
  t.match(await history('rejected'), [
    { actor: 'unknown', channel: 'page', confirmation_id: id, data: { code: 'unauthorized' } },
    { actor: 'unknown', channel: 'page', confirmation_id: id, data: { code: 'forbidden' } },
  ])
})

t.test('a link is one way only: its token opens no page and no API', async (t) => {
  const { link, id, ...built } = await linked(t)
  const token = link.replace('/link/', '')
  t.equal((await built.call('GET', `/confirm/${id}`, undefined, { authorization: `Bearer ${token}` })).status, 401)
  const browser = browse(built)
  await browser.get(link)
  t.equal((await browser.get('/')).status, 303)
  t.equal((await browser.get(`/view/${id}`)).status, 303)
  t.equal((await browser.get('/', { cookie: `holdpoint_session=${token}` })).headers.location, '/login?next=%2F')
})

t.test('the page of a link learns when something changes, and a caller without a link learns nothing', async (t) => {
  const { link, id, paul, ...built } = await linked(t)
  const state = (query: string) => built.app.inject({ method: 'GET', url: `${link}/state${query}` })
  t.same((await state('?version=9')).json(), { version: 1 })
  const waiting = state('?version=1&wait=60')
  await until(() => built.service.countListeners().one === 1)
  await paul('POST', `/confirm/${id}/deny`)
  t.same((await waiting).json(), { version: 2 })
  const wrong = await built.app.inject({ method: 'GET', url: `/link/${'x'.repeat(43)}/state` })
  t.equal(wrong.statusCode, 401)
  t.match(wrong.headers['content-type'], /problem\+json/)
  t.equal((await built.app.inject({ method: 'GET', url: `/view/${id}/state` })).statusCode, 401)
})

t.test('when nobody more can be held, a page is told at once how it stands', async (t) => {
  const { link, ...built } = await linked(t, { shareLimits: { waits: { total: 0, each: 0 } } })
  const { statusCode, body } = await built.app.inject({ method: 'GET', url: `${link}/state?version=1&wait=60` })
  t.equal(statusCode, 200)
  t.same(JSON.parse(body), { version: 1 })
})

// -- signing in

async function served(t: Test, options: BuildOptions = {}) {
  const built = await build(t, { ...options, config: { floodLimit: 0, ...options.config } })
  const keys = await giveKeys(built, people)
  const { id } = (await keys.bot('POST', '/confirm', asked)).body
  return {
    ...built,
    ...keys,
    id: id as string,
    path: `/view/${id}`,
    ...reading(keys.audrey, id),
    browser: browse(built),
  }
}

t.test('a person who is not signed in is sent to do so, and comes back where they wanted to go', async (t) => {
  const { browser, path, olga, id } = await served(t)
  t.equal((await browser.get('/')).headers.location, '/login?next=%2F')
  const away = await browser.get(path)
  t.equal(away.status, 303)
  t.equal(away.headers.location, `/login?next=${encodeURIComponent(path)}`)
  t.notMatch(away.body, /newsletter/)
  const back = await browser.signIn(olga, path)
  t.equal(back.status, 303)
  t.equal(back.headers.location, path)
  const page = await browser.get(path)
  t.equal(page.status, 200)
  t.match(page.body, /Send the newsletter/)
  t.match(page.body, /olga/)
  t.match((await browser.get('/')).body, new RegExp(`/view/${id}`))
})

t.test(
  'the list goes on as long as anything is pending, and nobody can fill it so that another is not seen',
  async (t) => {
    const { browser, olga, bot, id } = await served(t, { config: { rateLimit: 1000, openLimit: 0 } })
    const items = Array.from({ length: 100 }, (_, index) => ({
      action: `noise_${index}`,
      description: 'x',
      timeout_seconds: 60,
    }))
    for (const all of [items, items.map((one) => ({ ...one, description: 'y' }))])
      await bot('POST', '/confirm/batch', { items: all })
    await browser.signIn(olga)
    const seen: string[] = []
    let [path, pages]: [string | undefined, number] = ['/', 0]
    while (path !== undefined) {
      const { status, body }: Page = await browser.get(path)
      t.equal(status, 200)
      t.equal(body.includes('From the start'), path !== '/')
      seen.push(...[...body.matchAll(/href="\/view\/([\w-]+)"/g)].map(([, one]) => one!))
      path = /href="(\/\?cursor=[\w-]+)"/.exec(body)?.[1]
      pages += 1
    }
    t.same([pages, seen.length, new Set(seen).size], [3, 201, 201])
    t.equal(seen.at(-1), id, 'the one with the last deadline')
  },
)

t.test('an open list learns what comes and what is decided, and only who is signed in is told', async (t) => {
  const { browser, olga, paul, bot, clock, service, id, ...built } = await served(t)
  await browser.signIn(olga)
  const shown = async () => {
    const { body } = await browser.get('/')
    const [, url, mark] = /data-state="([^"]+)" data-mark="(\w+)"/.exec(body)!
    return { body, mark: mark!, state: `${url}?mark=${mark}&wait=60` }
  }
  const changes: [() => Promise<unknown>, number, RegExp][] = [
    [
      () => bot('POST', '/confirm', { ...asked, details: { second: true }, timeout_seconds: 40 }),
      2,
      /<title>\(2\) Waiting/,
    ],
    [() => paul('POST', `/confirm/${id}/deny`), 1, /<title>\(1\) Waiting[^]*Ended lately[^]*Denied<\/b> by .*paul/],
    [() => clock.advance(40_000), 0, /<title>Nothing waits[^]*Expired<\/b>: nobody decided in time/],
  ]
  for (const [change, count, page] of changes) {
    const { state, mark } = await shown()
    const told = browser.get(state)
    await until(() => service.countListeners().one === 1)
    await clock.advance(1000)
    await change()
    const { status, headers, body } = await told
    t.match({ status, headers }, { status: 200, headers: { 'content-type': /^application\/json/ } })
    const after = await shown()
    t.same(JSON.parse(body), { mark: after.mark, count })
    t.not(after.mark, mark)
    t.match(after.body, page)
  }
  const { state, mark } = await shown()
  const place = browser.there(state)
  t.match(JSON.parse((await browser.get(state.replace('wait=60', 'wait=none'))).body), { mark }, 'at once')
  t.match(JSON.parse((await browser.get('/list/state')).body), { mark }, 'and to whoever has seen none')
  for (const [who, answer] of [
    ['nobody', await browse(built).get('/list/state')],
    ['the place alone', await browse(built).get(place)],
    ["an agent's key", await bot('GET', '/list/state')],
    ["a person's key, which opens no page", await olga('GET', '/list/state')],
  ] as const) {
    t.match(answer, { status: 401, headers: { 'content-type': /problem\+json/ } }, who)
    t.notMatch(JSON.stringify(answer.body), mark, who)
  }
})

t.test('who is signed out while a question about the list is held learns nothing more', async (t) => {
  const { browser, olga, root, bot, clock, service } = await served(t)
  await browser.signIn(olga)
  const { mark } = await service.readList(null)
  const told = browser.get(`/list/state?mark=${mark}&wait=60`)
  await until(() => service.countListeners().one === 1)
  await clock.advance(1000)
  await root('DELETE', `/keys/${olga.keyId}`)
  await bot('POST', '/confirm', { ...asked, details: { second: true } })
  t.match(await told, { status: 401 })
})

t.test('an open list takes a place among those who wait; without one it is told at once', async (t) => {
  const { browser, olga, bot, service, id } = await served(t, { shareLimits: { waits: { total: 1, each: 1 } } })
  await browser.signIn(olga)
  const { mark } = await service.readList(null)
  const held = olga('GET', `/confirm/${id}?wait=60`)
  await until(() => service.countListeners().one === 1)
  const { status, body } = await browser.get(`/list/state?mark=${mark}&wait=60`)
  t.equal(status, 200)
  t.same(JSON.parse(body), { mark, count: 1 })
  t.equal(service.countListeners().one, 1)
  await bot('POST', `/confirm/${id}/cancel`)
  await held
  t.equal(service.countListeners().one, 0)
})

t.test('a page on which the list goes on follows nothing, and says as of when it is', async (t) => {
  const { browser, olga, bot } = await served(t, { config: { rateLimit: 1000, openLimit: 0 } })
  const items = Array.from({ length: 100 }, (_, n) => ({ ...asked, details: { n }, timeout_seconds: 60 }))
  await bot('POST', '/confirm/batch', { items })
  await browser.signIn(olga)
  const first = await browser.get('/')
  const second = await browser.get(/href="(\/\?cursor=[\w-]+)"/.exec(first.body)![1]!)
  t.match(first.body, /<title>\(101\) Waiting/)
  t.match(first.body, 'data-state="/list/state"')
  t.match(second.body, /<title>\(101\) Waiting/)
  t.match(second.body, 'Reload to see what is new.')
  t.notMatch(second.body, 'data-state')
})

t.test('a place in the list that is none of ours is refused with a page, and nobody gets there unknown', async (t) => {
  const { browser, olga } = await served(t)
  t.equal((await browser.get('/?cursor=nonsense')).headers.location, '/login?next=%2F')
  await browser.signIn(olga)
  for (const query of ['cursor=nonsense', 'cursor=', 'cursor=a&cursor=b', 'cursor=%00', `cursor=${'x'.repeat(5000)}`]) {
    const page = await browser.get(`/?${query}`)
    t.equal(page.status, 400, query)
    t.ok(html(page))
    t.match(page.body, /This cursor is not one of ours/)
  }
})

t.test('the cookies are for this site alone and not for scripts', async (t) => {
  const { browser, olga } = await served(t)
  for (const page of [await browser.get('/login'), await browser.signIn(olga)]) {
    const cookies = [page.headers['set-cookie']].flat() as string[]
    t.equal(cookies.length, 1)
    t.match(cookies[0], /; HttpOnly; SameSite=Strict; Max-Age=43200$/)
    t.notMatch(cookies[0], /hpk_|Domain/)
  }
})

t.test('and stay on https where people come by https', async (t) => {
  const { browser, olga } = await served(t, { config: { publicUrl: 'https://hold.example.com' } })
  const origin = { origin: 'https://hold.example.com', 'sec-fetch-site': 'same-origin' }
  const page = await browser.get('/login')
  t.match(page.headers['set-cookie'], /; Secure$/)
  const entered = await browser.post('/login', { csrf: page.forms.get('/login')!, key: olga.key }, origin)
  t.equal(entered.status, 303)
  t.match(entered.headers['set-cookie'], /^holdpoint_session=[0-9a-f]{64}; Path=\/s\/[0-9a-f]{64}; .*; Secure$/)
})

t.test("a wrong key, an agent's key and no key sign nobody in, and the attempts are on record", async (t) => {
  const { browser, bot, olga, root, history, status } = await served(t)
  await root('DELETE', `/keys/${olga.keyId}`)
  for (const [key, expected] of [
    ['', 401],
    ['hpk_nonsense', 401],
    [`${root.key.slice(0, -1)}x`, 401],
    [olga.key, 401],
    [bot.key, 403],
  ] as const) {
    const page = await browser.signIn({ key })
    t.equal(page.status, expected)
    t.ok(html(page))
    t.notOk(page.headers['set-cookie'], 'and there is no session')
    t.notMatch(page.body, /hpk_[0-9a-f]/, 'what was entered is not shown again')
  }
  t.equal((await browser.get('/')).status, 303)
  t.match(
    (await history('rejected')).map(({ actor, data }: any) => [actor, data.code, data.route]),
    [...Array.from({ length: 4 }, () => ['unknown', 'unauthorized', '/login']), ['bot', 'forbidden', '/login']],
  )
  t.equal(await status(), 'pending')
})

t.test('guessing keys on the page ends in a pause like everywhere', async (t) => {
  const { browser, olga } = await served(t)
  for (let i = 0; i < 30; i++) t.equal((await browser.signIn({ key: `guess ${i}` })).status, 401)
  t.equal((await browser.signIn({ key: 'guess' })).status, 429)
  t.equal((await browser.signIn(olga)).status, 303)
})

t.test('the flood limit counts a good link for itself: others at the address do not use it up', async (t) => {
  const { link, status, ...built } = await linked(t, { config: { floodLimit: 20 } })
  const browser = browse(built)
  for (let i = 0; i < 25; i++) await browser.get('/login')
  t.equal((await browser.get('/login')).status, 429)
  t.equal((await browser.get(`/link/${'x'.repeat(43)}`)).status, 429, 'a guess is counted by address')
  t.equal((await browser.send(link, { verdict: 'deny' })).status, 303)
  t.equal(await status(), 'denied')
  for (let i = 0; i < 20; i++) await browser.get(link)
  t.equal((await browser.get(link)).status, 429, 'and has an end of its own')
})

t.test('the flood limit counts people who are signed in by their key, not by their address', async (t) => {
  const { app, bot, olga } = await served(t, { config: { floodLimit: 10 } })
  const browser = browse({ app })
  await browser.signIn(olga)
  while ((await browse({ app }).get('/login')).status === 200);
  t.equal((await browse({ app }).get('/login')).status, 429)
  t.equal((await browser.get('/')).status, 200)
  while ((await bot('GET', '/confirm')).status === 200);
  t.equal((await browser.get('/')).status, 200)
  while ((await olga('GET', '/confirm')).status === 200);
  t.equal((await browser.get('/')).status, 429, 'the key and its session are one')
})

t.test('a cookie that was set beforehand is not taken over by signing in', async (t) => {
  const { browser, olga, app } = await served(t)
  const fixed = 'f'.repeat(64)
  browser.jar.push({ name: 'holdpoint_session', value: fixed, path: '/' })
  await browser.signIn(olga)
  t.equal((await browser.get('/')).status, 200)
  t.not(browser.jar.findLast(({ name }) => name === 'holdpoint_session')?.value, fixed)
  const place = browser.there('/')
  t.equal((await browse({ app }).get(place, { cookie: `holdpoint_session=${fixed}` })).status, 303)
})

t.test('signing out ends the sign-in, also for a caller who kept the cookie', async (t) => {
  const { browser, olga, app } = await served(t)
  await browser.signIn(olga)
  const { value } = browser.jar.find(({ name }) => name === 'holdpoint_session')!
  const kept = { cookie: `holdpoint_session=${value}` }
  const place = browser.there('/')
  t.equal((await browse({ app }).get(place, kept)).status, 200)
  t.equal((await browse({ app }).get('/', kept)).status, 303, 'the cookie alone, as other ports of this host get it')
  t.equal((await browse({ app }).get(place)).status, 303, 'the place alone')
  t.equal((await browser.post('/logout', { csrf: 'wrong' })).status, 403)
  t.equal((await browser.get('/')).status, 200, 'but only when the page asks for it')
  const action = browser.there('/logout')
  const made = 'a'.repeat(64)
  const forged = { csrf: hashSecret(`${made} ${action}`) }
  await browse({ app }).post(action, forged, { ...sameOrigin, cookie: `holdpoint_session=${made}` })
  t.equal((await browser.get('/')).status, 200, 'and only for its own cookie: the place stands in URLs')
  const csrf = (await browser.get('/')).forms.get('/logout')!
  const out = await browser.post('/logout', { csrf })
  t.equal(out.status, 303)
  t.match(out.headers['set-cookie'], /^holdpoint_session=; .*Max-Age=0/)
  t.equal((await browse({ app }).get(place, kept)).status, 303)
})

t.test('a place says whether this browser is signed in there, and to no other browser', async (t) => {
  const { browser, olga, history, ...built } = await served(t)
  await browser.signIn(olga)
  const state = browser.there('/state')
  t.match(await browser.get(state), { status: 204 })
  const before = (await history('rejected')).length
  t.match(await browse(built).get(state), { status: 401 }, 'the place alone, which stands in addresses, is not enough')
  t.match(await browser.get(`/s/${'0'.repeat(64)}/state`), { status: 401 })
  t.equal((await history('rejected')).length, before, 'asking is no attempt')
  await browser.post('/logout', { csrf: (await browser.get('/')).forms.get('/logout')! })
  t.match(await browser.get(state), { status: 401 })
})

t.test('a sign-in ends with its key, and after half a day', async (t) => {
  const { browser, olga, paul, root, clock, path, status } = await served(t)
  await browser.signIn(olga)
  const csrf = (await browser.get(path)).forms.get(path)!
  await root('DELETE', `/keys/${olga.keyId}`)
  const late = await browser.post(path, { csrf, verdict: 'approve' })
  t.equal(late.status, 303)
  t.match(late.headers.location, /^\/login/)
  t.equal(await status(), 'pending')
  const told = await browser.get(late.headers.location!)
  t.match(
    told.body,
    /role="alert"[^]*Nothing was decided: you are not signed in, or no longer\. Sign in and decide again/,
  )
  t.match(told.body, `name="next" value="${path}"`, 'and there one comes back')
  await browser.signIn(paul)
  await clock.advance(12 * 3_600_000 - 1)
  t.equal((await browser.get('/')).status, 200)
  await clock.advance(1)
  t.equal((await browser.get('/')).status, 303)
})

t.test('a sign-in outlasts a restart where people come by https, and nowhere else', async (t) => {
  for (const [first, second, status] of [
    ['https://hold.example.com', 'https://hold.example.com', 200],
    ['http://hold.example.com', 'http://hold.example.com', 303],
    ['https://hold.example.com', 'http://hold.example.com', 303],
    ['http://hold.example.com', 'https://hold.example.com', 303],
  ] as const) {
    const built = await build(t, { config: { publicUrl: first } })
    const { olga } = await giveKeys(built, { olga: 'operator' })
    const browser = browse(built)
    const login = await browser.get('/login')
    const from = { origin: first, 'sec-fetch-site': 'same-origin' }
    await browser.post('/login', { csrf: login.forms.get('/login')!, key: olga.key }, from)
    t.equal((await browser.get('/')).status, 200)
    await built.stop()
    const again = await build(t, { dbPath: built.dbPath, clock: built.clock, config: { publicUrl: second } })
    const headers = { cookie: browser.jar.map(({ name, value }) => `${name}=${value}`).join('; ') }
    const page = await again.app.inject({ url: browser.there('/'), headers: { host: '127.0.0.1:6000', ...headers } })
    t.equal(page.statusCode, status, `${first}, then ${second}`)
  }
})

// -- links to sign in

/** A link for olga, and what is on record of such links. */
async function offered(t: Test, options: BuildOptions = {}) {
  const built = await served(t, options)
  const { root, olga, history } = built
  const offer = (keyId = olga.keyId) => root('POST', `/keys/${keyId}/sign-in-link`)
  const { body } = await offer()
  const refusals = async () =>
    (await history('rejected')).map(({ data }: any) => data).filter(({ route }: any) => route === '/signin/:token')
  return { ...built, offer, link: new URL(body.url, own).pathname, made: body, refusals }
}

t.test('what a browser does that is signed in is a use of its key, and so is a link to sign in', async (t) => {
  const { link, browser, olga, paul, audrey, clock } = await offered(t)
  const lastUsed = async ({ keyId }: CallAs) =>
    (await audrey('GET', '/keys')).body.keys.find(({ id }: any) => id === keyId).last_used_at
  await clock.advance(1000)
  await browser.get(link)
  t.equal(await lastUsed(olga), null, 'looking is none')
  await browser.send(link, {})
  t.equal(await lastUsed(olga), clock.now() / 1000)
  await clock.advance(1000)
  await browser.get('/')
  t.equal(await lastUsed(olga), clock.now() / 1000)
  await browser.signIn(paul)
  t.equal(await lastUsed(paul), clock.now() / 1000)
})

t.test('a link to sign in is spent by its button and by nothing else, and then is on record', async (t) => {
  const { link, made, browser, olga, clock, history, refusals, ...built } = await offered(t)
  t.match(link, /^\/signin\/[\w-]{43}$/)
  t.match(made, { key_id: olga.keyId, name: 'olga', role: 'operator', expires_at: clock.now() / 1000 + 300 })
  for (const method of ['GET', 'HEAD', 'GET'] as const) {
    const page = await browse(built).load(method, link)
    t.equal(page.status, 200)
    t.notOk(page.headers['set-cookie']?.includes('holdpoint_session'))
  }
  t.match((await browser.get(link)).body, /olga/)
  t.match(await browse(built).post(link, { csrf: 'made up' }), { status: 403 }, 'a form of ours is needed')
  t.match(await browse(built).load('POST', link, 'csrf=x', {}), { status: 403 })
  t.same(await history('sign_in_link_used'), [])
  const signed = await browser.send(link, {})
  t.match(signed, { status: 303, headers: { location: '/' } })
  t.match((await browser.get('/')).body, /olga/)
  const data = { key_id: olga.keyId, name: 'olga', role: 'operator' }
  t.match(await history('sign_in_linked'), [{ actor: 'root', data: { ...data, link_expires_at: made.expires_at } }])
  t.match(await history('sign_in_link_used'), [{ actor: 'olga', channel: 'page', data }])
  const told = JSON.stringify(await history())
  t.notOk(told.includes(link.slice('/signin/'.length)), 'the link itself is nowhere on record')
  t.match(await refusals(), [{ code: 'forbidden' }, { code: 'forbidden' }], 'and so are the forms that were none')
})

t.test('a link to sign in that is spent, over or unknown signs nobody in, and a use of it is on record', async (t) => {
  const { link, offer, browser, clock, refusals, ...built } = await offered(t)
  const sent = async (path: string, csrf: string, other: ReturnType<typeof browse>) => {
    const page = await other.post(path, { csrf })
    t.equal(page.status, 401)
    t.ok(page.forms.has('/login'), 'who has a key can sign in with that')
    t.notOk(other.jar.some(({ name }) => name === 'holdpoint_session'))
    return page.body
  }
  const second = browse(built)
  const kept = (await second.get(link)).forms.get(link)!
  await browser.send(link, {})
  t.match(await sent(link, kept, second), /has been used/)
  t.equal((await refusals()).length, 1)
  t.match(await browse(built).get(link), { status: 401, body: /has been used/ })

  const late = new URL((await offer()).body.url, own).pathname
  const lateForm = (await second.get(late)).forms.get(late)!
  await clock.advance(5 * 60_000 - 1)
  t.equal((await browse(built).get(late)).status, 200)
  await clock.advance(1)
  t.match(await sent(late, lateForm, second), /is over/)

  const none = `/signin/${'a'.repeat(43)}`
  const made = 'b'.repeat(64)
  const forged = await browse(built).post(
    none,
    { csrf: hashSecret(`${made} ${none}`) },
    { ...sameOrigin, cookie: `holdpoint_form=${made}` },
  )
  t.match(forged, { status: 401, body: /no such link/ })
  t.match(await refusals(), [
    { code: 'unauthorized', method: 'POST' },
    { code: 'unauthorized', method: 'GET' },
    { code: 'unauthorized', method: 'POST' },
    { code: 'unauthorized', method: 'POST' },
  ])
})

t.test('of many who press the button at once, one is signed in', async (t) => {
  const { link, history, ...built } = await offered(t)
  const browsers = Array.from({ length: 10 }, () => browse(built))
  const forms = await Promise.all(browsers.map(async (one) => (await one.get(link)).forms.get(link)!))
  const sent = await Promise.all(browsers.map((one, index) => one.post(link, { csrf: forms[index]! })))
  t.same(sent.map(({ status }) => status).sort(), [303, ...Array.from({ length: 9 }, () => 401)])
  t.equal((await history('sign_in_link_used')).length, 1)
})

t.test('a link to sign in, and who came by it, end with the key', async (t) => {
  const { link, offer, browser, root, olga, ...built } = await offered(t)
  const second = new URL((await offer()).body.url, own).pathname
  await browser.send(link, {})
  const other = browse(built)
  const csrf = (await other.get(second)).forms.get(second)!
  t.equal((await browser.get('/')).status, 200)
  await root('DELETE', `/keys/${olga.keyId}`)
  t.match(await other.post(second, { csrf }), { status: 401, body: /no longer good/ })
  t.equal((await browser.get('/')).status, 303)
})

t.test('a link to sign in ends with the process, also where people come by https', async (t) => {
  for (const publicUrl of ['http://hold.example.com', 'https://hold.example.com']) {
    const { link, made, stop, dbPath, clock } = await offered(t, { config: { publicUrl } })
    t.ok(made.url.startsWith(`${publicUrl}/signin/`))
    await stop()
    const again = await build(t, { dbPath, clock, config: { publicUrl } })
    t.match(await browse(again).get(link), { status: 401, body: /is over/ }, publicUrl)
  }
})

t.test('a link to sign in is for a key that is good and no agent, and only administrators make one', async (t) => {
  const { offer, bot, olga, paul, root, audrey } = await offered(t)
  t.match(await offer(bot.keyId), { status: 403, body: { code: 'forbidden', error: /agent's/ } })
  t.match(await offer('0123456789ab'), { status: 404 })
  await root('DELETE', `/keys/${paul.keyId}`)
  t.match(await offer(paul.keyId), { status: 409, body: { code: 'key_not_live' } })
  for (const caller of [bot, olga, audrey]) {
    t.match(await caller('POST', `/keys/${olga.keyId}/sign-in-link`), { status: 403 })
  }
})

t.test('a person who is signed in decides under their own name', async (t) => {
  const { browser, olga, path, id, audrey, history } = await served(t)
  await browser.signIn(olga)
  const page = await browser.send(path, { verdict: 'deny', reason: 'not today' })
  t.equal(page.status, 303)
  t.equal(page.headers.location, path)
  t.match(await audrey('GET', `/confirm/${id}`), {
    body: { status: 'denied', resolved_by: 'olga', resolved_via: 'page', reason: 'not today' },
  })
  t.match(await history('denied'), [{ actor: 'olga', channel: 'page' }])
  t.match((await browser.get(path)).body, /not today/)
})

t.test('an auditor sees everything and decides nothing', async (t) => {
  const { browser, audrey, path, id, status, history } = await served(t)
  await browser.signIn(audrey)
  const page = await browser.get(path)
  t.match(page.body, /lets you look, but not decide/)
  t.notOk(page.forms.has(path))
  const csrf = await fieldFor(browser, path)
  t.equal((await browser.post(path, { csrf, verdict: 'approve' })).status, 403)
  t.equal(await status(), 'pending')
  t.match(await history('rejected'), [
    { actor: 'audrey', channel: 'page', confirmation_id: id, data: { code: 'forbidden' } },
  ])
})

t.test('the requester sees why they may not decide it, and cannot', async (t) => {
  const { browser, root, status } = await served(t)
  const { id } = (await root('POST', '/confirm', asked)).body
  const path = `/view/${id}`
  await browser.signIn(root)
  const page = await browser.get(path)
  t.match(page.body, /Nobody decides what they submitted themselves/)
  t.notOk(page.forms.has(path))
  const csrf = await fieldFor(browser, path)
  t.equal((await browser.post(path, { csrf, verdict: 'approve' })).status, 403)
  t.equal((await root('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal(await status(), 'pending')
})

t.test('a form of the pages needs what a form of a link needs', async (t) => {
  const { browser, olga, path, status } = await served(t)
  await browser.signIn(olga)
  const csrf = (await browser.get(path)).forms.get(path)!
  const good = { csrf, verdict: 'approve' }
  for (const [what, fields, headers] of [
    ['no origin', good, {}],
    ['a foreign origin', good, { origin: 'https://evil.example' }],
    ['a foreign site', good, { ...sameOrigin, 'sec-fetch-site': 'cross-site' }],
    ['a wrong field', { ...good, csrf: 'x' }, sameOrigin],
    ['no field', { verdict: 'approve' }, sameOrigin],
    ['no cookie', good, { ...sameOrigin, cookie: undefined }],
  ] as const) {
    t.equal((await browser.post(path, fields as Record<string, string>, headers)).status, 403, what)
  }
  t.equal(await status(), 'pending')
})

t.test('a key in a header signs nobody in on the pages, and a sign-in opens no API', async (t) => {
  const { browser, olga, path, id, call } = await served(t)
  t.equal((await browser.get(path, { authorization: `Bearer ${olga.key}` })).status, 303)
  await browser.signIn(olga)
  const { value } = browser.jar.find(({ name }) => name === 'holdpoint_session')!
  const cookie = `holdpoint_session=${value}`
  t.equal((await call('POST', `/confirm/${id}/approve`, {}, { cookie, ...sameOrigin })).status, 401)
  t.equal((await call('GET', '/audit', undefined, { cookie })).status, 401)
})

t.test('nobody is sent elsewhere after signing in, however it is written', async (t) => {
  const { browser, olga, path } = await served(t)
  for (const next of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/view/../../evil',
    '/view/x?next=//evil.example',
    '/view/x\r\nlocation: //evil.example',
    '/%2fevil.example',
    'javascript:alert(1)',
    '/view//evil.example',
    ' //evil.example',
    '/login',
    '/logout',
    '',
  ]) {
    const page = await browser.signIn(olga, next)
    t.equal(page.status, 303)
    t.equal(page.headers.location, '/', JSON.stringify(next))
  }
  t.equal((await browser.signIn(olga, path)).headers.location, path)
  const twice = await browser.get('/login?next=/view/a&next=//evil.example')
  t.equal(twice.status, 200)
  t.notMatch(twice.body, /evil/)
})

// -- what is on them

t.test('an open service says so on every page, and everyone may decide', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  const browser = browse(built)
  for (const path of ['/', `/view/${id}`, '/login']) {
    const page = await browser.get(path)
    t.equal(page.status, 200, path)
    t.match(page.body, /This service is open/, path)
  }
  t.equal((await browser.post(`/view/${id}`, { verdict: 'approve' })).status, 403, 'but only by its form')
  t.equal((await browser.send(`/view/${id}`, { verdict: 'approve' })).status, 303)
  t.match(await built.call('GET', `/confirm/${id}`), { body: { status: 'approved', resolved_by: 'page' } })
  const { olga } = await giveKeys(built, { olga: 'operator' })
  t.equal((await browser.get('/')).status, 303)
  await browser.signIn(olga)
  t.notMatch((await browser.get('/')).body, /This service is open/)
})

t.test('while it is open a person says who they are, and nobody passes for the service', async (t) => {
  const built = await build(t)
  const ask = async (n: number) =>
    (await built.call('POST', '/confirm', { ...asked, details: { n } })).body.id as string
  const resolvedBy = async (id: string) => (await built.call('GET', `/confirm/${id}`)).body.resolved_by
  const decide = (id: string, name: string) => browse(built).send(`/view/${id}`, { verdict: 'deny', name })
  const [first, second, third] = [await ask(1), await ask(2), await ask(3)]
  t.equal((await decide(first, ' Alice ')).status, 303)
  t.equal(await resolvedBy(first), 'Alice')
  t.equal((await decide(second, '  ')).status, 303)
  t.equal(await resolvedBy(second), 'page', 'who gives none is the page, as ever')
  for (const name of ['system:timeout', 'whitelist:1', 'x'.repeat(1001), 'a\0b']) {
    const refused = await decide(third, name)
    t.match(refused, { status: 400, body: /Nothing was decided/ })
  }
  t.match((await decide(third, 'system:timeout')).body, /value="system:timeout"/, 'what was entered is there again')
  t.equal((await built.call('GET', `/confirm/${third}`)).body.status, 'pending')
})

t.test('a name that is given beside a key changes nothing', async (t) => {
  const { browser, olga, path, id, audrey } = await served(t)
  await browser.signIn(olga)
  t.notMatch((await browser.get(path)).body, /your-name/)
  await browser.send(path, { verdict: 'deny', name: 'paul' })
  t.match(await audrey('GET', `/confirm/${id}`), { body: { resolved_by: 'olga' } })
})

t.test('a form that was loaded while the service was open decides nothing after the first key', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  const browser = browse(built)
  const csrf = (await browser.get(`/view/${id}`)).forms.get(`/view/${id}`)!
  const { olga } = await giveKeys(built, { olga: 'operator' })
  const sent = await browser.post(`/view/${id}`, { csrf, verdict: 'approve' })
  t.equal(sent.status, 303)
  t.match((await browser.get(sent.headers.location!)).body, /Nothing was decided/)
  t.equal((await olga('GET', `/confirm/${id}`)).body.status, 'pending')
})

t.test('signing in says nothing that somebody wrote into its address', async (t) => {
  const { browser } = await served(t)
  for (const query of ['undecided=Your+bank', 'undecided=a&undecided=Your+bank', 'problem=Your+bank']) {
    const page = await browser.get(`/login?${query}`)
    t.equal(page.status, 200)
    t.notMatch(page.body, /Your bank/)
  }
  t.notMatch((await browser.get('/login')).body, /Nothing was decided/)
})

t.test('every page, good or bad, is sent with what keeps it to itself', async (t) => {
  const { browser, olga, path } = await served(t)
  const pages = [await browser.get('/login'), await browser.get('/link/nope'), await browser.get(path)]
  await browser.signIn(olga)
  pages.push(await browser.get('/'), await browser.get(path), await browser.get('/view/nope'))
  pages.push(await browser.post(path, { csrf: 'x' }))
  for (const { headers } of pages) {
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'"]) {
      t.ok(policy.includes(part), part)
    }
    t.notMatch(policy, /unsafe|\*/)
    t.match(headers, {
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
    })
  }
})

const strict = 'rules: [{ name: strict, action: "*", typed_confirmation: true, reason_required: true }]'

t.test('what the rule wants typed and said must be, and what was entered is not lost', async (t) => {
  const { browser, olga, path, status } = await served(t, { rules: strict })
  await browser.signIn(olga)
  const page = await browser.get(path)
  t.match(page.body, /type the name of the action/)
  t.match(page.body, /name="reason"/)
  t.notMatch(page.body, /value="approve_always"/)
  t.notMatch(page.body, /\bchecked\b/, 'nothing is chosen beforehand')
  const csrf = page.forms.get(path)!
  const untyped = await browser.post(path, { csrf, verdict: 'approve', reason: '<b>because "I" say so</b>' })
  t.equal(untyped.status, 400)
  t.match(untyped.body, /id="typed-problem">[^]*The name is missing\. Type it exactly; nothing was decided/)
  t.match(untyped.body, /&lt;b&gt;because/)
  t.notMatch(untyped.body, /<b>because/)
  t.match(untyped.body, /value="approve"\s+required checked/)
  const wrong = await browser.post(path, { csrf, verdict: 'approve', reason: 'r', typed: '"><script>' })
  t.equal(wrong.status, 400)
  t.notMatch(wrong.body, /"><script>/)
  t.match(wrong.body, /This is not the name of the action[^]*value="&quot;&gt;&lt;script&gt;"[^>]*aria-invalid="true"/)
  const unsaid = await browser.post(path, { csrf, verdict: 'approve', typed: 'send_mail' })
  t.equal(unsaid.status, 400, 'no reason')
  t.match(unsaid.body, /id="reason-problem">[^]*The reason is missing[^]*<textarea[^>]*aria-invalid="true"/)
  t.match(unsaid.body, /value="send_mail"/, 'what was typed is kept')
  const long = await browser.post(path, { csrf, verdict: 'deny', reason: 'x'.repeat(10_001) })
  t.match(long.body, /id="reason-problem">[^]*at most 10000 characters/)
  const unchosen = await browser.post(path, { csrf, reason: 'r', typed: 'send_mail' })
  t.match(unchosen.body, /id="decision"[^]*autofocus[^]*role="alert"[^]*Choose whether to approve or to deny/)
  t.equal((await browser.post(path, { csrf, verdict: 'deny', reason: ' ' })).status, 400)
  t.equal(await status(), 'pending')
  const done = await browser.post(path, { csrf, verdict: 'approve', reason: 'r', typed: 'send_mail' })
  t.equal(done.status, 303)
  t.equal(await status(), 'approved')
})

t.test('approving for the session or always adds the entry, and only where the rule allows it', async (t) => {
  const rules = 'rules: [{ name: never, action: never_*, whitelist: false }]'
  const { browser, bot, olga, status, audrey } = await served(t, { rules })
  await browser.signIn(olga)
  const submit = async (fields: object) => (await bot('POST', '/confirm', { ...asked, ...fields })).body.id as string
  const session = await submit({ session_key: 's1' })
  t.equal((await browser.send(`/view/${session}`, { verdict: 'approve_session' })).status, 303)
  t.match(await audrey('GET', '/whitelist'), { body: { entries: [{ scope: 'session', granted_by: 'olga' }] } })
  t.match(
    (await browser.get(`/view/${session}`)).body,
    /olga<\/bdi> also whitelisted every .* that .*bot<\/bdi>.* asks for/,
  )
  const passed = (await bot('POST', '/confirm', { ...asked, session_key: 's1' })).body
  const [, entry] = /^whitelist:(.+)$/.exec(passed.resolved_by)!
  const automatic = (await browser.get(`/view/${passed.id}`)).body
  t.match(automatic, new RegExp(`By the whitelist entry with the ID <code>.*${entry}`))
  const plain = await submit({})
  t.notMatch((await browser.get(`/view/${plain}`)).body, /approve_session/)
  t.equal((await browser.send(`/view/${plain}`, { verdict: 'approve_session' })).status, 400)
  const never = await submit({ action: 'never_this' })
  t.notMatch((await browser.get(`/view/${never}`)).body, /approve_always/)
  const always = { verdict: 'approve_always', duration: 'revoked', whom: 'anyone' }
  t.equal((await browser.send(`/view/${never}`, always)).status, 403)
  t.match(await audrey('GET', `/confirm/${never}`), { body: { status: 'pending' } })
  t.equal((await browser.send(`/view/${plain}`, always)).status, 303)
  t.match(await audrey('GET', '/whitelist'), {
    body: { count: 2, entries: [{ scope: 'global', requester: null, details: null, expires_at: null }] },
  })
  t.equal(await status(), 'pending')
})

t.test('always is as narrow as was chosen, and decides nothing until all was', async (t) => {
  const { browser, bot, root, olga, audrey, clock } = await served(t)
  await browser.signIn(olga)
  const details = { list: 'news', count: 3 }
  const { id } = (await bot('POST', '/confirm', { ...asked, details })).body
  const whole = { verdict: 'approve_always', duration: 'hour', whom: 'requester', details: 'exact' }
  for (const field of ['duration', 'whom', 'details'] as const) {
    for (const value of ['', 'toString', 'century']) {
      const page = await browser.send(`/view/${id}`, { ...whole, [field]: value, reason: 'weekly' })
      t.equal(page.status, 400, `${field} ${value}`)
      t.match(page.body, /To approve always, choose [^,]+\. Nothing was decided\./)
      t.match(page.body, `id="${field}-problem"`)
      t.equal([...page.body.matchAll(/id="\w+-problem"/g)].length, 1, 'the other answers are kept')
      t.match(page.body, 'weekly</textarea>')
    }
  }
  t.match(await audrey('GET', `/confirm/${id}`), { body: { status: 'pending' } })
  t.equal((await browser.send(`/view/${id}`, whole)).status, 303)
  t.match(await audrey('GET', '/whitelist'), {
    body: { entries: [{ scope: 'global', requester: 'bot', details, expires_at: clock.now() / 1000 + 3600 }] },
  })
  t.match(
    (await browser.get(`/view/${id}`)).body,
    /also whitelisted every .* in whichever session, with exactly these details, until <time/,
  )
  const ask = async (who: typeof bot, fields: object = {}) =>
    (await who('POST', '/confirm', { ...asked, details, ...fields })).status
  t.equal(await ask(bot), 200)
  t.equal(await ask(root), 202, 'for nobody else')
  t.equal(await ask(bot, { details: { ...details, count: 4 } }), 202, 'for nothing else')
  await clock.advance(3_600_000)
  t.equal(await ask(bot), 202, 'for no longer')
})

t.test('what is not there is not found, as a page', async (t) => {
  const { browser, olga } = await served(t)
  await browser.signIn(olga)
  for (const id of ['nope', 'x'.repeat(300), '%00', '..%2f..%2f']) {
    const page = await browser.get(`/view/${id}`)
    t.equal(page.status, 404, id.slice(0, 10))
  }
})

t.test('a link in the database is a hash: after a restart the message still leads to it', async (t) => {
  const { link, dbPath, stop } = await linked(t)
  await stop()
  const after = await build(t, { dbPath })
  const page = await browse(after).send(link, { verdict: 'deny' })
  t.equal(page.status, 303)
  const [denied] = (
    await after.store.confirmations.list({ statuses: ['denied'] }, 'newest', 5, null, after.clock.now())
  ).items
  t.same(denied?.resolution?.by, { kind: 'link', recipient: { kind: 'person', name: 'olga' } })
})

const nextIn = ({ body }: Page) => /class="next more">\s*<a href="([^"]+)"/.exec(body)?.[1] ?? null
const nothingElse = /Nothing else waits for you\./

t.test('after a decision the next one is one tap away: the one that ends first', async (t) => {
  const { browser, olga, paul, bot, path, audrey } = await served(t)
  const ask = async (more: object) => (await bot('POST', '/confirm', { ...asked, ...more })).body.id as string
  const late = await ask({ details: { n: 1 }, timeout_seconds: 900 })
  const soon = await ask({ action: 'x<b>', details: { n: 2 }, timeout_seconds: 60 })
  await browser.signIn(olga)
  t.equal(nextIn(await browser.get(path)), null, 'not while there is something to decide')
  await browser.send(path, { verdict: 'deny' })
  const after = await browser.get(path)
  t.equal(nextIn(after), `/view/${soon}`)
  t.match(after.body, /Next: <code translate="no"><bdi dir="ltr">x&lt;b&gt;<\/bdi><\/code>, asked by/)
  await browser.send(`/view/${soon}`, { verdict: 'deny' })
  t.equal(nextIn(await browser.get(`/view/${soon}`)), `/view/${late}`)
  await paul('POST', `/confirm/${late}/deny`)
  for (const one of [path, `/view/${late}`]) t.match((await browser.get(one)).body, nothingElse)
  await browser.signIn(audrey)
  const waiting = await ask({ details: { n: 3 } })
  t.equal(nextIn(await browser.get(path)), `/view/${waiting}`, 'who only looks is shown what comes next, too')
})

t.test('the next one is one on which the reader can decide', async (t) => {
  const { browser, root, paul, bot, path } = await served(t, { rules: twoApprovals })
  await browser.signIn(root)
  const own = (await root('POST', '/confirm', { ...asked, timeout_seconds: 60 })).body.id
  const voted = (await bot('POST', '/confirm', { ...asked, details: { n: 1 }, timeout_seconds: 100 })).body.id
  await root('POST', `/confirm/${voted}/approve`)
  t.equal(nextIn(await browser.get(`/view/${voted}`)), path, 'neither their own, nor one that they have voted on')
  t.equal(nextIn(await browser.get(`/view/${own}`)), path)
  await browser.send(path, { verdict: 'approve' })
  t.match((await browser.get(path)).body, nothingElse)
  await browser.signIn(paul)
  t.equal(nextIn(await browser.get(`/view/${own}`)), null, 'somebody else has still to decide this one')
  await browser.send(`/view/${own}`, { verdict: 'approve' })
  t.equal(nextIn(await browser.get(`/view/${own}`)), `/view/${voted}`)
})

t.test('whoever comes by a link is not told what else waits, but in open mode', async (t) => {
  const { link, bot, ...built } = await linked(t)
  await bot('POST', '/confirm', { ...asked, details: { n: 1 } })
  const browser = browse(built)
  await browser.send(link, { verdict: 'deny' })
  const page = await browser.get(link)
  t.match(page.body, /Denied/)
  t.equal(nextIn(page), null)
  t.notMatch(page.body, nothingElse)

  const open = await build(t)
  const first = (await open.submit()).body.id
  const second = (await open.submit({ details: { n: 2 } })).body.id
  const anyone = browse(open)
  await anyone.send(`/view/${first}`, { verdict: 'deny', name: 'Alice' })
  t.equal(nextIn(await anyone.get(`/view/${first}`)), `/view/${second}`)
  await anyone.send(`/view/${second}`, { verdict: 'deny' })
  t.match((await anyone.get(`/view/${second}`)).body, nothingElse)
})

t.test(
  'looking for the next one reads as little, however much waits, and never claims that nothing does',
  async (t) => {
    const { browser, root, bot, path } = await served(t, { config: { rateLimit: 1000, openLimit: 0 } })
    await browser.signIn(root)
    for (let n = 0; n < 21; n++) await root('POST', '/confirm', { ...asked, details: { n }, timeout_seconds: 60 })
    await browser.send(path, { verdict: 'deny' })
    const page = await browser.get(path)
    t.equal(nextIn(page), null, 'none of the twenty that end first is for them')
    t.notMatch(page.body, nothingElse, 'and there are more')
    const soonest = (await bot('POST', '/confirm', { ...asked, action: 'other', timeout_seconds: 30 })).body.id
    t.equal(nextIn(await browser.get(path)), `/view/${soonest}`)
  },
)

t.test('a few large requests do not crowd the others out of the list', async (t) => {
  const { call, submit } = await build(t, { config: { rateLimit: 1000 } })
  const large = 'x'.repeat(400_000)
  for (let count = 0; count < 4; count++)
    await submit({ description: large, details: { large, count }, timeout_seconds: 30 })
  await submit({ action: 'urgent', description: 'Short and last', timeout_seconds: 300 })
  const { body } = await call('GET', '/')
  t.equal(String(body).split('<li id="item-').length - 1, 5)
  t.match(body, 'Short and last')
  t.match(body, 'A long description, which its page shows.')
  t.match(body, 'Large details, which its page shows;')
  const digests = String(body).match(/digest <code>[0-9a-f]{16}…<\/code>/g)
  t.equal(new Set(digests).size, 4, 'and each of them is told from the others')
  t.notMatch(body, 'More that wait')
})
