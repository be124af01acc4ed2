// Decisions a second beside submissions a second, on the same service and in turn.
import { askedBodies } from './asked.js'
import { addWaiting, fill } from './fill.js'
import type { LoadResult } from './load.js'
import { median, ratioOf } from './numbers.js'
import { ms, rate, ratio, type Row } from './rows.js'
import { withBench } from './servers.js'
import type { Size } from './size.js'

const connections = 128
const leastOfSubmissions = 0.8
/** Where there are more, a round is over sooner. */
const mostPerSecond = 12_000

export function decisions(size: Size): Promise<Row[]> {
  return withBench(async (bench) => {
    const dbPath = bench.path('bench.db')
    const each = mostPerSecond * size.seconds
    const count = each * (size.rounds + 1)
    await fill(dbPath, (add) => addWaiting(add, { count, createdAt: Date.now(), timeoutSeconds: 3600 }))
    const { port } = await bench.startHoldpoint(dbPath)
    const load = { port, connections, seconds: size.seconds }
    let from = 0
    const submit = () => bench.load({ ...load, work: { kind: 'submit', bodies: askedBodies() } })
    const decide = () => bench.load({ ...load, work: { kind: 'decide', from, below: (from += each) } })
    await submit()
    await decide()
    const submitted: LoadResult[] = []
    const decided: LoadResult[] = []
    for (let round = 0; round < size.rounds; round++) {
      submitted.push(await submit())
      decided.push(await decide())
      size.progress(`${rate(submitted.at(-1)!.perSecond)} submitted, ${rate(decided.at(-1)!.perSecond)} decided`)
    }
    const [one, other] = [decided, submitted].map((results) => results.map(({ perSecond }) => perSecond)) as [
      number[],
      number[],
    ]
    const p99 = median(decided.map((result) => result.p99Ms))
    const what = `decisions, ${connections} connections`
    const beside = `submissions ${rate(median(other))}`
    return [
      ratio(what, `${rate(median(one))}, p99 ${ms(p99)}`, beside, ratioOf(one, other), { atLeast: leastOfSubmissions }),
    ]
  })
}
