// What is taken out of a text as a secret, and what is left.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { createMask, masked, maskSetting, secretsIn } from '../../src/doctor/mask.js'
import { createRandom } from '../e2e/program.js'

const mask = createMask([])

/** Each with the part that must not be seen. */
const secrets: [text: string, secret: string][] = [
  ['hpk_0123456789ab_' + 'ab'.repeat(32), 'ab'.repeat(4)],
  ['the key hpk_0123456789ab', '0123456789ab'],
  ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'MfKQ9r8G'],
  ['110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw', 'AAHdqTcv'],
  ['https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJx/getMe', 'AAHdqTcv'],
  ['https://api.telegram.org/bot110201543%3AAAHdqTcvCH1vGWJx/getMe', 'AAHdqTcv'],
  ['https://chat.example/botany:sesame/getMe', 'sesame'],
  ['MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs', 'Cl2FMQ'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SflKxwRJSMeKKF2QT4', 'SflKxw'],
  ['https://discord.com/api/webhooks/77/sesame', 'sesame'],
  ['https://discord.com/api/v10/webhooks/77/Wh00kT0ken-abcdefghijklmnopqrstuvwxyz?wait=true', 'abcdefgh'],
  ['https://hooks.example.com/services/T0/B0/sesame', 'sesame'],
  ['see https://user:sesame@db.example:5432/x.', 'sesame'],
  ['postgres://user:ses/ame@db.example/x', 'ses/ame'],
  ['redis://:sesame@127.0.0.1', 'sesame'],
  ['user:sesame@db.example', 'sesame'],
  ['http://127.0.0.1:6001/link/sesame', 'sesame'],
  ['http://127.0.0.1:6001/signin/sesame', 'sesame'],
  ['https://example.com/x?code=sesame', 'sesame'],
  ['https://example.com/x#sesame', 'sesame'],
  ['GET /x?code=sesame&other=1', 'sesame'],
  ['{"token":"open sesame"}', 'sesame'],
  ['{"db_password": "open \\"sesame\\""}', 'sesame'],
  ['MY_API_KEY=sesame', 'sesame'],
  ['authorization = "sesame"', 'sesame'],
  ['Authorization: Bearer sesame-open', 'sesame'],
  ['-----BEGIN RSA PRIVATE KEY-----\nsesame\n-----END RSA PRIVATE KEY-----', 'sesame'],
  ['ghp_16C7e42F292c6912E7710c838347Ae178B4a', '16C7e42F'],
  ['AKIAIOSFODNN7EXAMPLE', 'IOSFODNN'],
  ['5f4dcc3b5aa765d61d8327deb882cf99', '5f4dcc3b'],
  ['9b2f7c1e-8a3d-4e5f-b1c2-d3e4f5a6b7c8', '9b2f7c1e'],
  ['/srv/5f4dcc3b5aa765d61d8327deb882cf99/x.db', '5f4dcc3b'],
  ['aGVsb/G8gd29ybGQsIHRoaXMgaXMgYSBzZWNyZXQ=', 'aGVsb'],
]

t.test('what looks like a secret is masked wherever it stands', async (t) => {
  for (const [text, secret] of secrets) {
    for (const around of [text, `x ${text} y`, `{"a":${JSON.stringify(text)}}`, `(${text}),`]) {
      const shown = mask(around)
      t.notMatch(shown, secret, `${around} is shown as ${shown}`)
      t.match(shown, masked)
      t.equal(mask(shown), shown, 'once is enough')
    }
  }
})

