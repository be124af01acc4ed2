// Masses that come at once: a long queue for a chat that is back, requests that all expire at one instant, and a start with all
// of them pending.
import type { ChildProcess } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import Database from '../src/store/sqlite/driver.js'
import { askedBodies } from './asked.js'
import { probing } from './bodies.js'
import { addWaiting, fill } from './fill.js'
import { median, quantile } from './numbers.js'
import { ms, rate, ratio, type Row } from './rows.js'
import { answerOf, type Bench, end, pause, withBench } from './servers.js'
import type { Size } from './size.js'

const leastOfBare = 0.18
const mostHealthMs = 30
const mostStartSeconds = 1

export function masses(size: Size): Promise<Row[]> {
  return withBench(async (bench) => {
    const count = size.isShort ? 10_000 : 100_000
    if (size.isShort) size.leftOut.push(`masses are ${count} in the short form, in place of 100000`)
    const waiting = bench.path('waiting.db')
    await fill(waiting, (add) => addWaiting(add, { count, createdAt: Date.now(), timeoutSeconds: 7200 }))
    const start = await starts(bench, size, waiting, count)
    const expiry = await expiries(bench, size, waiting, count)
    return [await deliveries(bench, size, count), expiry, start]
  })
}

async function deliveries(bench: Bench, size: Size, count: number): Promise<Row> {
  const bare = await bench.startBare('bare.js')
  const load = { port: bare.port, connections: 128, seconds: size.seconds }
  const askBare = () => bench.load({ ...load, work: { kind: 'submit', bodies: askedBodies() } })
  await askBare()
  const before = (await askBare()).perSecond
  const dbPath = bench.path('queued.db')
  const createdAt = Date.now() - 60_000
  await fill(dbPath, (add) => addWaiting(add, { count, createdAt, timeoutSeconds: 7200, chat: 'telegram' }))
  const chat = bench.fork('chat.js')
  const chatPort = await answerOf<number>(chat)
  const env = {
    TELEGRAM_BOT_TOKEN: '1:bench',
    TELEGRAM_HOME_CHANNEL: '-1',
    TELEGRAM_API_BASE: `http://127.0.0.1:${chatPort}`,
    CONFIRMATION_NOTIFY_RATE: '0',
  }
  const { process: server } = await bench.startHoldpoint(dbPath, { env })
  const began = performance.now()
  const earlier = await ask(chat)
  const left = counter(dbPath, "SELECT count(*) FROM deliveries WHERE channel = 'telegram' AND next_at IS NOT NULL")
  while (left.count() > 0 && performance.now() < began + (size.isShort ? 6000 : 75_000)) {
    await pause(500)
    size.progress(`${left.count()} messages left`)
  }
  const seconds = (performance.now() - began) / 1000
  const sent = (await ask(chat)) - earlier
  const rest = left.count()
  left.close()
  await end(server)
  const after = (await askBare()).perSecond
  await end(bare.process)
  const [perSecond, ofBare] = [sent / seconds, (before + after) / 2]
  const worked = `${rate(perSecond)}${rest === 0 ? '' : `, ${rest} left after ${seconds.toFixed(0)} s`}`
  const beside = `bare ${rate(ofBare)}`
  return ratio(`${count} queued deliveries`, worked, beside, perSecond / ofBare, { atLeast: leastOfBare })
}

function ask(chat: ChildProcess): Promise<number> {
  const answer = answerOf<number>(chat)
  chat.send('taken')
  return answer
}

async function expiries(bench: Bench, size: Size, waiting: string, count: number): Promise<Row> {
  const db = new Database(waiting)
  // Time enough for a service to start before it comes.
  const instant = Date.now() + (size.isShort ? 4000 : 7000)
  db.prepare("UPDATE confirmations SET deadline = @instant, due_at = @instant WHERE status = 'pending'").run({
    instant,
  })
  db.close()
  const { port, process: server } = await bench.startHoldpoint(waiting)
  if (Date.now() > instant) throw new Error('the start took longer than the requests had')
  const left = counter(waiting, "SELECT count(*) FROM confirmations WHERE status = 'pending'")
  const calm = await probing(bench, port, () => pause(size.isShort ? 500 : 1500))
  await pause(Math.max(0, instant - Date.now() - 500))
  let seconds = NaN
  const times = await probing(bench, port, async () => {
    await pause(instant - Date.now())
    const began = performance.now()
    while (left.count() > 0 && performance.now() < began + 60_000) await pause(100)
    seconds = (performance.now() - began) / 1000
  })
  const rest = left.count()
  left.close()
  await end(server)
  size.progress(`${count - rest} expired in ${seconds.toFixed(1)} s`)
  const p99 = quantile(times, 0.99)
  const worked = `${ms(p99)}, ${seconds.toFixed(1)} s for all${rest === 0 ? '' : `, ${rest} left`}`
  const beside = `calm ${ms(quantile(calm, 0.99))}`
  return {
    ...ratio(`${count} expiries at once: /health p99`, worked, beside, p99, { atMost: mostHealthMs }),
    unit: ' ms',
  }
}

async function starts(bench: Bench, size: Size, waiting: string, count: number): Promise<Row> {
  const none = bench.path('none.db')
  await fill(none, () => {})
  const copies = { none, waiting: bench.path('started.db') }
  copyFileSync(waiting, copies.waiting)
  const took: Record<keyof typeof copies, number[]> = { none: [], waiting: [] }
  // The first one does not count: what it reads is then in memory.
  for (let round = -1; round < (size.isShort ? 1 : 3); round++) {
    for (const name of ['none', 'waiting'] as const) {
      const { process: server, startMs } = await bench.startHoldpoint(copies[name])
      if (round >= 0) took[name].push(startMs / 1000)
      await end(server)
    }
  }
  const more = median(took.waiting.map((one, round) => one - took.none[round]!))
  const [own, beside] = [took.waiting, took.none].map((all) => `${median(all).toFixed(2)} s`) as [string, string]
  return {
    ...ratio(`a start with ${count} pending: more`, own, `with none ${beside}`, more, { atMost: mostStartSeconds }),
    unit: ' s',
  }
}

/** A number that the database tells while the service writes to it. */
function counter(dbPath: string, query: string) {
  const db = new Database(dbPath, { readonly: true })
  const statement = db.prepare(query).pluck()
  return { count: () => statement.get() as number, close: () => db.close() }
}
