// What a long history costs: everything on a database with ten million events beside the same on one with ten thousand.
import { askedBodies } from './asked.js'
import { addWaiting, fill } from './fill.js'
import type { Measured } from './load.js'
import { median, ratioOf } from './numbers.js'
import { absentType, apart, makePast } from './past.js'
import { mb, ms, paceOf, rate, ratesOf, ratio, type Row } from './rows.js'
import { type Bench, end, residentMb, type Served, withBench } from './servers.js'
import type { Size } from './size.js'
import { createCaller, httpRequest } from './wire.js'

const few = 10_000
const many = Number(process.env.BENCH_EVENTS ?? 10_000_000)
const mostTimesOne = 3
const mostCalls = 20
const mostStartSeconds = 1
/** What is flat: pages may cost so many times as much, a rate may be this part, and memory so much more. */
const flat = { times: 1.5, part: 0.85, mb: 50 }
const rounds = 3
const connections = 128
/** Some walks take minutes. */
const walkMs = 6000

const firstPages = [
  '/audit',
  '/audit?action=deploy_service',
  '/audit?requester=ci-agent',
  '/audit?session_key=agent:main:telegram:group:7:1',
  '/audit?status=denied',
  '/audit?resolved_by=alice',
  '/audit?voted_by=bob',
  '/audit/events',
  '/audit/events?type=denied',
  '/confirm',
]

type Sides = Record<'few' | 'many', Served>

export async function history(size: Size): Promise<Row[]> {
  if (size.isShort) {
    size.leftOut.push(`the history of ${many} events takes minutes, and is left out in the short form`)
    return []
  }
  return withBench(async (bench) => {
    const paths = { few: bench.path('few.db'), many: bench.path('many.db') }
    await makePast(paths.few, few, bench.folder, () => {})
    const made = await makePast(paths.many, many, bench.folder, size.progress)
    const start = await starts(bench, paths)
    const each = 12_000 * size.seconds
    for (const path of Object.values(paths)) {
      const waiting = { count: each * (rounds + 1), createdAt: Date.now(), timeoutSeconds: 3600 }
      await fill(path, (add) => addWaiting(add, waiting))
    }
    const sides = { few: await bench.startHoldpoint(paths.few), many: await bench.startHoldpoint(paths.many) }
    const what = `${(made / 1e6).toFixed(1)} million events`
    const rows = [
      { ...start, what: `${what}: a start` },
      ...(await pages(what, sides)),
      await meeting(what, '/audit', sides.many, size),
      await meeting(what, '/audit/events', sides.many, size),
      await absent(what, sides.many),
      ...(await rates(bench, what, sides, each, size)),
    ]
    const [own, beside] = [residentMb(sides.many.process), residentMb(sides.few.process)]
    const memory = ratio(`${what}: resident memory, above`, mb(own), `${few} events ${mb(beside)}`, own - beside, {
      atMost: flat.mb,
    })
    return [...rows, { ...memory, unit: ' MB' }]
  })
}

async function starts(bench: Bench, paths: Record<keyof Sides, string>): Promise<Row> {
  const took: Record<keyof Sides, number[]> = { few: [], many: [] }
  for (let round = 0; round < rounds; round++) {
    for (const side of ['few', 'many'] as const) {
      const { process, startMs } = await bench.startHoldpoint(paths[side])
      took[side].push(startMs / 1000)
      await end(process)
    }
  }
  const [own, beside] = [median(took.many), median(took.few)]
  const row = ratio('', `${own.toFixed(2)} s`, `${few} events ${beside.toFixed(2)} s`, own, {
    atMost: mostStartSeconds,
  })
  return { ...row, unit: ' s' }
}

async function pages(what: string, sides: Sides): Promise<Row[]> {
  const callers = { few: await createCaller(sides.few.port), many: await createCaller(sides.many.port) }
  const all: { path: string; own: number; beside: number; times: number }[] = []
  for (const path of firstPages) {
    const took: Record<keyof Sides, number[]> = { few: [], many: [] }
    for (let call = 0; call < 30; call++) {
      for (const side of ['few', 'many'] as const) took[side].push((await get(callers[side], path)).ms)
    }
    const [own, beside] = [median(took.many), median(took.few)]
    all.push({ path, own, beside, times: own / beside })
  }
  Object.values(callers).forEach(({ close }) => close())
  const worst = all.toSorted((a, b) => b.times - a.times)[0]!
  const beside = `${few} events ${ms(worst.beside)}`
  return [
    ratio(`${what}: dearest first page, ${worst.path}`, ms(worst.own), beside, worst.times, { atMost: flat.times }),
  ]
}

