// --json, command by command: one document on standard output, with the names of the API, and nothing where it is refused.
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CommandName, commands, optionsOf } from '../../src/command.js'
import { listenLocally, localSocket } from '../../src/listen.js'
import { run } from '../e2e/program.js'
import { build, temporaryFolder } from '../support.js'
import { commandWith } from './command.js'

/** What one command may know of what those before it answered. */
interface Known {
  path: (name: string) => string
  /** Of requests; the third is of the session `one`. */
  ids: string[]
  digests: string[]
  answers: Map<CommandName, any>
}

/** It fills a terminal; it is for a shell; it is JSON; they answer in the form of a host. */
const without: CommandName[] = [
  'mcp',
  'watch',
  'completion',
  'policy schema',
  'hook claude-code',
  'hook codex',
  'hook hermes',
  'hook generic',
]
/** By a process of its own: it takes settings that may be wrong. */
const alone: CommandName[] = ['doctor']

const secret = /^hpk_[0-9a-f]{12}_[0-9a-f]{64}$/
const rules = `rules:
  - { name: big, action: pay, when: { n: { at_least: 9 } }, approvals: 2 }
  - { name: pay, action: pay, deciders: [ann], rate_limit: { max: 2, window_seconds: 60 }, refuse_after_denial: 5 }
`

/** In this order. Keys come late: with the first one, a key is needed over HTTP. */
const cases: [name: CommandName, words: (known: Known) => string[], answer: object, code?: number][] = [
  ['pending', () => [], [{ status: 'pending' }, {}, {}]],
  ['show', ({ ids }) => [ids[0]!], { status: 'pending', digest: /^[0-9a-f]{64}$/ }],
  ['approve', ({ ids, digests }) => [ids[0]!, '--digest', digests[0]!], { status: 'approved' }],
  [
    'deny',
    ({ ids, digests }) => [ids[1]!, '--digest', digests[1]!, '-m', 'no\u009b'],
    { status: 'denied', reason: 'no\u009b' },
  ],
  ['whitelist add', () => ['chat', '--ttl', '1h'], { action: 'chat', id: String }],
  ['whitelist list', () => [], [{ action: 'chat' }]],
  ['whitelist revoke', ({ answers }) => [answers.get('whitelist add').id], { action: 'chat' }],
  ['audit', () => ['--limit', '2'], [{ id: String }, { id: String }]],
  ['export', ({ path }) => ['--output', path('a.csv')], { format: 'csv', rows: 3, new_rows: 3 }],
  ['digest', ({ path }) => [path('submission.json')], { digest: /^[0-9a-f]{64}$/, canonical: String }],
  [
    'install',
    () => ['mcp', '--print'],
    {
      host: 'mcp',
      settings: { mcpServers: { holdpoint: { args: ['mcp', '--url', /^http/, '--key-file', String] } } },
      closed: false,
    },
  ],
  ['sessions list', () => [], [{ session_key: 'one' }]],
  ['sessions show', () => ['one'], { session_key: 'one', pending: [{}] }],
  ['sessions suspend', () => ['one'], { suspended: true }],
  ['sessions resume', () => ['one'], { suspended: false }],
  ['deny', ({ ids, digests }) => [ids[2]!, '--digest', digests[2]!], { status: 'denied' }],
  ['sessions reset', () => ['one'], { session_key: 'one', previous_id: String }],
  ['sessions switch', ({ answers }) => ['one', '--to', answers.get('sessions reset').previous_id], { streak: 1 }],
  ['sessions gc', () => ['--dry-run'], { total: 0, by_rule: {}, sessions: [] }],
  ['sessions gc', () => ['--yes'], { total: 0, by_rule: {} }],
  ['people set', () => ['--name', 'ann', '--telegram', '5'], { name: 'ann', telegram_id: '5', slack_id: null }],
  ['people list', () => [], [{ name: 'ann' }]],
  [
    'keys add',
    () => ['--name', 'ann', '--role', 'admin'],
    { key: secret, id: String, role: 'admin', expires_at: null },
  ],
  ['keys list', () => [], [{ name: 'ann', key: undefined }]],
  ['keys rotate', () => ['ann'], { key: secret, replaces: { name: 'ann', expires_at: Number } }],
  ['signin', () => ['ann'], { url: /^http/, key_id: String, name: 'ann', expires_at: Number }],
  ['keys revoke', () => ['ann'], [{ state: 'revoked' }, { state: 'revoked', revoked_at: Number }]],
  ['policy check', ({ path }) => [path('rules.yaml')], { problems: [], warnings: [], rules: 2 }],
  ['policy check', ({ path }) => [path('wrong.yaml')], { problems: [/^line 1: /], warnings: [], rules: null }, 1],
  [
    'policy explain',
    ({ path }) => ['pay', '--details', '{"n":5}', '--policy', path('rules.yaml')],
    {
      details: { n: 5 },
      refused: null,
      looked_at: [
        { name: 'big', fits: false, because: ['n is 5 and must be at least 9'] },
        { name: 'pay', fits: true, because: [] },
      ],
      applies: {
        name: 'pay',
        approvals: 1,
        deciders: ['ann'],
        rate_limit: { max: 2, window_seconds: 60, per: null },
        refuse_after_denial: 5,
        open_limit: null,
        breaker: { warn: 3, wait_seconds: 600 },
      },
    },
  ],
  [
    'policy explain',
    ({ path }) => ['pаy', '--policy', path('rules.yaml')],
    { refused: 'unclear_action', looked_at: [], applies: null },
  ],
  ['policy explain', () => ['delete_data'], { looked_at: [], applies: { name: 'high risk', whitelist: false } }],
  ['notify test', () => [], [], 1],
  ['backup', ({ path }) => [path('backup.db')], { bytes: Number, events: Number }],
  [
    'restore',
    ({ path }) => [path('backup.db'), '--db-path', path('new.db')],
    {
      kept: null,
      next_seq: Number,
      ended: { requests_ended: 0, keys_revoked: [], approvals_lapsed: 1 },
      made_key: { key: secret, role: 'admin', state: 'live' },
    },
  ],
]

