// Sessions that nobody needs, removed by the owner of the machine.
import t, { type Test } from 'tap'
import { listenLocally, localSocket } from '../../src/listen.js'
import { build } from '../support.js'
import { command } from './command.js'

const day = 24 * 3_600_000

/** A service that commands can reach, with one short session and a long one, a week after their last message. */
async function aged(t: Test) {
  const built = await build(t, { rules: 'sessions: { mode: none }' })
  t.teardown(await listenLocally(localSocket(built.dbPath)!, built.routeLocal))
  await built.call('POST', '/sessions/agent%3Amain%3Atelegram%3Adm%3A1/messages')
  await built.call('POST', '/sessions/long/messages', { count: 50 })
  await built.clock.advance(7 * day)
  return { ...built, gc: (...options: string[]) => command(built.dbPath, 'sessions', 'gc', ...options) }
}

t.test('a dry run shows what would go, as a table and as JSON, and removes nothing', async (t) => {
  const { gc, store } = await aged(t)
  const shown = await gc('--dry-run')
  t.match(shown, { code: 0, stderr: /1 session.* would go\. Nothing was removed\./ })
  t.match(shown.stdout, /^RULE +SESSION +KEY.*\ntrivial +session-\d+ +agent:main:telegram:dm:1 /)
  t.equal(shown.stdout.trimEnd().split('\n').length, 2)
  const json = JSON.parse((await gc('--dry-run', '--json')).stdout) as object
  t.match(json, { total: 1, by_rule: { trivial: 1 }, sessions: [{ session_key: 'agent:main:telegram:dm:1' }] })
  t.equal((await store.sessions.list({}, 10, null)).items.length, 2)
})

t.test('where nobody can be asked it removes nothing without --yes', async (t) => {
  const { gc, store } = await aged(t)
  t.match(await gc(), { code: 1, stderr: /add --yes, or --dry-run/ })
  t.equal((await store.sessions.list({}, 10, null)).items.length, 2)
  t.match(await gc('--yes', '--source', 'discord'), { code: 0, stderr: /nothing to remove/ })
  t.match(await gc('--yes'), { code: 0, stderr: /Removed 1 session/ })
  t.match((await store.sessions.list({}, 10, null)).items, [{ key: 'long' }])
})

t.test('what makes no sense is refused', async (t) => {
  const { gc } = await aged(t)
  for (const options of [
    ['--empty-hours', 'x'],
    ['--trivial-days', '-1'],
    ['--max-age-days', '0'],
    ['--sorce', 'a'],
  ]) {
    t.match(await gc(...options), { code: 2, stdout: '' }, options.join(' '))
  }
})
