// The adapters of six runtimes at the running service, over a real port: a call runs after an accepted approval, and never else.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/clock.js'
import { build, giveKeys, type ManualClock, until } from '../support.js'
import { type Adapter, decide, runtimes } from './adapter.js'

/** On the real clock, and in real time. */
async function serve(t: Test) {
  const clock = { ...systemClock(), advance: async () => {}, stores: new Set() } as unknown as ManualClock
  const built = await build(t, { newId: randomUUID, clock, config: { rateLimit: 1000 } })
  const keys = await giveKeys(built, { bot: 'agent', alice: 'operator' })
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const base = `http://127.0.0.1:${(built.app.server.address() as AddressInfo).port}/aap`
  const adapter: Adapter = { base, token: keys.bot.key, used: new Set(), pause: async () => {} }
  const pending = async () => {
    let found: { id: string; action: string; details: unknown }[] = []
    await until(async () => {
      found = (await keys.alice('GET', '/confirm?status=pending')).body.confirmations
      return found.length > 0
    })
    return found[0]!
  }
  return { ...built, ...keys, adapter, pending }
}

const input = { command: 'rm -rf build', list: [1, 2.5, null, { deep: 'é' }] }

t.test('for each runtime a call runs once it is approved, and not when it is denied', async (t) => {
  const { adapter, alice, pending } = await serve(t)
  for (const [runtime, describe] of Object.entries(runtimes)) {
    const mcp = runtime === 'openclaw' ? 'github__create_issue' : 'mcp__github__create_issue'
    for (const name of ['Bash', ...(runtime === 'pi' ? [] : [mcp])]) {
      const yes = decide(adapter, describe(name, input, randomUUID()))
      const { id, action, details } = await pending()
      t.equal(action, name === 'Bash' ? 'tool:Bash' : 'tool:mcp__github__create_issue', runtime)
      t.match(details, { tool_input: input })
      await alice('POST', `/confirm/${id}/approve`)
      t.same(await yes, { runs: true, status: 'approved' }, runtime)
      const no = decide(adapter, describe(name, input, randomUUID()))
      await alice('POST', `/confirm/${(await pending()).id}/deny`, { reason: 'not now' })
      t.same(await no, { runs: false, status: 'denied', note: 'not now' }, runtime)
    }
  }
})

t.test('the same call again is the same approval, which lets nothing run twice', async (t) => {
  const { adapter, alice, pending } = await serve(t)
  const call = runtimes['claude-code']!('Bash', input, 'call-1')
  const first = decide(adapter, call)
  await alice('POST', `/confirm/${(await pending()).id}/approve`)
  t.equal((await first).runs, true)
  t.same(await decide(adapter, call), { runs: false, status: null })
})

t.test('an answer that is lost is fetched again, and the call runs once', async (t) => {
  const { adapter, alice, pending } = await serve(t)
  let lost = 0
  const losing: typeof fetch = async (...args) => {
    const response = await fetch(...args)
    if (lost++ % 2 === 0) throw new Error('the connection broke')
    return response
  }
  const answer = decide({ ...adapter, fetch: losing }, runtimes.codex!('Bash', input, 'call-1'))
  await alice('POST', `/confirm/${(await pending()).id}/approve`)
  t.equal((await answer).runs, true)
  t.ok(lost >= 2)
})

t.test('what nobody decides in time does not run, and what is given up is withdrawn', async (t) => {
  const { adapter, alice, pending } = await serve(t)
  const short = { ...runtimes.pi!('Bash', input, 'call-1'), timeout: '1s' }
  t.same(await decide(adapter, short), { runs: false, status: 'expired' })
  let polls = 0
  const failing: typeof fetch = async (url, options) => {
    const isPoll = options?.method === 'GET'
    if (isPoll && ++polls > 1) return new Response('{}', { status: 404 })
    return fetch(isPoll ? (url as string).replace(/wait=\d+s/, 'wait=1s') : url, options)
  }
  const answer = decide({ ...adapter, fetch: failing }, runtimes.pi!('Bash', input, 'call-2'))
  const { id } = await pending()
  t.same(await answer, { runs: false, status: null })
  t.equal((await alice('GET', `/confirm/${id}`)).body.status, 'cancelled')
})

t.test('cut off while it waits, a call does not run; made again once it is approved, it runs once', async (t) => {
  const { adapter, alice, pending } = await serve(t)
  const call = runtimes.codex!('Bash', input, 'call-1')
  let time = 0
  const cut: typeof fetch = (url, options) =>
    options?.method === 'POST' ? fetch(url, options) : Promise.reject(new Error('the service is gone'))
  const pause = async (ms: number) => void (time += 100 * ms)
  const now = () => Date.now() + time
  t.same(await decide({ ...adapter, fetch: cut, pause, now }, call), { runs: false, status: null })
  await alice('POST', `/confirm/${(await pending()).id}/approve`)
  t.same(await decide(adapter, call), { runs: true, status: 'approved' })
  t.same(await decide(adapter, call), { runs: false, status: null })
  t.equal((await alice('GET', '/audit')).body.count, 1)
})

t.test('with a credential that is not good nothing runs', async (t) => {
  const { adapter } = await serve(t)
  t.same(await decide({ ...adapter, token: 'nothing' }, runtimes.hermes!('terminal', input, 'c')), {
    runs: false,
    status: null,
  })
})

t.test('a service that is away, slow, redirects or talks nonsense lets nothing run', async (t) => {
  const nonsense: Record<string, RequestListener> = {
    '500': (_, response) => response.writeHead(500).end(),
    'an empty 200': (_, response) => response.writeHead(200).end(),
    'an empty object': (_, response) => response.writeHead(200).end('{}'),
    garbage: (_, response) => response.writeHead(200).end('<html>'),
    'a redirect': (_, response) => response.writeHead(302, { location: '/' }).end(),
    'half an answer': (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"id":')
      response.destroy()
    },
    'a broken connection': (request) => request.socket.destroy(),
    silence: () => {},
  }
  const impatient: typeof fetch = (url, options) => fetch(url, { ...options, signal: AbortSignal.timeout(20) })
  for (const [name, answer] of Object.entries(nonsense)) {
    const server = createServer(answer).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/aap`
    let time = 0
    const pause = async (ms: number) => void (time += ms)
    const adapter: Adapter = { base, token: 'x', used: new Set(), pause, now: () => time }
    if (name === 'silence') adapter.fetch = impatient
    const call = { ...runtimes.codex!('Bash', input, 'c'), timeout: '20s' }
    t.same(await decide(adapter, call), { runs: false, status: null }, name)
    server.close()
    server.closeAllConnections()
  }
})
