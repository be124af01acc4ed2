// holdpoint sessions gc: what it shows, asks and does, in a running service and where none runs.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { carryOut } from '../../src/cli/dispatch.js'
import type { Output } from '../../src/cli/output.js'
import { isPlain } from '../../src/command.js'
import { readInvocation } from '../../src/invocation.js'
import { listenLocally, localSocket } from '../../src/listen.js'
import { run } from '../e2e/program.js'
import { pastOf, runOf, seed, sessionOf } from '../sessions/seed.js'
import { build, t0, temporaryFolder } from '../support.js'
import { command } from './command.js'

const day = 86_400_000
const key = 'agent:main:telegram:dm:1'

/** Two that would go, and one that would not. */
function fill(dbPath: string, now = t0): void {
  const sessions = [
    sessionOf(key, runOf('empty-id', now - 2 * day)),
    sessionOf('plain \u001b[2J', runOf('trivial-id', now - 8 * day, 3)),
    sessionOf('stays', runOf('stays-id', now - 8 * day, 6)),
  ]
  seed(dbPath, sessions, [pastOf(key, runOf('earlier-id', now - 3 * day, 3))])
}

const still = 'sessions: { mode: none, max_messages: 0 }'

/** A service in this process that commands can reach, on a clock that stands. */
async function reachable(t: Test) {
  const dbPath = join(temporaryFolder(t), 'test.db')
  fill(dbPath)
  const built = await build(t, { dbPath, rules: still })
  t.teardown(await listenLocally(localSocket(dbPath)!, built.routeLocal))
  const left = async () => (await built.call('GET', '/sessions')).body.count as number
  return { ...built, left, gc: (...words: string[]) => command(dbPath, 'sessions', 'gc', ...words) }
}

/** The same at a terminal, where somebody answers this. */
async function atTerminal(dbPath: string, answer: string, ...words: string[]) {
  const said = { out: '', err: '', asked: '', shown: [] as string[] }
  const output: Output = {
    print: (text) => void (said.out += `${text}\n`),
    tell: (text) => void (said.err += `${text}\n`),
    show: (text) => void said.shown.push(text),
    ask: async (question) => {
      said.asked += question
      return answer
    },
  }
  const invocation = readInvocation(['--db-path', dbPath, 'sessions', 'gc', ...words], {})
  if (invocation.command !== 'carry-out' || !isPlain(invocation.given)) throw new Error('no command')
  const code = await carryOut(invocation.given, invocation.config, output)
  return { ...said, code }
}

t.test('a dry run shows what would go, as a table, and removes nothing', async (t) => {
  const { gc, left, events } = await reachable(t)
  const { code, stdout, stderr } = await gc('--dry-run')
  t.equal(code, 0)
  t.match(stdout.split('\n'), [
    /^RULE +SESSION +KEY +REQUESTER +MESSAGES +LAST ACTIVE +CURRENT$/,
    /^trivial +trivial-id +plain \\u\{1b\}\[2J +3 +2025-12-24T00:00:00.000Z +yes$/,
    /^empty +empty-id +agent:main:telegram:dm:1 +0 +2025-12-30T00:00:00.000Z +yes$/,
    '',
  ])
  t.equal(stderr, '2 sessions (1 empty, 1 trivial) would go. Nothing was removed.\n')
  t.equal(await left(), 3)
  t.notMatch(await events(), [{ type: 'sessions_collected' }])
})

t.test('the same as JSON', async (t) => {
  const { gc, left } = await reachable(t)
  const { code, stdout } = await gc('--dry-run', '--json', '--source', 'telegram')
  t.equal(code, 0)
  t.match(JSON.parse(stdout), {
    total: 1,
    by_rule: { empty: 1, trivial: 0, aged: 0 },
    sessions: [{ id: 'empty-id', session_key: key, rule: 'empty', is_current: true, platform: 'telegram' }],
  })
  t.notMatch((await gc('--dry-run', '--json')).stdout, '\u001b')
  t.equal(await left(), 3)
})

t.test('with --yes what would go goes, and the owner is on record', async (t) => {
  const { gc, left, events, call } = await reachable(t)
  t.same(await gc('--yes'), { code: 0, stdout: '', stderr: 'Removed 2 sessions (1 empty, 1 trivial).\n' })
  t.equal(await left(), 1)
  const [event] = (await events()).filter(({ type }) => type === 'sessions_collected')
  t.match(event, { actor: 'local', channel: 'local', data: { total: 2, source: null } })
  t.match(await call('GET', `/sessions/${encodeURIComponent(key)}`), { body: { session_id: 'earlier-id' } })
  t.same(await gc('--yes'), { code: 0, stdout: '', stderr: 'There is nothing to remove.\n' })
  t.same(await gc('--dry-run'), { code: 0, stdout: '', stderr: 'There is nothing to remove.\n' })
  const { code, stdout } = await gc('--yes', '--json', '--trivial-max=6', '--max-age-days', 'off')
  t.same({ code, ...JSON.parse(stdout) }, { code: 0, total: 1, by_rule: { empty: 0, trivial: 1, aged: 0 } })
})

t.test('without a terminal and without --yes it refuses, and says what to add', async (t) => {
  const { gc, left } = await reachable(t)
  const { code, stdout, stderr } = await gc()
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, /nobody can be asked whether it shall: add --yes, or --dry-run to see what would go\.$/m)
  t.equal(await left(), 3)
})

