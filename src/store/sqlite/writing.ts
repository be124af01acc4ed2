// Where groups of changes are written: on a thread of their own, or, where nothing else goes on, on this one.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openWriter, type Job, type PackedOutcome } from './writer.js'

export interface Writing {
  /** Starts on a group, in a transaction that begins `now`. The next one is given when it is known what came of this. */
  start(group: Job[], now: number): void
  close(): Promise<unknown>
}

export type OpenWriting = (
  file: string,
  done: (outcomes: PackedOutcome[]) => void,
  fail: (error: Error) => void,
) => Writing

export const onThread: OpenWriting = (file, done, fail) => {
  const thread = new Worker(new URL('./thread.js', import.meta.url), { workerData: { file }, execArgv: [] })
  thread.on('message', done)
  thread.on('error', fail)
  return {
    start: (...group) => thread.postMessage(group),
    close() {
      thread.postMessage('close')
      return once(thread, 'exit')
    },
  }
}

/** For a single command, and for tests: a thread takes longer to start than they take. */
export const onThisThread: OpenWriting = (file, done) => {
  const writer = openWriter(file)
  return {
    start: (...group) => void setImmediate(() => done(writer.write(...group))),
    close: async () => writer.close(),
  }
}
