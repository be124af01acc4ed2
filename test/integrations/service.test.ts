// Each host with its plugin, before the started service: a tool call runs after an accepted approval and not otherwise.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Program, start } from '../e2e/program.js'
import { needs } from '../needs.js'
import { temporaryFolder } from '../support.js'
import { type StartHost, startHermes, startOpenClaw } from './hosts.js'

const hosts: Record<string, StartHost> = { Hermes: startHermes, OpenClaw: startOpenClaw }

const rules = `
rules:
  - name: quick
    action: tool:quick
    timeout: { default: 1, min: 1, max: 1 }
  - name: looking
    action: tool:look
    pass: true
  - name: all
    action: '*'
    rate_limit: { max: 1000, window_seconds: 3600 }
`

function startService(t: Test, more: { dbPath?: string; port?: number } = {}): Promise<Program> {
  const file = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(file, rules)
  const port = more.port === undefined ? [] : ['--port', String(more.port)]
  return start(t, {
    flags: ['--policy', file, '--open-limit', '1000', ...port],
    ...(more.dbPath === undefined ? {} : { dbPath: more.dbPath }),
  })
}

/** Those of a session that wait, once there are so many. */
async function pending({ call }: Program, session: string, count = 1): Promise<any[]> {
  for (let tries = 0; tries < 400; tries++) {
    const { body } = await call('GET', `/confirm?status=pending&limit=100&session_key=${session}`)
    if (body.confirmations.length === count) return body.confirmations
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`there are never ${count} that wait`)
}

const decide = ({ call }: Program, verb: 'approve' | 'deny', { id }: { id: string }, more: object = {}) =>
  call('POST', `/confirm/${id}/${verb}`, { [verb === 'approve' ? 'approver' : 'denier']: 'ann', ...more })

/** All of a session, the newest first. */
const all = async ({ call }: Program, session: string) =>
  (await call('GET', `/audit?limit=100&session_key=${session}`)).body.entries as any[]

