// The thread that large bodies are read on.
import { parentPort } from 'node:worker_threads'
import type { Answer, Order } from './large-body.js'
import { read } from './reading.js'

parentPort!.on('message', ({ number, unread }: Order) => {
  parentPort!.postMessage({ number, read: read(unread) } satisfies Answer)
})
