// Two agents in virtual time, one of them hostile: every request of the other is announced, waited for and decided, whatever
// the hostile one does with its key; and what it takes meanwhile is bounded.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tellBy } from '../src/notify/notices.js'
import Database from '../src/store/sqlite/driver.js'
import { isCommitted, type Store } from '../src/store/store.js'
import { startTelegram } from './notify/fake-telegram.js'
import { type Activity, type Answer, build, type CallAs, giveKeys, manualClock } from './support.js'

/** Twenty of the hostile one's limits long. CONTRIBUTING.md says how to have the whole hour. */
const hourSeconds = Number(process.env.HOSTILE_SECONDS ?? 600)
/** Of the calm agent: one every 80 seconds, from the 33rd on. */
const requests = Math.ceil((hourSeconds - 33) / 80)
const openLimit = 30
const hostileTimeout = 60
const callbacks = { callbackSecret: [`whsec_${Buffer.alloc(32, 7).toString('base64')}`], callbackAllow: ['127.0.0.1'] }

/** It has many thousand commits, so they go into memory where there is such a place. */
function quickFolder(t: Test): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdpoint-hour-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The same store. What is leased and not yet written is under way, so the clock waits for it. */
function watchLeases(store: Store, activity: Activity, isWaitedFor: (channel: string, id: string) => boolean): Store {
  const leased = new Set<string>()
  const note = () => {
    activity.count += 1
    activity.underWay = leased.size
  }
  return {
    ...store,
    async commit(change) {
      const outcome = await store.commit(change)
      if (!isCommitted(outcome)) return outcome
      for (const { kind, ...write } of change.writes) {
        if (kind !== 'delivery' || !('record' in write) || !('channel' in write.record)) continue
        if ('subjectId' in write.record) leased.delete(`${write.record.channel} ${write.record.subjectId}`)
      }
      note()
      return outcome
    },
    deliveries: {
      ...store.deliveries,
      async claim(...args) {
        const claimed = await store.deliveries.claim(...args)
        for (const { channel, subjectId: id } of claimed) if (isWaitedFor(channel, id)) leased.add(`${channel} ${id}`)
        note()
        return claimed
      },
      async release(claimed) {
        await store.deliveries.release(claimed)
        for (const { channel, subjectId } of claimed) leased.delete(`${channel} ${subjectId}`)
        note()
      },
    },
  }
}

interface Receivers {
  urls: string[]
  /** The confirmations of which they were told. */
  ids: string[]
  /** How many calls were open at the same time. */
  most: number
}