/** Two filters that hardly meet, beside the two alone: a call, in the mean of those up to the end. */
async function meeting(what: string, path: keyof typeof apart, { port }: Served, size: Size): Promise<Row> {
  const found: Row[] = []
  for (const filters of apart[path]) {
    const alone: number[] = []
    for (const filter of filters) alone.push((await walk(port, `${path}?${filter}`, 100)).msEach)
    // The first call prepares it, which is most of what one takes that finds the end.
    await walk(port, `${path}?${filters.join('&')}`, 1)
    const both = await walk(port, `${path}?${filters.join('&')}`)
    const one = (alone[0]! + alone[1]!) / alone.length
    const measured = `${ms(both.msEach)} a call, ${both.calls} calls${both.isWhole ? '' : ' and no end'}`
    size.progress(`${path}?${filters.join('&')}: ${measured}, one filter ${ms(one)}`)
    const row = `${what}: ${path}, two filters that hardly meet`
    found.push(ratio(row, measured, `one filter ${ms(one)}`, both.msEach / one, { atMost: mostTimesOne }))
  }
  return found.toSorted((a, b) => b.figure - a.figure)[0]!
}

async function absent(what: string, { port }: Served): Promise<Row> {
  const { calls, isWhole, passed } = await walk(port, `/audit/events?type=${absentType}`)
  const needed = isWhole ? calls : Math.ceil((calls * many) / passed)
  const measured = isWhole ? `${calls} calls` : `${passed} events in ${calls} calls`
  return ratio(`${what}: an event type that never occurs, calls`, measured, '', needed, { atMost: mostCalls })
}

interface Walk {
  calls: number
  msEach: number
  isWhole: boolean
  /** The number of the event that it came to. */
  passed: number
}

/** Page by page to the end, or until it takes too long. */
async function walk(port: number, path: string, mostPages = Infinity): Promise<Walk> {
  const caller = await createCaller(port)
  const took: number[] = []
  let next = ''
  let passed = 0
  try {
    const began = performance.now()
    while (took.length < mostPages && performance.now() < began + walkMs) {
      const { ms: time, body } = await get(caller, path + next)
      took.push(time)
      const page = JSON.parse(body) as { next_cursor?: string | null; next_after?: number; more?: boolean }
      passed = page.next_after ?? 0
      const place = page.more === true ? `&after=${page.next_after}` : page.next_cursor && `&cursor=${page.next_cursor}`
      if (!place) return { calls: took.length, msEach: meanOf(took), isWhole: true, passed }
      next = place
    }
    return { calls: took.length, msEach: meanOf(took), isWhole: false, passed }
  } finally {
    caller.close()
  }
}

function meanOf(values: number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length
}

async function get({ call }: Awaited<ReturnType<typeof createCaller>>, path: string) {
  const began = performance.now()
  const { status, body, at } = await call(httpRequest('GET', path))
  if (status !== 200) throw new Error(`${path} was answered with ${status} ${body}`)
  return { ms: at - began, body }
}

async function rates(bench: Bench, what: string, sides: Sides, each: number, size: Size): Promise<Row[]> {
  const bodies = askedBodies()
  const kinds = {
    submissions: () => ({ kind: 'submit' as const, bodies }),
    decisions: (round: number) => ({ kind: 'decide' as const, from: round * each, below: (round + 1) * each }),
  }
  const rows: Row[] = []
  for (const [kind, workOf] of Object.entries(kinds)) {
    const measured: Record<keyof Sides, Measured[]> = { few: [], many: [] }
    // The first one does not count.
    for (let round = 0; round <= rounds; round++) {
      for (const side of ['few', 'many'] as const) {
        const { port, process } = sides[side]
        const result = await bench.load({ port, connections, seconds: size.seconds, work: workOf(round) }, process)
        if (round > 0) measured[side].push(result)
        size.progress(`${kind} beside ${side}: ${rate(result.perSecond)}`)
      }
    }
    const part = ratioOf(ratesOf(measured.many), ratesOf(measured.few))
    const beside = `${few} events ${paceOf(measured.few)}`
    rows.push(ratio(`${what}: ${kind}`, paceOf(measured.many), beside, part, { atLeast: flat.part }))
  }
  return rows
}
