// Streams of everything, as many as there may be, while decisions come at a steady pace: do the readers keep up, and what does
// each cost in memory, whether or not it reads?
import { setTimeout as pause } from 'node:timers/promises'
import { addWaiting, fill } from './fill.js'
import type { LoadResult } from './load.js'
import type { Reading } from './readers.js'
import { ms, rate, ratio, type Row } from './rows.js'
import { answerOf, residentMb, withBench } from './servers.js'
import type { Size } from './size.js'

const readers = 200
const offered = 2000
const connections = 32
/** Of the decisions that are offered: it takes a moment until the last one is everywhere. */
const leastPart = 0.95
/** What the kernel does not take is kept by the service, and this is the most that it may be. */
const mostKbEach = 500
/** So many times as long as it should take, and then it counts as long as that. */
const patience = 4

export function streams(size: Size): Promise<Row[]> {
  const seconds = size.isShort ? 2 : 8
  const each = offered * seconds
  return withBench(async (bench) => {
    const dbPath = bench.path('bench.db')
    await fill(dbPath, (add) => addWaiting(add, { count: 3 * each, createdAt: Date.now(), timeoutSeconds: 3600 }))
    const { process: server, port } = await bench.startHoldpoint(dbPath)
    let from = 0
    const decide = (): Promise<LoadResult> => {
      const work = { kind: 'decide' as const, from, below: (from += each) }
      return bench.load({ port, connections, seconds: patience * seconds, perSecond: offered, work })
    }
    /** Until everything was told, and by how much memory the service grew meanwhile. */
    const measure = async (reading: Reading | null) => {
      const before = residentMb(server)
      let peak = before
      const watch = setInterval(() => (peak = Math.max(peak, residentMb(server))), 100)
      const child = reading === null ? null : bench.fork('readers.js')
      try {
        if (child !== null) {
          child.send(reading!)
          await answerOf(child)
        }
        const began = performance.now()
        const told = child === null || reading!.approvals === 0 ? null : answerOf(child)
        const result = await decide()
        const late = pause(patience * seconds * 1000, null, { ref: false })
        await Promise.race([told, late])
        const perSecond = result.accepted / ((performance.now() - began) / 1000)
        return { ...result, perSecond, grownMb: peak - before }
      } finally {
        clearInterval(watch)
        child?.kill('SIGKILL')
      }
    }
    const alone = await measure(null)
    size.progress(`without streams ${rate(alone.perSecond)}`)
    const read = await measure({ port, readers, approvals: each })
    size.progress(`${readers} streams ${rate(read.perSecond)}`)
    await pause(1000)
    const unread = await measure({ port, readers, approvals: 0 })
    const kbEach = (grownMb: number) => (grownMb * 1024) / readers
    const what = `${readers} streams of everything`
    const keeps = ratio(
      `${what} and ${offered} decisions/s: part that is told in time`,
      `${rate(read.perSecond)}, decision p99 ${ms(read.p99Ms)}`,
      `without streams ${rate(alone.perSecond)}, ${ms(alone.p99Ms)}`,
      read.perSecond / offered,
      { atLeast: leastPart },
    )
    const memory = (how: string, { grownMb, perSecond }: typeof read): Row => ({
      ...ratio(
        `${what}: memory for each that ${how}`,
        `${grownMb.toFixed(0)} MB at ${rate(perSecond)}`,
        `without streams ${alone.grownMb.toFixed(0)} MB`,
        kbEach(grownMb),
        { atMost: mostKbEach },
      ),
      unit: ' KB',
    })
    return [keeps, memory('reads', read), memory('reads nothing', unread)]
  })
}
