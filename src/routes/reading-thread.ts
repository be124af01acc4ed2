// The thread that large bodies are read on.
import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Answer, Order } from './large-body.js'
import { read } from './reading.js'

/** Where there are fewer processors than there is work, what is small goes first. */
const niceness = 10

// Elsewhere the priority is that of the whole process.
if (process.platform === 'linux') {
  try {
    setPriority(Math.max(niceness, getPriority()))
  } catch {
    // Whoever runs this does not let it, so it takes its turns as everything else.
  }
}

parentPort!.on('message', ({ number, unread }: Order) => {
  parentPort!.postMessage({ number, read: read(unread) } satisfies Answer)
})
