// Sessions and kill -9: what was counted is counted, and trust that ended stays ended.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { temporaryFolder } from '../support.js'
import { type Program, start } from './program.js'

const key = 'agent:main:telegram:dm:7'
const pathOf = (key: string) => `/sessions/${encodeURIComponent(key)}`
const path = pathOf(key)
const askedIn = (key: string) => ({ action: 'read_file', description: 'd', session_key: key })
const asked = askedIn(key)

async function begin(t: Test, sessions: string) {
  const rules = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(rules, `sessions: ${sessions}\n`)
  const flags = ['--policy', rules, '--rate-limit', '1000000']
  return { flags, program: await start(t, { flags }) }
}

/** A person approves it for the whole session, and then it is covered. */
async function trust(t: Test, program: Program, asked: object): Promise<void> {
  const { body } = await program.call('POST', '/confirm', asked)
  await program.call('POST', `/confirm/${body.id}/approve`, { remember: 'session' })
  t.equal((await program.call('POST', '/confirm', asked)).status, 200)
}

/** As if so much time had passed while the program was down. */
function age(dbPath: string, ms: number): void {
  const db = new Database(dbPath)
  db.prepare('UPDATE sessions SET last_active_at = last_active_at - ?, reset_at = reset_at - ?').run(ms, ms)
  db.close()
}

const ways: Record<string, (program: Program, path: string) => Promise<unknown>> = {
  message_limit: (program, path) => program.call('POST', `${path}/messages`, { count: 100 }),
  manual: (program, path) => program.call('POST', `${path}/reset`),
  async suspended(program, path) {
    await program.call('POST', `${path}/suspend`, { reason: 'looks odd' })
    await program.call('POST', `${path}/reset`)
  },
  async switched(program, path) {
    const { session_id: id } = (await program.call('GET', path)).body
    await program.call('POST', `${path}/reset`)
    await program.call('POST', `${path}/switch`, { session_id: id })
  },
}

t.test('however trust ended, the same action needs a person again, also after kill -9', async (t) => {
  const { flags, program } = await begin(t, '{ mode: none, max_messages: 50 }')
  for (const [reason, way] of Object.entries(ways)) {
    const own = `${key}:${reason}`
    await trust(t, program, askedIn(own))
    await way(program, pathOf(own))
  }
  await program.crash()
  const again = await start(t, { flags, dbPath: program.dbPath })
  for (const reason of Object.keys(ways)) {
    const answer = await again.call('POST', '/confirm', askedIn(`${key}:${reason}`))
    t.match(answer, { status: 202, body: { session: { was_reset: true, reset_reason: reason } } }, reason)
  }
})

for (const [reason, sessions, days] of [
  ['idle', '{ mode: idle, idle: 60 }', 1],
  ['daily', '{ mode: daily }', 2],
] as const) {
  t.test(`${reason}: the same, when it fell due while the program was down`, async (t) => {
    const { flags, program } = await begin(t, sessions)
    await trust(t, program, asked)
    await program.crash()
    age(program.dbPath, days * 24 * 3600 * 1000)
    const again = await start(t, { flags, dbPath: program.dbPath })
    t.match(await again.call('POST', '/confirm', asked), {
      status: 202,
      body: { session: { was_reset: true, reset_reason: reason } },
    })
    t.equal((await again.call('GET', '/whitelist')).body.count, 0)
  })
}

t.test('everything that was acknowledged in a storm is counted, and a suspension stands', async (t) => {
  const { flags, program } = await begin(t, '{ mode: none, max_messages: 0 }')
  let submitted = 0
  let messages = 0
  const storm = Array.from({ length: 16 }, async (_, lane) => {
    try {
      for (let n = 0; n < 200; n++) {
        const isMessage = (n + lane) % 3 === 0
        const answer = isMessage
          ? await program.call('POST', `${path}/messages`, { count: 2 })
          : await program.call('POST', '/confirm', { ...asked, details: { lane, n } })
        if (answer.status === 202) submitted += 1
        if (answer.status === 200) messages += 2
      }
    } catch {
      // It is gone.
    }
  })
  await new Promise((resolve) => setTimeout(resolve, 300))
  await program.crash()
  await Promise.all(storm)
  const again = await start(t, { flags, dbPath: program.dbPath })
  const { body } = await again.call('GET', path)
  const onRecord = (await again.events()).filter(({ type }) => type === 'submitted').length
  t.equal(body.submissions, onRecord, 'each submission on record is counted, and no other')
  t.ok(body.submissions >= submitted, `${submitted} were acknowledged`)
  t.ok(body.messages - body.submissions >= messages, `${messages} messages were acknowledged`)
  await again.call('POST', `${path}/suspend`, { reason: 'a storm' })
  await again.crash()
  const third = await start(t, { flags, dbPath: program.dbPath })
  t.match(await third.call('POST', '/confirm', asked), { status: 423, body: { code: 'session_suspended' } })
})
