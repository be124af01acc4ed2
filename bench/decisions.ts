// Decisions a second beside submissions a second, on the same service and in turn.
import { askedBodies } from './asked.js'
import { addWaiting, fill } from './fill.js'
import type { Measured } from './load.js'
import { median, ratioOf } from './numbers.js'
import { ms, paceOf, rate, ratesOf, ratio, type Row } from './rows.js'
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
    const rounds = Math.min(size.rounds, 3)
    const count = each * (rounds + 1)
    await fill(dbPath, (add) => addWaiting(add, { count, createdAt: Date.now(), timeoutSeconds: 3600 }))
    const { port, process } = await bench.startHoldpoint(dbPath)
    const load = { port, connections, seconds: size.seconds }
    const bodies = askedBodies()
    let from = 0
    const submit = () => bench.load({ ...load, work: { kind: 'submit', bodies } }, process)
    const decide = () => bench.load({ ...load, work: { kind: 'decide', from, below: (from += each) } }, process)
    await bench.warm(port, { kind: 'submit', bodies })
    await bench.warm(port, { kind: 'decide', from, below: (from += each) })
    const submitted: Measured[] = []
    const decided: Measured[] = []
    for (let round = 0; round < rounds; round++) {
      submitted.push(await submit())
      decided.push(await decide())
      size.progress(`${rate(submitted.at(-1)!.perSecond)} submitted, ${rate(decided.at(-1)!.perSecond)} decided`)
    }
    const p99 = median(decided.map((result) => result.p99Ms))
    const what = `decisions, ${connections} connections`
    const part = ratioOf(ratesOf(decided), ratesOf(submitted))
    const measured = `${paceOf(decided)}, p99 ${ms(p99)}`
    return [ratio(what, measured, `submissions ${paceOf(submitted)}`, part, { atLeast: leastOfSubmissions })]
  })
}
