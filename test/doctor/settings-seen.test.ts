// The settings in a report: what is shown of each, and where it comes from.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSettings } from '../../src/config/sources.js'
import { settingEntries } from '../../src/config/settings.js'
import { masked } from '../../src/doctor/mask.js'
import { secretsOf, seeSettings } from '../../src/doctor/settings-seen.js'
import { temporaryFolder } from '../support.js'

function see(env: Record<string, string>, flags: Record<string, string> = {}) {
  const seen = seeSettings(readSettings(new Map(Object.entries(flags)), env))
  return Object.fromEntries(seen.map(({ name, ...one }) => [name, one]))
}

t.test('each has its value and where that comes from', async (t) => {
  const file = join(temporaryFolder(t), 'holdpoint.yaml')
  writeFileSync(file, 'rate_limit: 21\nport: 7001\n')
  const seen = see({ CONFIRMATION_CONFIG: file, CONFIRMATION_PORT: '7002', HERMES_HOME: '/data' }, { host: '::1' })
  t.match(seen, {
    host: { value: '::1', from: 'flag' },
    port: { value: '7002', from: 'environment' },
    rate_limit: { value: '21', from: 'file' },
    rate_window: { value: '3600', from: 'default' },
    policy: { value: null, from: null },
    db_path: { value: '/data/confirmation_audit.db', from: 'default' },
    config: { value: file, from: 'environment' },
    hermes_home: { value: '/data', from: 'environment' },
  })
  t.equal(Object.keys(seen).length, settingEntries.length + 2)
})

t.test('of a secret and of what is wrong nothing is shown but that it is there', async (t) => {
  for (const [, { env, secret }] of settingEntries.filter(([, one]) => one.secret === true)) {
    const found = Object.values(see({ [env]: `whsec_${Buffer.alloc(24, 1).toString('base64')}` })).filter(
      ({ from }) => from === 'environment',
    )
    t.match(found, [{ value: null, is_secret: secret }], env)
  }
  t.match(see({ CONFIRMATION_PORT: 'sesame' }).port, { value: null, is_wrong: true, from: 'environment' })
  t.match(see({ CONFIRMATION_AUTH: 'sesame' }).auth, { value: null, is_wrong: true })
})

t.test('where anything is taken, only what is usual is shown', async (t) => {
  const host = (value: string) => see({ CONFIRMATION_HOST: value }).host!.value
  for (const value of ['0.0.0.0', '::', '[::1]', 'localhost', '10.0.0.7']) t.equal(host(value), value)
  for (const value of ['sesame', 'holdpoint.example.com', 'bob:sesame@10.0.0.7']) t.equal(host(value), masked)
  const allowed = (value: string) => see({ CONFIRMATION_CALLBACK_ALLOW: value }).callback_allow!.value
  t.equal(
    allowed('localhost:8080 10.0.0.7,[::1]:81,agent.example'),
    'localhost:8080, 10.0.0.7, [::1]:81, agent.example',
  )
  t.equal(allowed('localhost,sesame'), masked)
  const channel = (value: string) => see({ TELEGRAM_HOME_CHANNEL: value }).telegram_home_channel!.value
  for (const value of ['-1001234567890', '12345', '@holdpoint_people']) t.equal(channel(value), value)
  for (const value of ['sesame', '110201543:AAHdqTcvCH1vGWJx', 'open sesame']) t.equal(channel(value), masked)
})

t.test('what looks like a secret is masked in whatever it stands', async (t) => {
  t.match(see({ TELEGRAM_API_BASE: 'http://bob:sesame@10.0.0.7:81/x/5f4dcc3b5aa765d6?key=sesame' }), {
    telegram_api_base: { value: `http://${masked}@10.0.0.7:81/${masked}` },
  })
  const base = (value: string) => see({ DISCORD_API_BASE: value }).discord_api_base!.value
  t.equal(base('https://discord.com/api/v9'), 'https://discord.com/api/v9')
  t.equal(base('https://proxy.example/open-sesame/api'), `https://proxy.example/${masked}`)
  t.match(see({ CONFIRMATION_DB_PATH: '/srv/a8f3k29dk20f/x.db' }), { db_path: { value: `/srv/${masked}/x.db` } })
  t.match(see({ CONFIRMATION_CALLBACK_ALLOW: 'localhost:8080, 5f4dcc3b5aa765d6.example' }), {
    callback_allow: { value: `localhost:8080, ${masked}.example` },
  })
})

t.test('every secret is known, whichever value counts', async (t) => {
  const file = join(temporaryFolder(t), 'holdpoint.yaml')
  writeFileSync(file, 'discord_bot_token: from-the-file\nwrong_name: [under, {a: wrong-name}]\n')
  const env = {
    CONFIRMATION_CONFIG: file,
    DISCORD_BOT_TOKEN: 'from-the-environment',
    CONFIRMATION_PROT: 'mistyped',
    CONFIRMATION_PORT: 'no-number',
    CONFIRMATION_DB_PATH: '/srv/a8f3k29dk20f/x.db',
    CONFIRMATION_CALLBACK_SECRET: 'one two',
    UNRELATED: 'unrelated',
  }
  const known = secretsOf(readSettings(new Map(), env))
  const wanted = [
    'from-the-file',
    'from-the-environment',
    'mistyped',
    'no-number',
    'a8f3k29dk20f',
    'wrong-name',
    'one',
    'two',
  ]
  for (const secret of wanted) t.ok(known.includes(secret), secret)
  for (const text of ['unrelated', '127.0.0.1', file]) t.notOk(known.includes(text), text)
})
