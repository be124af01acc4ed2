// The thread that writes: a slow disk delays commits, and nothing else.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { openWriter, type Packet } from './writer.js'

/** Bounds one transaction, and with it how long its first change waits for its last. */
const maxGroup = 1000

const port = parentPort!
const writer = openWriter((workerData as { file: string }).file)

/** What has come while the last transaction was written goes into one. */
port.on('message', (first: Packet | 'close') => {
  const packets: Packet[] = []
  let size = 0
  let message: Packet | 'close' | undefined = first
  while (Array.isArray(message)) {
    packets.push(message)
    size += message[0].length
    message = size < maxGroup ? take() : undefined
  }
  if (size > 0) {
    port.postMessage(writer.write(packets))
    writer.tidy()
  }
  if (message !== 'close') return
  writer.close()
  port.close()
})

function take(): Packet | 'close' | undefined {
  const next: { message: Packet | 'close' } | undefined = receiveMessageOnPort(port)
  return next?.message
}
