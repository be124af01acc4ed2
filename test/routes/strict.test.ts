// Nothing ambiguous gets in, and nothing that does not exist.
import t from 'tap'
import { parse as parseYaml } from 'yaml'
import { isHookPath } from '../../src/routes/errors.js'
import { normalTarget } from '../../src/routes/target.js'
import { build, type Built, giveKeys } from '../support.js'

const ambiguous: [what: string, body: string, error: RegExp][] = [
  ['a long number', '{"action":"a","description":"d","details":{"to":1234567890123456789}}', /details\.to .*as text/],
  ['many digits', '{"action":"a","description":"d","details":{"a":[1,{"b":12345678901234.567}]}}', /details\.a\.1\.b /],
  ['too large', '{"action":"a","description":"d","details":{"x":1e400}}', /1e400 at details\.x /],
  ['too small', '{"action":"a","description":"d","details":{"x":1e-400}}', /1e-400 at details\.x /],
  ['a name twice', '{"action":"a","action":"b","description":"d"}', /'action' stands twice in the body/],
  [
    'spelt differently',
    '{"action":"a","description":"d","details":{"to":1,"\\u0074o":2}}',
    /'to' stands twice at details/,
  ],
  ['no field at all', '{"action":"a","description":"d","x":1e400}', /1e400 at x /],
  ['timeout twice', '{"action":"a","description":"d","timeout_seconds":60,"timeout_seconds":90}', /stands twice/],
  [
    'not that timeout',
    '{"action":"a","description":"d","details":{"timeout_seconds":1e400}}',
    /details\.timeout_seconds/,
  ],
]
t.test('JSON that can be read in two ways is refused, with the place and what to do', async (t) => {
  const { call, events } = await build(t)
  for (const [what, body, error] of ambiguous) {
    t.match(await call('POST', '/confirm', body), { status: 400, body: { code: 'ambiguous_json', error } }, what)
  }
  const item = '{"action":"a","description":"d","details":{"n":1234567890123456789}}'
  t.match(await call('POST', '/confirm/batch', `{"items":[${item}]}`), {
    status: 400,
    body: { code: 'ambiguous_json', error: /items\.0\.details\.n/ },
  })
  t.match(await call('POST', '/whitelist', '{"action":"a","max_uses":1,"max_uses":2}'), {
    body: { code: 'ambiguous_json' },
  })
  t.same(await events(), [])
})

t.test('numbers that say the same in other words get in, and come out as they are', async (t) => {
  const { call } = await build(t)
  const body = '{"action":"a","description":"d","details":{"a":[1.0,1e2,0.10,-0,9007199254740991,1e21,"1e400"]}}'
  const { status, body: held } = await call('POST', '/confirm', body)
  t.equal(status, 202)
  const { details } = (await call('GET', `/confirm/${held.id}`)).body
  t.same(details, { a: [1, 100, 0.1, 0, 9007199254740991, 1e21, '1e400'] })
})

t.test('what is no JSON is told so first', async (t) => {
  const { call } = await build(t)
  for (const body of ['{"a":1e400', '{"a":1,"a":2', '[1e400]', '{"a":01}']) {
    t.match(await call('POST', '/confirm', body), { status: 400, body: { code: 'not_json' } }, body)
  }
})

t.test('timeout_seconds is clamped however large it is, and digits in a string are a number', async (t) => {
  const { call } = await build(t, { config: { rateLimit: 100 } })
  const cases: [text: string, seconds: number][] = [
    ['1e400', 3600],
    ['-1e400', 30],
    ['1e-400', 30],
    ['1234567890123456789', 3600],
    ['"60"', 60],
    ['"5"', 30],
    [`"${'9'.repeat(400)}"`, 3600],
    ['"soon"', 300],
    ['""', 300],
    ['"1e3"', 300],
    ['null', 300],
    ['true', 300],
    ['[60]', 300],
  ]
  for (const [text, seconds] of cases) {
    const item = `{"action":"a","description":"d","timeout_seconds":${text}}`
    t.match(await call('POST', '/confirm', item), { status: 202, body: { timeout_seconds: seconds } }, text)
    const { results } = (await call('POST', '/confirm/batch', `{"items":[${item}]}`)).body
    t.match(results, [{ body: { timeout_seconds: seconds } }], text)
  }
})

