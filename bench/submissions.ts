// Durable submissions per second beside a bare Fastify route, in one run. Rounds alternate, so that noise hits both.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { LoadResult } from './load.js'

const rounds = Number(process.env.BENCH_ROUNDS ?? 7)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const ports = { bare: 6190, holdpoint: 6191 }
const body = JSON.stringify({
  action: 'deploy_service',
  description: 'Deploy build 4711 of the billing service to the production cluster eu-1',
  details: { build: 4711, cluster: 'eu-1', services: ['api', 'worker'] },
  requester: 'ci-agent',
  session_key: 'session-1',
})

const folder = mkdtempSync(join(tmpdir(), 'holdpoint-bench-'))
const dbPath = join(folder, 'bench.db')
const here = (file: string) => new URL(file, import.meta.url).pathname
const servers = [
  spawn(process.execPath, [here('bare.js'), String(ports.bare)], { stdio: 'inherit' }),
  spawn(
    process.execPath,
    [
      ...[here('../src/server.js'), '--db-path', dbPath, '--port', String(ports.holdpoint), '--web-port', 'off'],
      ...['--rate-limit', '1000000000', '--flood-limit', '0'],
    ],
    // The default log level, as in production: a line for every submission and, without a chat, a warning.
    { stdio: ['ignore', 'ignore', 'inherit'] },
  ),
]

try {
  await Promise.all([listening(ports.bare), listening(ports.holdpoint)])
  await measure(ports.bare, 32, 2)
  let accepted = (await measure(ports.holdpoint, 32, 2)).accepted
  console.log(`${rounds} rounds of ${seconds} s each; median of the rounds; every 202 is on disk before it is sent\n`)
  console.log('connections  server      per second   p50 ms   p99 ms')
  for (const connections of [32, 128]) {
    const results: Record<keyof typeof ports, LoadResult[]> = { bare: [], holdpoint: [] }
    for (let round = 0; round < rounds; round++) {
      for (const name of ['bare', 'holdpoint'] as const)
        results[name].push(await measure(ports[name], connections, seconds))
    }
    accepted += results.holdpoint.reduce((sum, result) => sum + result.accepted, 0)
    for (const name of ['bare', 'holdpoint'] as const) print(connections, name, medianOf(results[name]))
    // Neighbouring rounds share the machine's mood, so each pair is compared by itself.
    const ratios = results.holdpoint.map((one, round) => one.perSecond / results.bare[round]!.perSecond)
    const ratio = ratios.toSorted()[Math.floor(rounds / 2)]!.toFixed(2)
    console.log(`${String(connections).padStart(11)}  ratio       ${ratio.padStart(10)}\n`)
  }
  servers[1]!.kill('SIGKILL')
  await ended(servers[1]!)
  const db = new Database(dbPath, { readonly: true })
  const stored = db.prepare('SELECT count(*) FROM confirmations').pluck().get() as number
  // Up to one request per connection was under way when a round ended: stored, but its answer was not waited for.
  console.log(
    `answered with 202: ${accepted}; on disk after kill -9: ${stored}; ${stored >= accepted ? 'nothing lost' : 'LOST SOME'}`,
  )
  if (stored < accepted) process.exitCode = 1
} finally {
  servers.forEach((server) => server.kill('SIGKILL'))
  rmSync(folder, { recursive: true, force: true })
}

async function measure(port: number, connections: number, duration: number): Promise<LoadResult> {
  const child = fork(here('load.js'))
  const result = new Promise<LoadResult>((resolve) =>
    child.once('message', (message) => resolve(message as LoadResult)),
  )
  child.send({ port, connections, seconds: duration, body })
  const answer = await result
  if (answer.refused > 0) throw new Error(`${answer.refused} requests were not answered with 202`)
  return answer
}

function medianOf(results: LoadResult[]): LoadResult {
  return results.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(rounds / 2)]!
}

function print(connections: number, name: string, { perSecond, p50Ms, p99Ms }: LoadResult): void {
  const columns = [perSecond.toFixed(0).padStart(10), p50Ms.toFixed(1).padStart(8), p99Ms.toFixed(1).padStart(8)]
  console.log(`${String(connections).padStart(11)}  ${name.padEnd(10)}  ${columns.join(' ')}`)
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const up = await new Promise<boolean>((resolve) => {
      request({ port, host: '127.0.0.1', path: '/health' }, (response) => {
        response.resume()
        resolve(true)
      })
        .on('error', () => resolve(false))
        .end()
    })
    if (up) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`nothing listens on port ${port}`)
}

function ended(child: ChildProcess): Promise<unknown> {
  return child.exitCode === null ? new Promise((resolve) => child.once('exit', resolve)) : Promise.resolve()
}