async function prepare(t: Test): Promise<Known & { env: Record<string, string>; dbPath: string }> {
  const { app, dbPath, routeLocal, submit } = await build(t)
  t.teardown(await listenLocally(localSocket(dbPath)!, routeLocal))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const env = { HOLDPOINT_URL: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` }
  const folder = temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  const asked = [{}, { details: { text: '\u009b2J\u202e' } }, { session_key: 'one' }]
  const made = [await submit(asked[0]), await submit(asked[1]), await submit(asked[2])].map(({ body }) => body)
  writeFileSync(path('rules.yaml'), rules)
  writeFileSync(path('wrong.yaml'), 'rules: 5\n')
  writeFileSync(path('submission.json'), JSON.stringify({ action: 'a', description: 'b', ...asked[1] }))
  const [ids, digests] = [made.map(({ id }) => id as string), made.map(({ digest }) => digest as string)]
  return { path, ids, digests, answers: new Map(), env, dbPath }
}

t.test('each command that answers data takes --json, and answers one document with nothing beside it', async (t) => {
  const known = await prepare(t)
  for (const [name, wordsFor, answer, code = 0] of cases) {
    const words = [...name.split(' '), ...wordsFor(known), '--json']
    const said = await commandWith(known.env, known.dbPath, ...words)
    t.equal(said.code, code, `${words.join(' ')}: ${said.stderr}`)
    t.notMatch(said.stdout, /(?!\n)\p{C}/u, 'it does nothing to a terminal')
    const document = JSON.parse(said.stdout) as unknown
    t.equal(said.stdout, `${said.stdout.trim()}\n`)
    t.match(document, answer, name)
    if (Array.isArray(answer)) t.equal((document as unknown[]).length, answer.length, name)
    known.answers.set(name, document)
  }
})

t.test('the doctor does so, too', async (t) => {
  const { stdout } = await run(t, ['doctor', '--json', '--db-path', join(temporaryFolder(t), 'none.db')])
  t.match(JSON.parse(stdout), { problems: [] })
})

t.test('no command is left out, and those that answer no data take no --json', async (t) => {
  const names = Object.keys(commands) as CommandName[]
  const tested = [...new Set(cases.map(([name]) => name)), ...alone]
  t.same(names.filter((name) => !without.includes(name)).sort(), tested.sort())
  for (const name of names) t.equal('json' in optionsOf(name), !without.includes(name), name)
})

const refused: [words: (known: Known) => string[], code: number][] = [
  [() => ['keys', 'add', '--name', 'system', '--role', 'agent'], 1],
  [() => ['keys', 'add', '--name', 'ann'], 2],
  [() => ['keys', 'revoke', 'nobody'], 1],
  [() => ['keys', 'rotate', 'nobody'], 1],
  [() => ['signin', 'nobody'], 1],
  [() => ['people', 'set', '--name', 'a/b'], 1],
  [() => ['show', 'abcdef12'], 1],
  [({ ids }) => ['approve', ids[0]!], 1],
  [({ ids }) => ['deny', ids[0]!, '--digest', 'f'.repeat(64)], 1],
  [() => ['sessions', 'show', 'none'], 1],
  [() => ['sessions', 'show', 'one', '--text'], 2],
  [() => ['sessions', 'gc'], 1],
  [({ path }) => ['policy', 'check', path('none.yaml')], 1],
  [({ path }) => ['policy', 'explain', 'pay', '--policy', path('wrong.yaml')], 1],
  [() => ['policy', 'explain', 'pay', '--details', '[1]'], 2],
  [({ path }) => ['backup', path('rules.yaml')], 1],
  [({ path }) => ['restore', path('rules.yaml')], 1],
  [() => ['pending', '--url', 'http://127.0.0.1:1'], 3],
  [() => ['export'], 2],
  [() => ['install', 'emacs'], 2],
  [() => ['install', 'mcp', '--project', '/does/not/exist'], 1],
]
t.test('what is refused is a sentence on standard error, with the same exit code and no document', async (t) => {
  const known = await prepare(t)
  for (const [wordsFor, code] of refused) {
    const words = wordsFor(known)
    const said = await commandWith(known.env, known.dbPath, ...words, '--json')
    t.match(said, { code, stdout: '', stderr: /[a-z].*\n$/ }, words.join(' '))
  }
})
