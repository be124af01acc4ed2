// From a submission that is on disk to the request that its chat receives: what a person waits for, alone and beside many.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { askedOf } from './asked.js'
import { median, quantile } from './numbers.js'
import { ms, ratio, type Row } from './rows.js'
import { type Bench, pause, withBench } from './servers.js'
import type { Size } from './size.js'
import { createCaller, httpRequest } from './wire.js'

const perSecond = 100
/** The first ones are slow everywhere. */
const warming = 200
/** Far more than one request can wait for. */
const patienceMs = 20_000

interface Times {
  /** From sending it to its 202. */
  answered: number[]
  /** From its 202, which follows the commit, to the request that the chat receives. */
  told: number[]
}

export function messages(size: Size): Promise<Row[]> {
  return withBench(async (bench) => {
    const chat = await startChat()
    const port = await startService(bench, chat)
    const seconds = size.isShort ? 2 : 10
    await submit(port, chat, 0, warming, perSecond)
    const alone = await submit(port, chat, warming, size.isShort ? 50 : 200, null)
    size.progress('alone')
    const beside = await submit(port, chat, 2 * warming, seconds * perSecond, perSecond)
    chat.server.closeAllConnections()
    chat.server.close()
    return [row('one after the other', alone), row(`${perSecond} submissions a second`, beside)]
  })
}

function row(how: string, { answered, told }: Times): Row {
  const say = (times: number[]) => `p50 ${ms(median(times))}, p99 ${ms(quantile(times, 0.99))}`
  const part = median(told) / median(answered)
  return ratio(`from the 202 to the chat, ${how}`, say(told), `submission to its 202 ${say(answered)}`, part, null)
}

interface Chat {
  server: Server
  /** When the chat was told of it, by what stands in its description. */
  toldAt: Map<string, number>
}

/** Takes every message at once, and has nothing to say. */
function startChat(): Promise<Chat> {
  const toldAt = new Map<string, number>()
  let sent = 0
  const server = createServer((request, response) => {
    const at = performance.now()
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const method = request.url!.slice(request.url!.lastIndexOf('/') + 1)
      const answer = (result: unknown) => response.end(JSON.stringify({ ok: true, result }))
      // Held, as the real one holds it.
      if (method === 'getUpdates') return void setTimeout(answer, 5000, []).unref()
      const [, name] = /(request-\d+)\b/.exec(Buffer.concat(pieces).toString()) ?? []
      if (method === 'sendMessage' && name !== undefined) toldAt.set(name, at)
      answer(method === 'sendMessage' ? { message_id: ++sent, chat: { id: -1 } } : true)
    })
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({ server, toldAt })))
}

async function startService(bench: Bench, { server }: Chat): Promise<number> {
  const { port } = await bench.startHoldpoint(bench.path('messages.db'), {
    env: {
      TELEGRAM_BOT_TOKEN: '1:bench',
      TELEGRAM_HOME_CHANNEL: '-1',
      TELEGRAM_ALLOWED_USERS: '1',
      TELEGRAM_API_BASE: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      CONFIRMATION_NOTIFY_RATE: '0',
    },
  })
  return port
}

const nameOf = (n: number) => `request-${n}`

/** So many from this number on; without a pace, each when the chat has the one before. */
async function submit(
  port: number,
  { toldAt }: Chat,
  from: number,
  count: number,
  pace: number | null,
): Promise<Times> {
  const times: Times = { answered: [], told: [] }
  const callers = await Promise.all(Array.from({ length: pace === null ? 1 : 16 }, () => createCaller(port)))
  const began = performance.now()

  /** When its 202 came. */
  async function ask(n: number, { call }: (typeof callers)[number]): Promise<number> {
    const body = JSON.stringify({ ...askedOf(n), description: nameOf(n) })
    const sentAt = performance.now()
    const { status, at } = await call(httpRequest('POST', '/confirm', body))
    if (status !== 202) throw new Error(`a submission was answered with ${status}`)
    times.answered.push(at - sentAt)
    return at
  }

  async function untilTold(n: number, answeredAt: number): Promise<void> {
    while (!toldAt.has(nameOf(n))) {
      if (performance.now() > answeredAt + patienceMs) throw new Error('the chat was not told')
      await pause(pace === null ? 1 : 20)
    }
    times.told.push(toldAt.get(nameOf(n))! - answeredAt)
    toldAt.delete(nameOf(n))
  }

  let next = from
  const telling: Promise<void>[] = []
  await Promise.all(
    callers.map(async (caller) => {
      while (next < from + count) {
        const n = next++
        if (pace !== null) await pause(Math.max(0, began + ((n - from) / pace) * 1000 - performance.now()))
        const told = untilTold(n, await ask(n, caller))
        if (pace === null) await told
        else telling.push(told)
      }
    }),
  )
  await Promise.all(telling)
  callers.forEach(({ close }) => close())
  return times
}
