// Durable submissions a second beside a bare Fastify route and beside plain Fastify. Rounds alternate, so that noise hits all.
import Database from '../src/store/sqlite/driver.js'
import { askedBodies } from './asked.js'
import { syncTimes } from './disk.js'
import type { Measured } from './load.js'
import { median, quantile, ratioOf } from './numbers.js'
import { ms, paceOf, rate, ratesOf, ratio, type Row } from './rows.js'
import { end, type Served, withBench } from './servers.js'
import type { Size } from './size.js'

/** The part of the bare route's rate, by connections. */
const ofBare = { 128: 0.85, 32: 0.6, 512: 0.6 }
const ofPlain = 0.45
const tailTimes = 4
const bodies = askedBodies()

type Name = 'bare' | 'plain' | 'holdpoint'

export function submissions(size: Size): Promise<Row[]> {
  return withBench(async (bench) => {
    const dbPath = bench.path('bench.db')
    const servers: Record<Name, Served> = {
      bare: await bench.startBare('bare.js'),
      plain: await bench.startBare('plain.js'),
      holdpoint: await bench.startHoldpoint(dbPath),
    }
    let accepted = 0
    const measure = async (name: Name, connections: number, seconds: number): Promise<Measured> => {
      const { port, process } = servers[name]
      const result = await bench.load({ port, connections, seconds, work: { kind: 'submit', bodies } }, process)
      if (name === 'holdpoint') accepted += result.accepted
      size.progress(
        `${name} at ${connections}: ${rate(result.perSecond)}, the load took ${result.busy.toFixed(2)} of a core`,
      )
      return result
    }
    for (const { port } of Object.values(servers)) await bench.warm(port, { kind: 'submit', bodies })
    const disk = syncTimes(bench.folder)
    const rows: Row[] = []
    for (const [connections, aim] of Object.entries(ofBare)) {
      const isMain = connections === '128'
      const names: Name[] = isMain ? ['bare', 'holdpoint', 'plain'] : ['bare', 'holdpoint']
      const results: Record<Name, Measured[]> = { bare: [], holdpoint: [], plain: [] }
      for (let round = 0; round < (isMain ? size.rounds : Math.ceil(size.rounds / 2)); round++) {
        for (const name of names) results[name].push(await measure(name, Number(connections), size.seconds))
      }
      const what = `submissions, ${connections} connections`
      const own = results.holdpoint
      const compare = (name: Name, atLeast: number) => {
        const part = ratioOf(ratesOf(own), ratesOf(results[name]))
        return ratio(what, paceOf(own), `${name} ${paceOf(results[name])}`, part, { atLeast })
      }
      rows.push(compare('bare', aim), ...(isMain ? [compare('plain', ofPlain)] : []))
      const [p50, p99] = [own.map(({ p50Ms }) => p50Ms), own.map(({ p99Ms }) => p99Ms)]
      const tail = ratioOf(p99, p50)
      const alone = `fsync alone p50 ${ms(median(disk))}, p99 ${ms(quantile(disk, 0.99))}`
      rows.push(
        ratio(`${what}: p99 / p50`, `${ms(median(p99))} / ${ms(median(p50))}`, alone, tail, { atMost: tailTimes }),
      )
    }
    return [...rows, await lost(dbPath, servers.holdpoint, accepted)]
  })
}

/** Up to one request per connection was under way when a round ended: stored, but its answer was not waited for. */
async function lost(dbPath: string, { process }: Served, accepted: number): Promise<Row> {
  await end(process)
  const db = new Database(dbPath)
  const stored = db.prepare('SELECT count(*) FROM confirmations').pluck().get() as number
  db.close()
  const missing = Math.max(0, accepted - stored)
  return ratio('answered with 202 and not on disk after kill -9', `${missing} of ${accepted}`, '', missing, {
    atMost: 0,
  })
}
