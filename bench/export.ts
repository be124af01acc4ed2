// What it costs to take everything away: the history of a million events, and the records behind it, as CSV and as JSON Lines.
// Every row is counted, memory is looked at all the while, and so is how long others wait for an answer meanwhile.
import { type IncomingMessage, request } from 'node:http'
import { makePast } from './past.js'
import { end, pause, residentMb, type Served, withBench } from './servers.js'
import { createCaller, httpRequest } from './wire.js'

const least = Number(process.env.BENCH_EVENTS ?? 1_000_000)
const mostMbMore = 60
const mostHealthMs = 50

let isMet = true

await withBench(async (bench) => {
  const dbPath = bench.path('past.db')
  const made = await makePast(dbPath, least, bench.folder, (text) => process.stderr.write(`${text}\n`))
  console.log(`${made} events\n`)
  console.log(
    'export                             rows    took    size   memory: before, quarters   /health p99: calm, meanwhile',
  )
  for (const path of ['/audit/events/export', '/audit/export']) {
    for (const format of ['csv', 'jsonl']) {
      const served = await bench.startHoldpoint(dbPath)
      // What is compiled and cached once does not count as growth.
      await take(served, `${path}?format=${format}&until=1`)
      const events = await lastSeq(served)
      const calm = watch(served)
      await pause(2000)
      const { healthMs: calmMs } = await calm.end()
      const before = residentMb(served.process)
      const taken = await take(served, `${path}?format=${format}`)
      await end(served.process)
      const rows = taken.lines - (format === 'csv' ? 1 : 0)
      const isRight = rows === taken.said && (path === '/audit/export' || rows === events)
      const [first, last] = [taken.quartersMb[0]!, taken.quartersMb.at(-1)!]
      const isFlat = last - first <= mostMbMore
      const isQuick = taken.healthMs - calmMs <= mostHealthMs
      isMet &&= isRight && isFlat && isQuick
      const cells = [
        `${path}?format=${format}`.padEnd(32),
        `${rows}${isRight ? '' : ' NO'}`.padStart(9),
        `${(taken.ms / 1000).toFixed(1)} s`.padStart(8),
        `${(taken.bytes / 2 ** 20).toFixed(0)} MB`.padStart(8),
        `${[before, ...taken.quartersMb].map((mb) => mb.toFixed(0)).join(' ')} MB${isFlat ? '' : ' NO'}`.padStart(26),
        `${calmMs.toFixed(1)}, ${taken.healthMs.toFixed(1)} ms${isQuick ? '' : ' NO'}`.padStart(22),
      ]
      console.log(cells.join(''))
    }
  }
  console.log(
    `\nat most ${mostMbMore} MB more at the end, /health ${mostHealthMs} ms more, every row: ${isMet ? 'yes' : 'NO'}`,
  )
})
process.exitCode = isMet ? 0 : 1

/** A start is an event, too. */
async function lastSeq({ port }: Served): Promise<number> {
  const { call, close } = await createCaller(port)
  const { body } = await call(httpRequest('GET', '/audit/events?since=99999999999'))
  close()
  return (JSON.parse(body) as { next_after: number }).next_after
}

interface Taken {
  lines: number
  bytes: number
  /** As the trailer has it. */
  said: number
  ms: number
  /** The most in each quarter of the time. */
  quartersMb: number[]
  healthMs: number
}

/** Looks at its memory, and asks how it is, until the end. */
function watch({ port, process: server }: Pick<Served, 'port' | 'process'>) {
  let isOver = false
  const seenMb: number[] = []
  const health: number[] = []
  const watching = (async () => {
    const { call, close } = await createCaller(port)
    while (!isOver) {
      const asked = performance.now()
      health.push((await call(httpRequest('GET', '/health'))).at - asked)
      seenMb.push(residentMb(server))
      await pause(20)
    }
    close()
  })()
  return {
    async end() {
      isOver = true
      await watching
      return { seenMb, healthMs: health.sort((a, b) => a - b)[Math.floor(health.length * 0.99)] ?? 0 }
    },
  }
}

async function take({ port, process: server }: Served, path: string): Promise<Taken> {
  const began = performance.now()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path }, resolve).once('error', reject).end()
  })
  if (response.statusCode !== 200) throw new Error(`${path} was answered with ${response.statusCode}`)
  const watched = watch({ port, process: server })
  let lines = 0
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1
  }
  const ms = performance.now() - began
  const { seenMb, healthMs } = await watched.end()
  const quartersMb = [0, 1, 2, 3].map((n) =>
    Math.max(...seenMb.slice((n * seenMb.length) / 4, ((n + 1) * seenMb.length) / 4)),
  )
  return { lines, bytes, said: Number(response.trailers['export-count']), ms, quartersMb, healthMs }
}