t.test('at a terminal it asks first: yes is a yes', async (t) => {
  for (const answer of ['y', 'Y', 'yes', ' YES ']) {
    const { dbPath, left } = await reachable(t)
    const { code, asked, err } = await atTerminal(dbPath, answer)
    t.equal(asked, 'Remove 2 sessions (1 empty, 1 trivial)? [y/N] ')
    t.match({ code, err }, { code: 0, err: 'Removed 2 sessions (1 empty, 1 trivial).\n' }, answer)
    t.equal(await left(), 1)
  }
})

t.test('anything else is a no, and nothing is asked where there is nothing to remove', async (t) => {
  const { dbPath, left } = await reachable(t)
  for (const answer of ['', 'n', 'no', 'yesterday', 'q']) {
    t.match(await atTerminal(dbPath, answer), { code: 1, err: 'Nothing was removed.\n' }, answer)
  }
  t.equal(await left(), 3)
  const none = await atTerminal(dbPath, 'y', '--source', 'nowhere')
  t.match(none, { code: 0, asked: '', err: 'There is nothing to remove.\n' })
})

t.test('at a terminal a bar shows how far it is, and is taken away', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const all = Array.from({ length: 300 }, (_, n) => sessionOf(`s${n}`, runOf(`r${n}`, t0 - 2 * day)))
  seed(dbPath, all)
  let batches = 0
  const built = await build(t, {
    dbPath,
    wrapStore: (store) => ({
      ...store,
      sessions: {
        ...store.sessions,
        // Long enough for whoever watches to look.
        async collect(runs) {
          if ((batches += 1) === 3) await new Promise((resolve) => setTimeout(resolve, 500))
          return store.sessions.collect(runs)
        },
      },
    }),
  })
  t.teardown(await listenLocally(localSocket(dbPath)!, built.routeLocal))
  const { shown, err } = await atTerminal(dbPath, '', '--yes')
  t.equal(err, 'Removed 300 sessions (300 empty).\n')
  t.match(shown.slice(0, -1), [/^\[#{10}-{20}\] 33 %, 100 of 300$/])
  t.equal(shown.at(-1), '')
})

t.test('where no service runs it goes into the database itself', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  fill(dbPath, Date.now())
  t.match((await command(dbPath, 'sessions', 'gc', '--dry-run')).stderr, '2 sessions (1 empty, 1 trivial) would go.')
  t.match(await command(dbPath, 'sessions', 'gc', '--yes'), { code: 0, stderr: 'Removed 2 sessions' })
  t.match(await command(dbPath, 'sessions', 'gc', '--yes'), { code: 0, stderr: 'There is nothing to remove.' })
  t.match(await command(join(temporaryFolder(t), 'none.db'), 'sessions', 'gc', '--dry-run'), {
    code: 1,
    stderr: 'There is no database',
  })
})

t.test('what cannot be understood is refused by what is wrong, all at once', async (t) => {
  const { gc, left } = await reachable(t)
  for (const [words, sentence] of [
    [['all'], /sessions gc takes no argument/],
    [['--empty-hours', '-1'], /--empty-hours: must be a whole number from 0 to 87600/],
    [['--empty-hours', '1.5'], /--empty-hours: must be/],
    [['--trivial-max', 'few'], /--trivial-max: must be a whole number from 0 to 10000/],
    [['--trivial-days=3651'], /--trivial-days: must be a whole number from 0 to 3650/],
    [['--max-age-days', '0'], /--max-age-days: must be a whole number from 1 to 3650, or off/],
    [['--trivial-max', 'x', '--max-age-days', 'y'], /--trivial-max: must[^]*--max-age-days: must/],
    [['--source'], /--source: needs a value/],
    [['--yes=no'], /--yes: takes no value/],
    [['--dry'], /--dry: there is no such flag; did you mean --dry-run\?/],
  ] as const) {
    t.match(await gc('--yes', ...words), { code: 2, stdout: '', stderr: sentence }, words.join(' '))
  }
  t.equal(await left(), 3)
})

t.test('the program itself refuses without a terminal, and removes with --yes', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  fill(dbPath, Date.now())
  const refused = await run(t, ['sessions', 'gc', '--db-path', dbPath])
  t.match(refused, { code: 1, stdout: '', stderr: /add --yes, or --dry-run/ })
  t.match(await run(t, ['sessions', 'gc', '--yes', '--db-path', dbPath]), { code: 0, stderr: /^Removed 2 sessions/ })
})