/** Receivers of callbacks, each at a port of its own. */
async function startReceivers(t: Test, count: number, doAnswer: boolean): Promise<Receivers> {
  const receivers: Receivers = { urls: [], ids: [], most: 0 }
  let open = 0
  for (let n = 0; n < count; n++) {
    const server = createServer((request, response) => {
      receivers.ids.push(String(request.headers['webhook-id']).replace('msg_', ''))
      receivers.most = Math.max(receivers.most, (open += 1))
      response.on('close', () => (open -= 1))
      request.resume()
      if (doAnswer) response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    receivers.urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  }
  return receivers
}

/** Everything that one key can do, each time. */
function createMischief(hostile: CallAs, urls: string[]): (n: number) => Promise<void> {
  const own: string[] = []
  return async (n) => {
    const items = Array.from({ length: openLimit + 5 }, (_, k) => ({
      action: k % 5 === 0 ? `task_${k % 8}` : `name_${n}_${k}`,
      description: `hostile ${n} ${k}`,
      details: k === 1 ? { large: 'x'.repeat(20_000) } : {},
      timeout_seconds: hostileTimeout,
      callback_url: urls[(n + k) % urls.length],
    }))
    const { body } = await hostile('POST', '/confirm/batch', { items })
    for (const { status_code, body: held } of body.results) if (status_code === 202) own.push(held.id)
    const id = own.at(-1)!
    await hostile('POST', '/confirm', { ...items[0], requester: 'calm', session_key: `s${n}` })
    await hostile('POST', `/confirm/${id}/approve`, { approver: 'ann' })
    await hostile('POST', '/decisions', { decisions: [{ id, verdict: 'approve' }] })
    await hostile('POST', `/confirm/${id}/claim`)
    await hostile('GET', '/confirm?status=pending')
    // These are held, and nobody comes back for them.
    void hostile('GET', `/confirm/${id}?wait=300`)
    void hostile('GET', `/confirm/${id}/events`)
  }
}

interface Asked {
  id: string
  at: number
  deadline: number
  told: { where: 'chat' | 'log'; at: number } | null
  waiting: Promise<Answer>
}

t.test('beside a hostile agent all that the other asks is announced, waited for and decided', async (t) => {
  const clock = manualClock()
  const telegram = await startTelegram(t)
  telegram.keepPace(clock.now)
  const good = await startReceivers(t, 1, true)
  const hanging = await startReceivers(t, 12, false)
  const asked = new Map<string, Asked>()
  const messages: Activity = { count: 0, underWay: 0 }
  clock.stores.add(messages)
  const built = await build(t, {
    clock,
    dbPath: join(quickFolder(t), 'test.db'),
    // The breaker alone would end it after six that expired.
    rules: "rules: [{ action: '*', breaker: { warn: 0, wait: 0, suspend: 0, fixation: 0 } }]",
    config: { ...telegram.config, ...callbacks },
    wrapStore: (store) => watchLeases(store, messages, (channel, id) => channel !== 'callback' || asked.has(id)),
  })
  const { hostile, calm, ann } = await giveKeys(built, { hostile: 'agent', calm: 'agent', ann: 'operator' })
  const mischief = createMischief(hostile, hanging.urls)

  async function ask(n: number): Promise<void> {
    const answer = await calm('POST', '/confirm', {
      action: `task_${n % 8}`,
      description: `number ${n}`,
      timeout_seconds: [60, 90, 150, 300][n % 4],
      callback_url: good.urls[0],
    })
    t.equal(answer.status, 202, `request ${n} is held`)
    const { id, expires_at } = answer.body
    const waiting = calm('GET', `/confirm/${id}?wait=300`)
    asked.set(id, { id, at: clock.now(), deadline: expires_at * 1000, told: null, waiting })
  }

  let read = { messages: 0, lines: 0 }
  /** A person who approves what the chat or the log says, and knows of nothing else. */
  async function approveWhatIsNew(): Promise<void> {
    // A message of its own, or a line of one that tells of many.
    const inChat = telegram.messages
      .slice(read.messages)
      .flatMap(({ text }) => [...text.matchAll(/^(?:ID: (\S+)|(id-\d+) .*asked by .*)$/gm)])
      .map(([, own, listed]) => own ?? listed!)
    const lines = built.logged.slice(read.lines).filter(({ msg }) => /^confirmation needed/.test(String(msg)))
    read = { messages: telegram.messages.length, lines: built.logged.length }
    for (const [where, ids] of [
      ['chat', inChat],
      ['log', lines.map(({ id }) => String(id))],
    ] as const) {
      for (const one of ids.flatMap((id) => asked.get(id) ?? [])) {
        if (one.told !== null) continue
        one.told = { where, at: clock.now() }
        t.equal((await ann('POST', `/confirm/${one.id}/approve`)).status, 200)
      }
    }
  }

  for (let second = 0; second < hourSeconds; second++) {
    if (second % 10 === 0) await mischief(second / 10)
    if (second % 80 === 33) await ask(Math.floor(second / 80))
    await clock.advance(1000)
    await approveWhatIsNew()
  }
  // Until the last that was asked is over.
  for (let second = 0; second < 300; second++) {
    await clock.advance(1000)
    await approveWhatIsNew()
  }

  t.equal(asked.size, requests)
  for (const { id, at, deadline, told, waiting } of asked.values()) {
    const seconds = told === null ? 'never' : (told.at - at) / 1000
    // The person looks once a second.
    const isInTime = told !== null && told.at <= tellBy({ createdAt: at, deadline }) + 1000
    t.ok(isInTime, `${id} is told after ${seconds} of ${(deadline - at) / 1000} s`)
    const { status, body } = await waiting
    t.match({ status, body }, { status: 200, body: { status: 'approved', resolved_by: 'ann' } })
    t.ok(body.resolved_at * 1000 < deadline)
  }
  const inChat = [...asked.values()].filter(({ told }) => told?.where === 'chat').length
  t.ok(inChat >= requests / 2, `of ${requests} requests ${inChat} were announced in the chat first`)
  t.same(good.ids.sort(), [...asked.keys()].sort(), 'each was called back, once')
  t.ok(hanging.most === 32, 'of the places for callbacks the hostile one has its quarter')
  t.match((await ann('GET', '/metrics')).body, /^holdpoint_expired_untold_total 0$/m)

  // What the hostile one took.
  const db = new Database(built.dbPath, { readonly: true })
  t.teardown(() => db.close())
  const count = (sql: string) => db.prepare(sql).pluck().get() as number
  const held = count("SELECT count(*) FROM confirmations WHERE requester = 'hostile'")
  t.ok(
    held > hourSeconds / 4 && held <= openLimit * (hourSeconds / hostileTimeout),
    `${held} of its requests were held`,
  )
  const refusals = count("SELECT count(*) FROM events WHERE type IN ('rejected', 'rate_limited')")
  t.ok(refusals <= 2 * 31 * (hourSeconds / 60), `${refusals} refusals are on record`)
  const messagesTried = telegram.calls.filter(({ path }) => path.endsWith('/sendMessage')).length
  t.ok(
    messagesTried <= 2.1 * telegram.messages.length,
    `${messagesTried} calls for ${telegram.messages.length} messages`,
  )
  const perRequest = (count('SELECT count(*) FROM events') - refusals) / (held + requests)
  t.ok(perRequest < 6, `${perRequest.toFixed(1)} events for each request`)
  const charged = count('SELECT sum(bytes) FROM disk_use')
  const written = count('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size')
  t.ok(written < 2 * charged, `${written} bytes are written, ${charged} charged`)
})
