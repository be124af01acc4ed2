// Thousands of requests that no honest client sends: each gets a proper refusal, and none changes anything.
import t from 'tap'
import { z } from 'zod'
import { problem, stateProblem } from '../../src/routes/answers.js'
import Database from '../../src/store/sqlite/driver.js'
import { type Answer, createRandom, dial, httpRequest, start } from './program.js'
import { until } from '../support.js'

const seed = Number(process.env.SEED ?? 20260101)
/** Some forty of each kind. */
const total = Number(process.env.REQUESTS ?? 1500)
const atOnce = 32

interface Attack {
  name: string
  bytes: Buffer
  method?: string
  /** Says that nothing more comes, after the bytes. */
  end?: boolean
  /** Hangs up without waiting for an answer. */
  abort?: boolean
}

interface Targets {
  pending: string
  decided: string
  grant: string
}

const invalidUtf8 = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]
const notJsonTypes = [
  'text/plain',
  'text/plain; charset=utf-8',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/xml',
  'text/json',
  'application/jsonp',
  'application/octet-stream',
  'json',
  '*/*',
  ';',
]
const methods = ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'SEARCH', 'PURGE', 'M-SEARCH']

function createAttacks({ pending, decided, grant }: Targets, random: ReturnType<typeof createRandom>): () => Attack {
  const { below, pick, next } = random
  const submission = { action: 'send_mail', description: 'Send the newsletter', timeout_seconds: 3600 }
  const doors: { method: string; path: string; valid: object; texts: string[]; numbers: string[] }[] = [
    {
      method: 'POST',
      path: '/confirm',
      valid: submission,
      texts: ['action', 'description', 'requester', 'session_key'],
      numbers: [],
    },
    {
      method: 'POST',
      path: `/confirm/${pending}/approve`,
      valid: { approver: 'alice' },
      texts: ['approver', 'reason', 'remember'],
      numbers: [],
    },
    {
      method: 'POST',
      path: `/confirm/${pending}/deny`,
      valid: { denier: 'bob', reason: 'no' },
      texts: ['denier', 'reason'],
      numbers: [],
    },
    {
      method: 'POST',
      path: `/confirm/${pending}/cancel`,
      valid: { reason: 'no' },
      texts: ['cancelled_by', 'reason'],
      numbers: [],
    },
    {
      method: 'POST',
      path: '/whitelist',
      valid: { action: 'send_mail' },
      texts: ['action', 'session_key', 'reason', 'granted_by'],
      numbers: ['ttl_seconds', 'max_uses'],
    },
    {
      method: 'DELETE',
      path: `/whitelist/${grant}`,
      valid: { revoked_by: 'alice' },
      texts: ['revoked_by'],
      numbers: [],
    },
    {
      method: 'POST',
      path: `/confirm/${decided}/claim`,
      valid: { digest: '0'.repeat(64) },
      texts: ['digest'],
      numbers: [],
    },
    {
      method: 'POST',
      path: `/confirm/${decided}/report`,
      valid: { outcome: 'failed', message: 'x' },
      texts: ['outcome', 'message'],
      numbers: [],
    },
    // These judge each item by itself, so that they are answered; what they hold is refused.
    {
      method: 'POST',
      path: '/confirm/batch',
      valid: { items: [{ action: '', description: 'x' }] },
      texts: ['items'],
      numbers: [],
    },
    {
      method: 'POST',
      path: '/decisions',
      valid: { decisions: [{ id: decided, verdict: 'approve' }] },
      texts: ['decisions', 'decided_by'],
      numbers: [],
    },
  ]
  const readPaths = ['/confirm', '/audit', '/audit/events', '/whitelist', '/health', `/confirm/${pending}`]

  const noise = (length: number) => Buffer.from(Array.from({ length }, () => below(256)))
  const withBody = (door: (typeof doors)[number], body: string | Buffer, type = 'application/json') => {
    const bytes = Buffer.from(body)
    const head = [`${door.method} ${door.path} HTTP/1.1`, 'Host: 127.0.0.1', `Content-Length: ${bytes.length}`]
    if (type !== '') head.push(`Content-Type: ${type}`)
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes])
  }
  const get = (path: string, headers: string[] = []) => httpRequest('GET', path, undefined, headers)
  const nested = (depth: number, open: string, close: string) => `${open.repeat(depth)}1${close.repeat(depth)}`
  /** The valid body with one field spoilt. */
  const spoilt = (door: (typeof doors)[number], field: string, json: string) =>
    `{${[...Object.entries(door.valid).filter(([name]) => name !== field)]
      .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`)
      .join('')}${JSON.stringify(field)}:${json}}`

  const wrongText = () =>
    pick(['5', '-0', '1e999', 'true', 'null', '[]', '{}', '["a"]', '{"toString":1}', '"\\u0000"', '"a\\ud800b"'])
  const wrongNumber = () => pick(['0', '-1', '1.5', '"5"', 'true', 'null', '[]', '{}', '1e99', '1e999', '-1e999'])

  const kinds: Record<string, () => Omit<Attack, 'name'>> = {
    'a value that is no object': () => ({
      bytes: withBody(
        pick(doors),
        pick(['null', '[]', '5', '"x"', 'true', '[{}]', '""', ' ', '\n', 'NaN', 'undefined', "{'a':1}", '{"a":1}}']),
      ),
    }),
    'a field of the wrong type': () => {
      const door = pick(doors)
      if (door.numbers.length > 0 && next() < 0.5)
        return { bytes: withBody(door, spoilt(door, pick(door.numbers), wrongNumber())) }
      return { bytes: withBody(door, spoilt(door, pick(door.texts), wrongText())) }
    },
    'a name that is too long or not theirs': () => {
      const [index, field] = pick([
        [0, 'action'],
        [0, 'requester'],
        [0, 'session_key'],
        [1, 'approver'],
        [2, 'denier'],
        [3, 'cancelled_by'],
        [4, 'granted_by'],
        [5, 'revoked_by'],
      ] as const)
      const text =
        index > 0 && next() < 0.5 ? pick(['system:timeout', ' WHITELIST : 1']) : 'x'.repeat(1001 + below(9000))
      return { bytes: withBody(doors[index]!, spoilt(doors[index]!, field, JSON.stringify(text))) }
    },
    'details that cannot be kept': () => ({
      bytes: withBody(
        doors[0]!,
        spoilt(
          doors[0]!,
          'details',
          pick([
            '[]',
            '5',
            'null',
            '"x"',
            '{"x":"\\udc00"}',
            '{"\\ud800":1}',
            '{"x":[1e999]}',
            nested(65 + below(500), '{"x":', '}'),
            `{"x":${nested(65 + below(20_000), '[', ']')}}`,
          ]),
        ),
      ),
    }),
    'a callback that cannot be': () => ({
      bytes: withBody(
        doors[0]!,
        spoilt(
          doors[0]!,
          'callback_url',
          pick([
            '"x"',
            '""',
            '"ftp://example.com/"',
            '"file:///etc/passwd"',
            '"javascript:alert(1)"',
            '"http://127.0.0.1/"',
            '"http://2130706433/"',
            '"http://[::ffff:10.0.0.1]/"',
            '"http://169.254.169.254/latest/meta-data"',
            '"http://localhost.:6000/confirm"',
            '"https://user:password@example.com/"',
            '"http://exa\\nmple.com/"',
            '"http://example.com:99999/"',
            '"http://"',
            '"\\u0000"',
            '5',
            'null',
            '{}',
            `"https://example.com/${'x'.repeat(2048)}"`,
          ]),
        ),
      ),
    }),
    'a key that cannot be': () => {
      const key = pick(['', '""', 'a b', 'x'.repeat(256 + below(9000)), '\u00e4', 'a\tb', '"a b"'])
      const body = JSON.stringify(submission)
      const head = ['POST /confirm HTTP/1.1', 'Host: x', `Content-Length: ${body.length}`, `Idempotency-Key: ${key}`]
      const bytes = Buffer.from(`${head.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n${body}`, 'latin1')
      return { bytes }
    },
    'a wait or a place that cannot be': () => {
      const bad = pick(['soon', '-1', '', '1e3', 'NaN', '%00', '0x1', '1,2'])
      return pick([
        () => ({ bytes: get(`/confirm/${pending}?wait=${bad}`) }),
        () => ({ bytes: httpRequest('POST', `/confirm?wait=${bad}`, submission) }),
        () => ({ bytes: get(`/confirm/${pending}`, [`Prefer: wait=${bad}`]) }),
        () => ({ bytes: get(`/events?after=${bad}`) }),
        () => ({ bytes: get('/events?after=999999999999999999999') }),
        () => ({ bytes: get('/events', [`Last-Event-ID: x${bad}`]) }),
        () => ({ bytes: get(`/confirm/${pending}/events?after=${bad}`) }),
        () => ({ bytes: get(`/events?type=${bad}`) }),
        () => ({ method: 'HEAD', bytes: httpRequest('HEAD', '/events') }),
      ])()
    },
    'nesting without end': () => {
      const depth = 1 + below(100_000)
      return { bytes: withBody(pick(doors), pick(['[', '{"a":', '[{"a":']).repeat(depth)) }
    },
    'keys of a prototype': () => {
      const door = pick(doors)
      const key = pick([
        '"__proto__":{"isAdmin":true}',
        '"__proto__":null',
        '"constructor":{"prototype":{"x":1}}',
        '"\\u005f_proto__":1',
        '"a":{"b":[{"__proto__":1}]}',
      ])
      return { bytes: withBody(door, `{${key},${JSON.stringify(door.valid).slice(1)}`) }
    },
    'a body cut short': () => {
      const door = pick(doors)
      const text = JSON.stringify(door.valid)
      return { bytes: withBody(door, text.slice(0, 1 + below(text.length - 1))) }
    },
    'bytes that are no UTF-8': () => {
      const door = pick(doors)
      const [head, tail] = JSON.stringify(door.valid).split('":"') as [string, string]
      return {
        bytes: withBody(
          door,
          Buffer.concat([Buffer.from(`${head}":"`), Buffer.from(pick(invalidUtf8)), Buffer.from(tail)]),
        ),
      }
    },
    'control characters in the body': () => {
      const door = pick(doors)
      const text = JSON.stringify(door.valid)
      const control = pick(['\0', '\u0001', '\u001b', '\n', '\u001f'])
      return { bytes: withBody(door, text.replace('":"', `":"${control}`)) }
    },
    'noise as a body': () => ({
      bytes: withBody(pick(doors), Buffer.concat([Buffer.from([below(32)]), noise(1 + below(3000))])),
    }),
    'another content type': () => {
      const door = pick(doors)
      return { bytes: withBody(door, JSON.stringify(door.valid), pick([...notJsonTypes, ''])) }
    },
    'a strange content type': () => ({
      bytes: withBody(
        pick(doors),
        pick(['{', '[]', 'null', 'x']),
        pick([
          'application/json; charset=utf-16',
          'application/json;;;',
          'APPLICATION/JSON',
          'application/json, text/plain',
          'a/b/c',
          '/',
          '"',
          'x'.repeat(5000),
        ]),
      ),
    }),
    'a compressed body': () => {
      const door = pick(doors)
      const bytes = httpRequest(door.method, door.path, '{"compressed', [
        `Content-Encoding: ${pick(['gzip', 'br', 'x'])}`,
      ])
      return { bytes }
    },
    'a page of another site': () => {
      const door = pick(doors)
      const header = pick([
        'Origin: https://evil.example',
        'Origin: null',
        'Sec-Fetch-Site: cross-site',
        'Sec-Fetch-Site: same-site',
        'Origin: ',
      ])
      return { bytes: httpRequest(door.method, door.path, door.valid, [header]) }
    },
    'a decision on what is decided': () => ({
      bytes: httpRequest('POST', `/confirm/${decided}/${pick(['approve', 'deny', 'cancel'])}`, pick([undefined, {}])),
    }),
    'an id that nobody has': () => {
      const id = pick([
        '0',
        '-1',
        'undefined',
        'null',
        '__proto__',
        'constructor',
        pending.toUpperCase(),
        pending.slice(0, -1),
        `${pending}%20`,
        `${pending}%00`,
        "'%20OR%201=1--",
        '%',
        '%zz',
        '%c0%af',
        '%ff',
        '%E0%A4%A',
        '%2e%2e%2faudit',
        '..;',
        encodeURIComponent('🔔'.repeat(50)),
        'x'.repeat(1 + below(12_000)),
        'x'.repeat(17_000 + below(20_000)),
        '%41'.repeat(below(3000)),
      ])
      return pick([
        () => ({ bytes: get(`/confirm/${id}`) }),
        () => ({
          bytes: httpRequest('POST', `/confirm/${id}/${pick(['approve', 'deny', 'cancel', 'claim', 'report'])}`, {}),
        }),
        () => ({ bytes: get(`/confirm/${id}/events`) }),
        () => ({ bytes: httpRequest('DELETE', `/whitelist/${id}`) }),
      ])()
    },
    'a path that leads nowhere': () => ({
      bytes: get(
        pick([
          '/',
          '//',
          '/confirm/',
          `/confirm/${pending}/`,
          `//confirm/${pending}`,
          '/confirm/../audit',
          '/./audit',
          '/AUDIT',
          '/audit/',
          '/audit/events/1',
          '/%61udit',
          '/confirm;x=1',
          '/confirm#x',
          '/\\audit',
          '*',
          '?',
          'http://127.0.0.1/audit',
          'http://evil.example/audit',
          '/.env',
          '/%',
          '/%zz?%zz',
          `/${'a/'.repeat(below(4000))}`,
          `/confirm/${pending}/approve/../deny`,
        ]),
      ),
    }),
    'a method that does not fit': () => {
      const method = pick(methods)
      const path = pick([
        '/confirm',
        `/confirm/${pending}`,
        `/confirm/${pending}/approve`,
        '/audit',
        '/health',
        '/x',
        '*',
      ])
      return { method, bytes: httpRequest(method, path, pick([undefined, undefined, {}, '{', 'x'])) }
    },
    'a method that does not exist': () => ({
      bytes: httpRequest(
        pick(['FOO', 'get', 'G3T', 'CONNECT', 'POSTX', 'QUERY', 'PRI', '']),
        pick(['/confirm', '/audit', '*', '127.0.0.1:80']),
      ),
    }),
    'GET and HEAD where only POST is served': () => {
      const method = pick(['GET', 'HEAD'])
      return {
        method,
        bytes: httpRequest(method, pick([`/confirm/${pending}/approve`, `/confirm/${pending}/deny`, '/confirm/x/y/z'])),
      }
    },
    'an odd query string': () => {
      const piece = () =>
        pick([
          'limit',
          'cursor',
          'after',
          'type',
          'actor',
          'channel',
          'confirmation_id',
          'status',
          'since',
          'until',
          'action',
          'session_key',
          'requester',
          'resolved_by',
          '__proto__',
          'constructor',
          'limit[]',
          '',
          '%00',
          '%zz',
        ]) +
        pick(['', '=', '==']) +
        pick([
          '',
          '-1',
          '0',
          '1e9',
          'NaN',
          'Infinity',
          '999999999999999999999',
          '%00',
          '%zz',
          '%ff',
          'pending',
          'pending,denied',
          'a&a=b',
          '@@@',
          'MS4y',
          'OTk5OTk5OTk5OTk5OTk5Ljk5OTk5OTk5OTk5OTk5OQ',
          'LTEuLTE',
          '2026-01-01',
          '+275760-09-13T00:00:00.001Z',
          '-1e400',
          "';DROP TABLE events;--",
          'x'.repeat(below(5000)),
          '1.7976931348623157e308',
          '-99999999999999',
          '0.1',
        ])
      return {
        bytes: get(
          `${pick(readPaths)}?${Array.from({ length: 1 + below(4) }, piece).join(pick(['&', '&&', ';', '?']))}`.replace(
            / /g,
            '+',
          ),
        ),
      }
    },
    'headers that break the rules': () => {
      const header = pick([
        'Bad Header: x',
        ': x',
        'X',
        'X-Null: a\0b',
        'X-Bell: \u0007',
        'X-Fold: a\r\n b',
        'Content-Length: -1',
        'Content-Length: +5',
        'Content-Length: 5, 5',
        'Content-Length: 5\r\nContent-Length: 6',
        'Content-Length: 99999999999999999999',
        'Content-Length: 0x10',
        'Content-Length: ',
        'Transfer-Encoding: chunked\r\nContent-Length: 5',
        'Transfer-Encoding: gzip',
        'Transfer-Encoding: chunked, identity',
        'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: xchunked',
        'Host: a\r\nHost: b',
        `X-Long: ${'x'.repeat(17_000 + below(10_000))}`,
        `${'X-Many: x\r\n'.repeat(below(3000))}X: x`,
        'Expect: the-unexpected',
        'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13',
        'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x',
        'Connection: x, keep-alive, close',
        'X-Forwarded-For: 127.0.0.1, 10.0.0.1',
        'X-HTTP-Method-Override: POST',
        'Cookie: ' + 'a=b;'.repeat(below(3000)),
        'Accept: image/png',
        'Accept-Encoding: *;q=0',
        'Range: bytes=0-1',
        'If-None-Match: *',
      ])
      return {
        bytes: httpRequest(pick(['GET', 'POST', 'DELETE']), pick([...readPaths, '/x']), undefined, [header]),
        end: true,
      }
    },
    'a request line that breaks the rules': () => ({
      bytes: Buffer.from(
        pick([
          'GET / HTTP/9.9\r\nHost: x\r\n\r\n',
          'GET /audit HTTP/1.1\r\n\r\n',
          'GET /audit HTTP/1.0\r\n\r\n',
          'GET /audit\r\n\r\n',
          'GET  /audit  HTTP/1.1\r\nHost: x\r\n\r\n',
          'GET /audit HTTP/1.1 x\r\nHost: x\r\n\r\n',
          'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
          'GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n',
          'GET /\u00e4 HTTP/1.1\r\nHost: x\r\n\r\n',
          'GET /audit HTTP/1.1\nHost: x\n\n',
          ' GET /audit HTTP/1.1\r\nHost: x\r\n\r\n',
          'GET audit HTTP/1.1\r\nHost: x\r\n\r\n',
          'GET http:// HTTP/1.1\r\nHost: x\r\n\r\n',
          'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
          '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
          'HTTP/1.1 200 OK\r\n\r\n',
          'GE',
          'GET /audit HTTP/1.1\r\nHo',
          '{"action":"a","description":"b"}\r\n\r\n',
        ]),
        'latin1',
      ),
      end: true,
    }),
    'noise instead of HTTP': () => ({
      bytes: Buffer.concat([Buffer.from([128 + below(128)]), noise(below(2000))]),
      end: true,
    }),
    'chunks that break the rules': () => {
      const door = pick(doors)
      const head = `${door.method} ${door.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
      const tail = pick([
        'zz\r\n{}\r\n0\r\n\r\n',
        '-1\r\n{}\r\n0\r\n\r\n',
        'ffffffffffffffffff\r\n{}\r\n0\r\n\r\n',
        '2\r\n{}',
        '5\r\n{}\r\n0\r\n\r\n',
        '1\r\n{\r\n0\r\n\r\n',
        '1\r\n{\r\n1\r\n]\r\n0\r\n\r\n',
        '2\n{}\n0\n\n',
        '1\r\n[\r\n0\r\nTrailer: x',
        `1;${'x'.repeat(below(30_000))}\r\n[\r\n0\r\n\r\n`,
        '0\r\n\r\n\r\nx'.slice(0, 1),
        '1\r\n[\r\n0\r\nContent-Length: 5\r\n\r\n',
      ])
      return { bytes: Buffer.from(head + tail), end: true }
    },
    'a body that ends too early': () => {
      const door = pick(doors)
      const bytes = httpRequest(door.method, door.path, door.valid)
      return { bytes: bytes.subarray(0, bytes.length - 1 - below(10)), end: true }
    },
    'a client that hangs up': () => {
      const door = pick(doors)
      const bytes = httpRequest(door.method, door.path, door.valid)
      return { bytes: bytes.subarray(0, below(bytes.length)), abort: true }
    },
    'several bad ones in a row': () => ({
      bytes: Buffer.concat([
        withBody(
          pick(doors),
          pick(['[', 'null', '{"approver":5,"denier":5,"reason":5,"revoked_by":5,"cancelled_by":5}']),
        ),
        withBody(pick(doors), '{'),
        noise(10),
      ]),
      end: true,
    }),
    'expecting to continue': () => {
      const door = pick(doors)
      return { bytes: httpRequest(door.method, door.path, '{', ['Expect: 100-continue']) }
    },
  }
  const names = Object.keys(kinds)
  let count = 0
  return () => {
    // In turn, so that none is left out.
    const name = names[count++ % names.length]!
    return { name, ...kinds[name]!() }
  }
}

function problemWith(answer: Answer | null, { method }: Attack): string | null {
  if (answer === null) return 'no answer'
  if (!(answer.status >= 200 && answer.status < 500)) return `status ${answer.status}`
  if (answer.status < 400) return null
  if (!/^application\/problem\+json/.test(String(answer.headers['content-type'])))
    return `${answer.status} as ${String(answer.headers['content-type'])}`
  if (method === 'HEAD') return null
  const fit = z.union([stateProblem, problem]).safeParse(answer.body)
  if (!fit.success) return `${answer.status} with ${JSON.stringify(answer.body)}`
  const { status, detail, error } = fit.data
  const isState = typeof status === 'string' && answer.status === 409
  if (status !== answer.status && !isState) return `${answer.status} that says ${status}`
  return detail === error && detail.length > 10 ? null : 'no sentence'
}

t.test(`${total} malformed requests are refused properly and change nothing (SEED=${seed})`, async (t) => {
  const program = await start(t, {
    flags: ['--web-port', '0', '--flood-limit', '0'],
    env: { CONFIRMATION_CALLBACK_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}` },
  })
  const pending = (await program.submit()).body.id as string
  const decided = (await program.submit()).body.id as string
  await program.call('POST', `/confirm/${decided}/deny`, { denier: 'bob', reason: 'no' })
  const grant = (await program.call('POST', '/whitelist', { action: 'tag', max_uses: 5 })).body.id as string
  const db = new Database(program.dbPath, { readonly: true })
  t.teardown(() => db.close())
  const snapshot = async () => ({
    audit: (await program.call('GET', '/audit?limit=500')).body,
    events: await program.events(),
    whitelist: (await program.call('GET', '/whitelist')).body,
    tables: ['confirmations', 'events', 'grants', 'deliveries', 'idempotency_keys'].map((name) =>
      db.prepare(`SELECT * FROM ${name}`).all(),
    ),
  })
  const before = await snapshot()
  // The log is written a moment after the answer.
  await until(() => program.logged().some(({ msg }) => msg === 'granted'))
  const lines = program.logged().length

  const attack = createAttacks({ pending, decided, grant }, createRandom(seed))
  const problems = new Map<string, string>()
  const statuses = new Map<number, number>()
  let sent = 0
  async function attackOn(port: number): Promise<void> {
    while (sent < total) {
      sent += 1
      const one = attack()
      const wire = await dial(t, port)
      wire.socket.write(one.bytes)
      if (one.abort === true) {
        wire.socket.destroy()
        continue
      }
      // Only who gets no answer hangs up: Node answers nobody who has done so.
      const timer = one.end === true ? setTimeout(() => wire.socket.end(), 1000) : undefined
      const answer = await wire.answer(one.method)
      clearTimeout(timer)
      wire.socket.destroy()
      const found = problemWith(answer, one)
      if (found !== null)
        problems.set(
          `${one.name}: ${found}`,
          `${one.bytes.length} bytes: ${one.bytes.subarray(0, 300).toString('latin1')}`,
        )
      if (answer !== null) statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    }
  }
  await Promise.all(
    Array.from({ length: atOnce }, (_, index) => attackOn(index % 2 === 0 ? program.port : program.webPort!)),
  )

  t.same(Object.fromEntries(problems), {}, 'every answer is a proper one')
  t.same(await snapshot(), before, 'nothing changed')
  t.comment(
    [...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, count]) => `${status}: ${count}`)
      .join(', '),
  )
  t.equal(program.child.exitCode, null, 'the process lives')
  t.equal(program.stderr(), '')
  t.same(program.logged().slice(lines), [], 'and had nothing to complain about')
  t.equal((await program.call('POST', `/confirm/${pending}/approve`)).status, 200, 'and works')
})