const misspelt: [method: 'POST' | 'PUT' | 'DELETE', url: string, body: object, closest: string][] = [
  ['POST', '/confirm', { action: 'a', description: 'd', detials: {} }, 'details'],
  ['POST', '/confirm', { action: 'a', description: 'd', Requester: 'me' }, 'requester'],
  ['POST', '/confirm', { action: 'a', description: 'd', timeout: 60 }, 'timeout_seconds'],
  ['POST', '/confirm/batch', { items: [{ action: 'a', description: 'd' }], item: [] }, 'items'],
  ['POST', '/decisions', { decisions: [{ id: 'x', verdict: 'deny' }], decidedby: 'me' }, 'decided_by'],
  ['POST', '/confirm/x/approve', { aprover: 'me' }, 'approver'],
  ['POST', '/confirm/x/deny', { denyer: 'me' }, 'denier'],
  ['POST', '/confirm/x/cancel', { canceled_by: 'me' }, 'cancelled_by'],
  ['POST', '/confirm/x/claim', { diggest: '0'.repeat(64) }, 'digest'],
  ['POST', '/confirm/x/report', { outcome: 'failed', mesage: 'm' }, 'message'],
  ['POST', '/whitelist', { action: 'a', ttl: 60 }, 'ttl_seconds'],
  ['DELETE', '/whitelist/x', { revoke_by: 'me' }, 'revoked_by'],
  ['POST', '/keys', { name: 'a', role: 'agent', expires_in: 60 }, 'expires_in_seconds'],
  ['POST', '/keys/x/rotate', { overlap: 60 }, 'overlap_seconds'],
  ['PUT', '/people/x', { telegram: '1' }, 'telegram_id'],
]
t.test('a field that does not exist is refused, with the one that was likely meant, and nothing is done', async (t) => {
  const { call, events } = await build(t)
  for (const [method, url, body, closest] of misspelt) {
    const answer = await call(method, url, body)
    t.match(answer, { status: 400, body: { code: 'unknown_field' } }, `${method} ${url}`)
    t.match(answer.body.error, `did you mean '${closest}'?`)
  }
  t.match(await call('DELETE', '/keys/x', { force: true }), { status: 400, body: { code: 'unknown_field' } })
  const items = [{ action: 'a', description: 'd', detials: {} }, null, { action: 'b' }]
  t.match((await call('POST', '/confirm/batch', { items })).body.results, [
    { status_code: 400, body: { code: 'unknown_field', error: /did you mean 'details'\?/ } },
    { body: { code: 'not_json' } },
    { body: { error: "Field 'description' is required" } },
  ])
  t.match((await call('POST', '/decisions', { decisions: [{ id: 'x', verdict: 'deny', reson: 'r' }] })).body.results, [
    { id: 'x', status_code: 400, body: { code: 'unknown_field', error: /did you mean 'reason'\?/ } },
  ])
  t.same(await events(), [])
})

t.test('where nothing there is comes near, all there is is listed and nothing suggested', async (t) => {
  const { call } = await build(t)
  const submission = { action: 'a', description: 'd' }
  for (const [url, body, listed] of [
    ['/confirm', { ...submission, zzz: 1 }, /^There is no field 'zzz' here; it takes action, description, details, /],
    ['/confirm/x/deny', { x: 1 }, /^There is no field 'x' here; it takes denier, reason\.$/],
    ['/confirm/x/approve', { remember: { scope: 'global', zzz: 1 } }, /'zzz' here; it takes scope, ttl_seconds, /],
  ] as const) {
    t.match(await call('POST', url, body), { status: 400, body: { code: 'unknown_field', error: listed } }, url)
  }
  for (const [url, listed] of [
    ['/audit?zzz=1', /^There is no query parameter 'zzz' here; it takes status, action, /],
    ['/health?zzz=1', /^There is no query parameter 'zzz' here; it takes none\.$/],
  ] as const) {
    t.match(await call('GET', url), { status: 400, body: { code: 'unknown_parameter', error: listed } }, url)
  }
})

t.test('what is missing is said before what does not exist, and that before what is wrong with the rest', async (t) => {
  const { call } = await build(t)
  t.match(await call('POST', '/confirm', { detials: {} }), { body: { error: "Field 'action' is required" } })
  t.match(await call('POST', '/confirm', { action: 'a', detials: {}, details: 5 }), {
    body: { error: "Field 'description' is required" },
  })
  t.match(await call('POST', '/confirm', { action: 'a', description: 'd', details: 5, x: 1 }), {
    body: { code: 'unknown_field' },
  })
  t.match(await call('POST', '/confirm', { action: 'a', description: 'd', details: 5 }), {
    body: { code: 'invalid_request' },
  })
})

