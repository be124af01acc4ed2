// Large bodies, all at once, in open mode: what another client notices, and what memory stays taken.
import { askedBodies } from './asked.js'
import { median, quantile } from './numbers.js'
import { mb, ms, ratio, type Row } from './rows.js'
import { answerOf, type Bench, pause, residentMb, withBench } from './servers.js'
import type { Probe } from './prober.js'
import type { Size } from './size.js'

const count = 200
const mebibyte = 1024 * 1024
const mostHealthMs = 50
const mostMbAfter = 300

/** Log lines, as an agent would hand them on; the whole is as large as a body may be. */
const body = largeBody()

export function bodies(size: Size): Promise<Row[]> {
  return withBench(async (bench) => {
    const { process: server, port } = await bench.startHoldpoint(bench.path('bench.db'))
    // What runs for the first time takes longer, and takes memory.
    const warm = (most: number) =>
      bench.load({ port, connections: 2, seconds: 60, most, work: { kind: 'submit', bodies: [body] } })
    await bench.warm(port, { kind: 'submit', bodies: askedBodies() })
    await warm(4)
    const calm = await probing(bench, port, () => pause(2000))
    await pause(1000)
    const before = residentMb(server)
    const bursts: number[] = []
    const seconds: number[] = []
    let peak = 0
    const watch = setInterval(() => (peak = Math.max(peak, residentMb(server))), 50)
    for (let burst = 0; burst < (size.isShort ? 1 : 3); burst++) {
      const began = performance.now()
      const load = {
        port,
        connections: count,
        seconds: 60,
        most: count,
        work: { kind: 'submit' as const, bodies: [body] },
      }
      const times = await probing(bench, port, () => bench.load(load))
      seconds.push((performance.now() - began) / 1000)
      bursts.push(quantile(times, 0.99))
      size.progress(`${count} bodies in ${seconds.at(-1)!.toFixed(1)} s, /health p99 ${ms(bursts.at(-1)!)}`)
    }
    clearInterval(watch)
    const limit = (size.isShort ? 5 : 60) * 1000
    const ended = performance.now()
    let after = residentMb(server)
    while (after > before + mostMbAfter && performance.now() < ended + limit) {
      await pause(500)
      after = residentMb(server)
    }
    const waited = ((performance.now() - ended) / 1000).toFixed(0)
    const what = `${count} bodies of 1 MiB at once`
    const calmP99 = `calm ${ms(quantile(calm, 0.99))}`
    const measured = `${ms(Math.max(...bursts))}, ${median(seconds).toFixed(1)} s for all`
    return [
      {
        ...ratio(`${what}: /health p99`, measured, calmP99, Math.max(...bursts), { atMost: mostHealthMs }),
        unit: ' ms',
      },
      {
        ...ratio(
          `${what}: resident memory, above what it was`,
          `${mb(after)} after ${waited} s, ${mb(peak)} at most`,
          `before ${mb(before)}`,
          Math.max(0, after - before),
          { atMost: mostMbAfter },
        ),
        unit: ' MB',
      },
    ]
  })
}

/** How long /health took, each time, while this goes on. */
export async function probing(bench: Bench, port: number, work: () => Promise<unknown>): Promise<number[]> {
  const prober = bench.fork('prober.js')
  prober.send({ port, everyMs: 10 } satisfies Probe)
  // Until it is under way.
  await pause(200)
  await work()
  const times = answerOf<number[]>(prober)
  prober.send('stop')
  return times
}

function largeBody(): string {
  const whole = (lines: string) =>
    JSON.stringify({ action: 'deploy_service', description: 'Deploy what the log is of', details: { log: lines } })
  const line = 'level=info msg="step done" step=17 took=12.5ms host=eu-1-worker-3 note=größer\n'
  let lines = line.repeat(Math.floor(mebibyte / (Buffer.byteLength(JSON.stringify(line)) - 2)))
  while (Buffer.byteLength(whole(lines)) > mebibyte) lines = lines.slice(0, -1000)
  return whole(lines)
}
