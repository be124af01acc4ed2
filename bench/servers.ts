// The servers under measurement, each a process of its own, and how to know that one listens and that it ended.
import { type ChildProcess, spawn } from 'node:child_process'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'

export const ports = { bare: 6190, holdpoint: 6191, other: 6192 }
export type Name = 'bare' | 'holdpoint'
export const names: readonly Name[] = ['bare', 'holdpoint']

/** A built file, seen from dist/bench. */
export const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

export function startBare(file: string): ChildProcess {
  return spawn(process.execPath, [here(file), String(ports.bare)], { stdio: 'inherit' })
}

export function startHoldpoint(dbPath: string, port = ports.holdpoint, more: string[] = []): ChildProcess {
  return spawn(
    process.execPath,
    [
      ...[here('../src/server.js'), '--db-path', dbPath, '--port', String(port), '--web-port', 'off'],
      ...['--rate-limit', '1000000000', '--flood-limit', '0', ...more],
    ],
    // The default log level, as in production: a line for every submission and, without a chat, a warning.
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
}

/** kill -9, and until it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
}

export async function listening(port: number): Promise<void> {
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