t.test('random text is masked, whatever its alphabet', async (t) => {
  const random = createRandom(1)
  for (let n = 0; n < 500; n++) {
    const bytes = Buffer.from(Array.from({ length: 24 }, () => random.below(256)))
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      const secret = bytes.toString(encoding)
      const shown = mask(`it is ${secret} here`)
      // Where it begins like a path, a piece of it may pass for a word.
      const left = shown.replaceAll(masked, '').replace(/^it is | here$/g, '')
      t.ok(left.length <= (/^[a-z0-9]*\//.test(secret) ? 8 : 0), `${secret} is shown as ${shown}`)
    }
  }
})

/** What a report is full of. */
const harmless = [
  '2026-01-01T00:00:00.000Z, time zone Europe/Berlin',
  'http://127.0.0.1:6001/view/019a8e6e-7b5c-7c3d-8e9f-0123456789ab',
  'agents use http://127.0.0.1:6000, people open http://[::1]:6001, the database is /var/lib/holdpoint/confirmation_audit.db',
  '/tmp/holdpoint-test-AbC123/test.db',
  'https://api.telegram.org',
  'https://discord.com/api/v10',
  'https://holdpoint.example.com',
  'linux 6.18.44-fc-v509, x64',
  'node /opt/holdpoint/dist/src/server.js keys add --name NAME --role admin --db-path /data/x.db',
  "CONFIRMATION_CALLBACK_SECRET: must begin with 'whsec_'",
  '"digest":"0123456789abcdef"',
  'TELEGRAM_BOT_TOKEN is set but TELEGRAM_HOME_CHANNEL is not: Telegram is not used',
  'docs.holdpoint.example, internationally known',
  'the token was refused: 401 Unauthorized',
  '-1001234567890, @holdpoint_approvals',
  'Tree 12 page 31 cell 4: 2nd reference to page 30',
  'https://discord.com/api/v10/users/@me',
]

t.test('what a report is full of is left as it is', async (t) => {
  for (const text of harmless) t.equal(mask(text), text)
  for (const text of ['/var/lib/holdpoint/confirmation_audit.db', 'https://discord.com/api/v10', '10.0.0.7:8080'])
    t.equal(maskSetting(text), text)
})

t.test('a known secret is masked also where it looks like nothing, and as a URL and as JSON spell it', async (t) => {
  const known = createMask(['hunter2', 'open "sesame"', 'a', 'hunter2-and-more', ' padded '])
  t.equal(known('it is hunter2, HUNTER2.'), `it is ${masked}, ${masked}.`)
  t.equal(known('hunter2-and-more'), masked, 'the longest first')
  t.equal(known(JSON.stringify({ x: 'open "sesame"' })), `{"x":"${masked}"}`)
  t.equal(known(`/x/${encodeURIComponent('open "sesame"')}/y`), `/x/${masked}/y`)
  t.equal(known('padded'), masked)
  t.equal(known('a word'), 'a word', 'one that is too short would take words apart')
  t.equal(createMask(['masked', 'hunter2'])('masked hunter2'), `${masked} ${masked}`, 'nothing is masked twice')
})

t.test('what is spared is shown', async (t) => {
  const hash = createHash('sha256').update('rules').digest('hex')
  t.equal(mask(hash), masked)
  t.equal(createMask([], [hash])(hash), hash)
})

t.test('in a setting less is enough, and what is found there is known from then on', async (t) => {
  t.equal(mask('a8f3k29dk'), 'a8f3k29dk')
  t.equal(maskSetting('a8f3k29dk'), masked)
  t.same(secretsIn('/srv/a8f3k29dk/x.db'), ['a8f3k29dk'])
  t.same(secretsIn('http://user:sesame@10.0.0.1/'), ['user:sesame', 'sesame'])
  t.same(secretsIn('/var/lib/holdpoint'), [])
})

t.test('a hostile text is masked in reasonable time', async (t) => {
  // Each makes a careless pattern begin anew at every character; tap ends a test that takes too long.
  for (const piece of [
    'a',
    '1',
    '.',
    ':',
    '@',
    'x@',
    'a:',
    'http://',
    '/bot',
    'token',
    '-----BEGIN PRIVATE KEY-----',
    '"',
    '%3A',
  ])
    mask(piece.repeat(Math.floor(256_000 / piece.length)))
  mask(randomBytes(100_000).toString('base64'))
  t.pass('to the end')
})
