// Durable submissions per second beside a bare Fastify route, in one run. Rounds alternate, so that noise hits both.
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from '../src/store/sqlite/driver.js'
import type { Load, LoadResult } from './load.js'
import { quantile } from './numbers.js'
import { end, here, listening, type Name, names, ports, startBare, startHoldpoint } from './servers.js'

const rounds = Number(process.env.BENCH_ROUNDS ?? 7)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
/**
 * The share of the bare route's rate that the first version of the service had: the median of three runs of 5 to 7 rounds
 * of 2 s, in turn with those of a later one, Node 20, 2 hardware threads.
 */
const first = { 32: 0.6, 128: 0.65 }
const body = JSON.stringify({
  action: 'deploy_service',
  description: 'Deploy build 4711 of the billing service to the production cluster eu-1',
  details: { build: 4711, cluster: 'eu-1', services: ['api', 'worker'] },
  requester: 'ci-agent',
  session_key: 'session-1',
})

const folder = mkdtempSync(join(tmpdir(), 'holdpoint-bench-'))
const dbPath = join(folder, 'bench.db')
const servers = { bare: startBare('bare.js'), holdpoint: startHoldpoint(dbPath) }

try {
  await Promise.all([listening(ports.bare), listening(ports.holdpoint)])
  await measure(ports.bare, 32, 2)
  let accepted = (await measure(ports.holdpoint, 32, 2)).accepted
  console.log(`${rounds} rounds of ${seconds} s each; median of the rounds; every 202 is on disk before it is sent\n`)
  console.log('connections  server      per second   p50 ms   p99 ms')
  const comparisons: number[] = []
  for (const [connections, before] of Object.entries(first)) {
    const results: Record<Name, LoadResult[]> = { bare: [], holdpoint: [] }
    for (let round = 0; round < rounds; round++) {
      for (const name of names) results[name].push(await measure(ports[name], Number(connections), seconds))
    }
    accepted += results.holdpoint.reduce((sum, result) => sum + result.accepted, 0)
    for (const name of names) print(connections, name, medianOf(results[name]))
    // Neighbouring rounds share the machine's mood, so each pair is compared by itself.
    const ratios = results.holdpoint.map((one, round) => one.perSecond / results.bare[round]!.perSecond)
    const ratio = quantile(ratios, 0.5)
    comparisons.push(ratio / before)
    console.log(`${connections.padStart(11)}  ratio       ${ratio.toFixed(2).padStart(10)}`)
    console.log(`compared with the first bench (${before}): ${(ratio / before).toFixed(2)}\n`)
  }
  await end(servers.holdpoint)
  const db = new Database(dbPath, { readonly: true })
  const stored = db.prepare('SELECT count(*) FROM confirmations').pluck().get() as number
  // Up to one request per connection was under way when a round ended: stored, but its answer was not waited for.
  console.log(
    `answered with 202: ${accepted}; on disk after kill -9: ${stored}; ${stored >= accepted ? 'nothing lost' : 'LOST SOME'}`,
  )
  if (stored < accepted) process.exitCode = 1
  const kept = comparisons.every((one) => one >= 0.9)
  console.log(`every comparison with the first bench is at least 0.9: ${kept ? 'yes' : 'NO'}`)
} finally {
  await Promise.all(Object.values(servers).map(end))
  rmSync(folder, { recursive: true, force: true })
}

async function measure(port: number, connections: number, duration: number): Promise<LoadResult> {
  const child = fork(here('load.js'))
  const result = new Promise<LoadResult>((resolve, reject) => {
    child.once('message', (message) => resolve(message as LoadResult))
    child.once('exit', () => reject(new Error('the load ended without a result')))
  })
  child.send({ port, connections, seconds: duration, body } satisfies Load)
  const answer = await result
  if (answer.refused > 0) throw new Error(`${answer.refused} requests were not answered with 202`)
  return answer
}

function medianOf(results: LoadResult[]): LoadResult {
  return results.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(rounds / 2)]!
}

function print(connections: string, name: string, { perSecond, p50Ms, p99Ms }: LoadResult): void {
  const columns = [perSecond.toFixed(0).padStart(10), p50Ms.toFixed(1).padStart(8), p99Ms.toFixed(1).padStart(8)]
  console.log(`${connections.padStart(11)}  ${name.padEnd(10)}  ${columns.join(' ')}`)
}