t.test('a hostile name of a field is neither obeyed nor repeated at length', async (t) => {
  const { call } = await build(t)
  for (const name of ['\u001b[31m\u202e', 'x'.repeat(100_000), '\ud800'.repeat(1000), "'; DROP TABLE confirmations"]) {
    const { body } = await call('POST', '/confirm', { action: 'a', description: 'd', [name]: 1 })
    t.equal(body.code, 'unknown_field')
    t.ok(body.error.length < 1000)
    t.notMatch(body.error, /[\p{Cc}\p{Cf}\p{Cs}]/u)
  }
})

/** What must be there before anything else is looked at. */
const needed: Record<string, object> = {
  'post /confirm': { action: 'a', description: 'd' },
  'post /confirm/batch': { items: [{}] },
  'post /decisions': { decisions: [{}] },
  'post /confirm/{id}/report': { outcome: 'failed' },
  'post /whitelist': { action: 'a' },
  'post /sessions/{key}/switch': { session_id: 'a' },
  'post /sessions/gc': {},
  'post /keys': { name: 'a', role: 'agent' },
  'post /hooks/claude-code': { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: {} },
  'post /mcp': { jsonrpc: '2.0' },
}

t.test('a query parameter that does not exist is refused on every API route, also where there are none', async (t) => {
  const built = await build(t)
  const { call } = built
  const { id } = (await built.submit()).body
  t.match(await call('GET', '/audit?statu=denied'), {
    status: 400,
    body: { code: 'unknown_parameter', error: /'statu' here; did you mean 'status'\?/ },
  })
  t.match(await call('GET', `/confirm/${id}/events?affter=1`), { body: { code: 'unknown_parameter' } })
  let count = 0
  for (const [path, methods] of Object.entries(apiOf(built).paths)) {
    // Nobody is let in there while the service is open.
    if (path.startsWith('/aap/')) continue
    for (const method of Object.keys(methods)) {
      const url = `${path.replace('{id}', id).replace('{name}', 'x')}?utm_source=chat`
      const answer = await call(method.toUpperCase() as 'GET', url, needed[`${method} ${path}`])
      const refused = { status: 400, body: { code: 'unknown_parameter' } }
      const denied = { body: { hookSpecificOutput: { permissionDecisionReason: '(unknown_parameter)' } } }
      t.match(answer, isHookPath(path) ? denied : refused, `${method} ${url}`)
      count += 1
    }
  }
  t.ok(count > 20)
})

t.test('a parameter is given once or not at all', async (t) => {
  const { call } = await build(t)
  const names = ['limit', 'cursor', 'status', 'action', 'session_key', 'requester', 'resolved_by', 'since', 'until']
  for (const name of names) {
    t.match(await call('GET', `/audit?${name}=1&${name}=1`), { status: 400, body: { code: 'invalid_request' } }, name)
  }
  for (const name of ['after', 'type', 'confirmation_id', 'actor', 'channel', 'limit']) {
    t.match(await call('GET', `/audit/events?${name}=1&${name}=1`), { status: 400, body: { code: 'invalid_request' } })
  }
  t.match(await call('GET', '/confirm/x?wait=1&wait=1'), { status: 400, body: { code: 'invalid_request' } })
})

t.test('pages and links take whatever is appended to them', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  for (const url of ['/', `/view/${id}`, `/view/${id}/state`, '/login', '/link/nothing', '/style.css']) {
    const { status } = await built.call('GET', `${url}?utm_source=chat&fbclid=1`)
    t.equal(status, (await built.call('GET', url)).status, url)
    t.not(status, 400)
  }
})

t.test('every object in a body has its fields and no other, in openapi.yaml as well', async (t) => {
  const { paths, components } = apiOf(await build(t))
  let seen = 0
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      for (const [place, schema] of objectsIn(requestBody, components.schemas)) {
        if (schema.properties === undefined) continue
        seen += 1
        // Hosts of agents send more, and more with each version.
        const expected = isHookPath(path) && place === 'HookCall' ? undefined : false
        t.equal(schema.additionalProperties, expected, `${method} ${path} ${place}`)
      }
    }
  }
  t.ok(seen > 10)
})

