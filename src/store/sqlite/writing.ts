// Where groups of changes are written: on a thread of their own, or, where nothing else goes on, on this one.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openWriter, type Packet, type PackedOutcome } from './writer.js'

export interface Writing {
  /** They are written in the order in which they are sent, one or several in a transaction. */
  send(packet: Packet): void
  close(): Promise<unknown>
}

export type OpenWriting = (
  file: string,
  /** What came of all that went into one transaction. */
  done: (outcomes: PackedOutcome[]) => void,
  fail: (error: Error) => void,
) => Writing

export const onThread: OpenWriting = (file, done, fail) => {
  const thread = new Worker(new URL('./thread.js', import.meta.url), { workerData: { file }, execArgv: [] })
  thread.on('message', done)
  thread.on('error', fail)
  return {
    send: (packet) => thread.postMessage(packet),
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
    send: (packet) =>
      void setImmediate(() => {
        done(writer.write([packet]))
        writer.tidy()
      }),
    close: async () => writer.close(),
  }
}
