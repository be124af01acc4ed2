// The thread that writes: a slow disk delays commits, and nothing else.
import { parentPort, workerData } from 'node:worker_threads'
import { openWriter, type Job } from './writer.js'

const writer = openWriter((workerData as { file: string }).file)

parentPort!.on('message', (message: [Job[], now: number] | 'close') => {
  if (message === 'close') {
    writer.close()
    parentPort!.close()
  } else parentPort!.postMessage(writer.write(...message))
})