t.test('headers far above the limit are answered, not cut off, while they are still being sent', async (t) => {
  const program = await start(t, { flags: ['--web-port', '0'] })
  for (const port of [program.port, program.webPort!]) {
    const wire = await dial(t, port)
    wire.socket.write('GET /audit HTTP/1.1\r\nHost: x\r\n')
    for (let i = 0; i < 200; i++) wire.socket.write(`X-${i}: ${'x'.repeat(8000)}\r\n`)
    t.match(await wire.answer(), { status: 431, body: { code: 'headers_too_large' } })
  }
})

t.test('a body far above the limit is answered, not cut off, while it is still being sent', async (t) => {
  const program = await start(t, { flags: ['--web-port', '0', '--flood-limit', '0'] })
  for (const port of [program.port, program.webPort!]) {
    for (const megabytes of [2, 20]) {
      const wire = await dial(t, port)
      const size = megabytes * 1024 * 1024
      wire.socket.write(
        `POST /confirm HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`,
      )
      wire.socket.write(Buffer.alloc(size, 'x'))
      t.match(await wire.answer(), { status: 413, body: { code: 'body_too_large' } }, `${megabytes} MiB`)

      const chunked = await dial(t, port)
      chunked.socket.write(
        'POST /confirm HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      )
      for (let i = 0; i < megabytes * 16; i++) chunked.socket.write(`10000\r\n${'x'.repeat(65_536)}\r\n`)
      chunked.socket.write('0\r\n\r\n')
      t.match(await chunked.answer(), { status: 413, body: { code: 'body_too_large' } }, `${megabytes} MiB in chunks`)
    }
  }
  t.same(await program.events(), [])
})