t.test('answers write what a terminal would obey or not show as escapes: the same JSON', async (t) => {
  const built = await build(t)
  const nasty = '\u007f\u0085\u009b31m \u202e\u2066\u200b\u2028\u00ad\ufeff\ufe0f\u{e0041}\u00a0\u3164 é 漢 😀'
  const { mallory, audrey } = await giveKeys(built, { mallory: 'agent', audrey: 'auditor' } as const)
  const asked = { action: `a${nasty}`, description: nasty, details: { [nasty]: [nasty] }, session_key: nasty }
  const { id } = (await mallory('POST', '/confirm', asked)).body
  const unseen = /[\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2066-\u2069\u3164\ufe0f\ufeff\u{e0000}-\u{e0fff}]/u
  const headers = { authorization: `Bearer ${audrey.key}` }
  for (const url of [`/confirm/${id}`, '/confirm', '/audit', '/audit/events']) {
    const { body } = await built.app.inject({ url, headers })
    t.notMatch(body, unseen, url)
    t.match(body, '\\u202e', url)
    t.match(body, 'é 漢 😀', 'what can be seen stays')
  }
  t.same((await audrey('GET', `/confirm/${id}`)).body.details, asked.details)
  const problem = await built.app.inject({
    method: 'POST',
    url: '/confirm',
    headers: { authorization: `Bearer ${mallory.key}` },
    payload: { action: 'a', description: 'd', callback_url: 'http://127.0.0.1/', [nasty]: 1 },
  })
  t.equal(problem.statusCode, 400)
  t.notMatch(problem.body, unseen)
  const stored = (await built.store.confirmations.get(id))!
  t.equal(stored.description, nasty.trim(), 'what is stored is what was sent')
})

t.test('names are bounded before they are looked into', async (t) => {
  const { call, submit } = await build(t)
  // A few letters each of which stands for eighteen.
  const long = `system:${'\ufdfa'.repeat(300_000)}`
  for (const fields of [{ requester: long }, { action: long }, { session_key: long }]) {
    t.match(await submit(fields), { status: 400, body: { error: /must have at most 1000 characters$/ } })
  }
  t.match(await call('POST', '/confirm/x/approve', { approver: long }), {
    body: { error: "Field 'approver' must have at most 1000 characters" },
  })
  t.match(await submit({ requester: `system:${'x'.repeat(900)}` }), { body: { error: /the service's own$/ } })
})

t.test('how a window stands that several share is told to none of them', async (t) => {
  const built = await build(t, { rules: 'rules: [{ action: "*", rate_limit: { max: 2, window_seconds: 3600 } }]' })
  const open = await built.submit()
  t.match(open.headers, { 'ratelimit-policy': '"action";q=2;w=3600', ratelimit: '"action";r=1;t=3600' })
  const { bot } = await giveKeys(built, { bot: 'agent' })
  const asked = { action: 'send_mail', description: 'd' }
  for (const status of [202, 429]) {
    const { status: given, headers, body } = await bot('POST', '/confirm', asked)
    t.equal(given, status)
    t.equal(headers.ratelimit, undefined)
    t.equal(headers['ratelimit-policy'], '"action";q=2;w=3600')
    if (status === 429) t.match(body, { remaining: 0, window_seconds: 3600 })
  }
})

t.test('a path is looked at as the router reads it, and what is malformed is made no better', async (t) => {
  for (const [target, normal] of [
    ['/aap/v1/requests?wait=1s', '/aap/v1/requests?wait=1s'],
    ['http://127.0.0.1:6001/aap/v1', '/aap/v1'],
    ['HTTPS://a@b/', '/'],
    ['/%61%41%7a%5A%30%2d%2E%5f%7e', '/aAzZ0-._~'],
    ['/%2f%2561%20%40%5B%60%7B%c3%a9?a=%26', '/%2f%2561%20%40%5B%60%7B%c3%a9?a=%26'],
    ['/%4%31', '/%4%31'],
    ['/%%34%31', '/%%34%31'],
    ['*', '*'],
  ] as const)
    t.equal(normalTarget(target), normal)
})

t.test('the id of a request counts nothing', async (t) => {
  const { call } = await build(t)
  const ids = new Set<string>()
  for (let i = 0; i < 300; i++) ids.add((await call('GET', '/nowhere')).body.request_id)
  t.equal(ids.size, 300)
  for (const id of ids) t.match(id, /^[0-9a-f]{16}$/)
})

type Json = Record<string, any>

function apiOf({ openapi }: Built): { paths: Record<string, Record<string, Json>>; components: { schemas: Json } } {
  return parseYaml(openapi())
}

function objectsIn(json: unknown, schemas: Json, place = ''): [place: string, schema: Json][] {
  if (typeof json !== 'object' || json === null) return []
  if ('$ref' in json) {
    const name = String(json.$ref).replace('#/components/schemas/', '')
    return objectsIn(schemas[name], schemas, name)
  }
  const inner = Object.entries(json).flatMap(([key, one]) => objectsIn(one, schemas, `${place}/${key}`))
  return 'type' in json && json.type === 'object' ? [[place, json], ...inner] : inner
}