/** Its outcome comes after the call. */
async function reported(program: Program, id: string): Promise<any> {
  for (let tries = 0; tries < 400; tries++) {
    const { body } = await program.call('GET', `/confirm/${id}`)
    if (body.outcome !== null) return body
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('its outcome is never reported')
}

t.test('with one service', async (t) => {
  const program = await startService(t)
  const url = `http://127.0.0.1:${program.port}`
  for (const [name, startHost] of Object.entries(hosts)) {
    t.test(name, async (t) => {
      if (name === 'Hermes' && !needs(t, 'python3')) return
      // Nobody has to hurry; and the service says soon that nobody has answered.
      const host = await startHost(t, { url, seconds: 60 })
      const hasty = await startHost(t, { url, seconds: 4 })
      let count = 0
      const newSession = () => `${name}-${count++}`

      await t.test('what a person approves runs, and the record says all of it', async (t) => {
        const session = newSession()
        const input = { command: 'rm -rf build', timeout: 1.5 }
        const calling = host.call({ tool: 'shell', input, session })
        const [asked] = await pending(program, session)
        t.match(asked, { action: 'tool:shell', session_key: session, description: /shell/ })
        t.same(asked.details, { tool_input: input })
        await decide(program, 'approve', asked)
        t.same(await calling, { ran: input, said: '' })
        t.match(await reported(program, asked.id), { status: 'approved', execution: 'succeeded' })

        const failing = host.call({ input: { command: 'false' }, fails: 'exit code 1', session })
        const [again] = await pending(program, session)
        await decide(program, 'approve', again)
        t.ok((await failing).ran)
        t.match(await reported(program, again.id), { execution: 'failed', report_message: 'exit code 1' })
      })

      await t.test('what a person denies does not run, and is not asked for again in this session', async (t) => {
        const session = newSession()
        const calling = host.call({ session })
        const [asked] = await pending(program, session)
        await decide(program, 'deny', asked, { reason: 'not before the audit' })
        t.match(await calling, { ran: null, said: /not before the audit.*final/ })
        t.match(await host.call({ session }), { ran: null, said: /denied/ })
        t.equal((await all(program, session)).length, 1, 'nobody was asked again')
        const another = newSession()
        const elsewhere = host.call({ session: another })
        const [other] = await pending(program, another)
        await decide(program, 'approve', other)
        t.ok((await elsewhere).ran, 'another session is another matter')
      })

      await t.test('what a rule lets pass runs at once, and is on record', async (t) => {
        const session = newSession()
        t.ok((await host.call({ tool: 'look', session })).ran)
        const [{ id, ...record }] = (await all(program, session)) as [any]
        t.match(record, { status: 'auto_approved', resolved_by: 'rule:looking' })
        t.match(await reported(program, id), { execution: 'succeeded' })
      })

      await t.test('what nobody answers does not run', async (t) => {
        t.match(await host.call({ tool: 'quick', session: newSession() }), { ran: null, said: /expired/ })
      })

      await t.test('what is approved late runs when it is called again, once', async (t) => {
        const session = newSession()
        const input = { command: 'deploy' }
        const call = (command: string) => hasty.call({ input: { command }, session })
        const [first, second] = await Promise.all([call('deploy'), call('deploy')])
        t.same([first.ran, second.ran], [null, null])
        const [asked] = await pending(program, session)
        t.match(first.said, `Still pending, ID ${asked.id}`)
        t.equal(second.said, first.said, 'the second joined the first')
        await decide(program, 'approve', asked)
        const [other, again] = await Promise.all([call('deploy --force'), call('deploy')])
        t.match(other, { ran: null, said: /Still pending/ }, 'another input is another call')
        t.same(again.ran, input)
        t.match((await call('deploy')).said, /Still pending/, 'an equal call is then a new request')
        t.match(await reported(program, asked.id), { execution: 'succeeded' })
        const statuses = (await all(program, session)).map(({ status }) => status)
        t.same(statuses, ['pending', 'pending', 'approved'])
      })

      await t.test('of equal calls at the same time one runs for each approval', async (t) => {
        const session = newSession()
        const calling = Promise.all([0, 1, 2].map(() => hasty.call({ input: { command: 'pay' }, session })))
        const [asked] = await pending(program, session)
        await decide(program, 'approve', asked)
        t.equal((await calling).filter(({ ran }) => ran !== null).length, 1)
        t.equal((await all(program, session)).filter(({ execution }) => execution === 'succeeded').length, 1)
      })

      await t.test(
        'a call that is stopped while it waits leaves a request, which only the same call uses',
        async (t) => {
          const session = newSession()
          const controller = new AbortController()
          const calling = host.call({ signal: controller.signal, session })
          const [asked] = await pending(program, session)
          controller.abort()
          t.match(await calling, { ran: null, said: /abort|gave this call up/ })
          await decide(program, 'approve', asked)
          t.match((await program.call('GET', `/confirm/${asked.id}`)).body, { execution: 'unclaimed' })
          t.ok((await host.call({ session })).ran)
          t.match(await reported(program, asked.id), { execution: 'succeeded' })
        },
      )

      await t.test('different calls at the same time wait side by side', async (t) => {
        const session = newSession()
        const calls = [0, 1, 2].map((n) => host.call({ input: { n }, callId: 'call_0', session }))
        for (const asked of await pending(program, session, 3)) {
          await decide(program, asked.details.tool_input.n === 1 ? 'deny' : 'approve', asked)
        }
        const ran = (await Promise.all(calls)).map((one) => one.ran)
        t.same(ran, [{ n: 0 }, null, { n: 2 }])
      })
    })
  }
})

for (const [name, startHost] of Object.entries(hosts)) {
  const ready = (t: Test) => name !== 'Hermes' || needs(t, 'python3')

  t.test(`${name}: killed in the middle, nothing runs until it is approved and called again`, async (t) => {
    if (!ready(t)) return
    const program = await startService(t)
    const host = await startHost(t, { url: `http://127.0.0.1:${program.port}` })
    const calling = host.call({ session: 's' })
    const [asked] = await pending(program, 's')
    await program.crash()
    t.match(await calling, { ran: null, said: /not done/ })
    const { port, dbPath } = program
    const next = await startService(t, { port, dbPath })
    await decide(next, 'approve', asked)
    t.ok((await host.call({ session: 's' })).ran)
    t.match(await reported(next, asked.id), { execution: 'succeeded' })
    t.equal((await all(next, 's')).length, 1)
  })

  t.test(`${name}: what is granted runs at once, and with a key that is none nothing does`, async (t) => {
    if (!ready(t)) return
    const program = await startService(t)
    const url = `http://127.0.0.1:${program.port}`
    const host = await startHost(t, { url })
    const grant = (headers = {}) => program.call('POST', '/whitelist', { action: 'tool:read' }, headers)
    t.equal((await grant()).status, 201)
    t.ok((await host.call({ tool: 'read' })).ran)
    const { body } = await program.call('POST', '/keys', { name: 'root', role: 'admin' })
    const authorization = `Bearer ${body.key}`
    const agent = await program.call('POST', '/keys', { name: 'bot', role: 'agent' }, { authorization })
    // What was granted while everybody could grant counts no longer.
    t.equal((await grant({ authorization })).status, 201)
    t.match(await host.call({ tool: 'read' }), { ran: null, said: /key/ }, 'without a key')
    const key = join(temporaryFolder(t), 'key')
    writeFileSync(key, 'hpk_wrong\n')
    const keyed = await startHost(t, { url, keyFile: key })
    t.match(await keyed.call({ tool: 'read' }), { ran: null, said: /key/ }, 'with a wrong one')
    writeFileSync(key, `${agent.body.key}\n`)
    t.ok((await keyed.call({ tool: 'read' })).ran, 'and with the right one at once, without a restart')
  })
}
