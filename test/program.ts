// The program as a user starts it: a process of its own, on a free port, over a database of its own.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { temporaryFolder } from './support.js'

const server = fileURLToPath(new URL('../src/server.js', import.meta.url))

export interface Program {
  /** Where the API is reached. */
  url: string
}

/** Resolves when it says that it is ready; ends it with the test. */
export async function startProgram(t: Test, flags: string[] = []): Promise<Program> {
  const dbPath = join(temporaryFolder(t), 'program.db')
  const child = spawn(process.execPath, [server, '--db-path', dbPath, '--port', '0', '--web-port', 'off', ...flags], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return new Promise((resolve, reject) => {
    void ended.then(() => reject(new Error('it ended before it was ready')))
    createInterface(child.stdout).on('line', (line) => {
      const { url, msg } = JSON.parse(line) as { url?: string; msg: string }
      if (url !== undefined && msg.includes('is ready')) resolve({ url })
    })
  })
}
