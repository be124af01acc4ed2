// Another client: asks for /health at a steady pace, one after the other and each time on a connection of its own. Those that it
// could not send while it waited for one count as late as they would have been.
import { setTimeout as pause } from 'node:timers/promises'
import { createCaller, httpRequest } from './wire.js'

export interface Probe {
  port: number
  everyMs: number
}

/** What is not answered as it should be counts as this long. */
const patienceMs = 10_000
const request = httpRequest('GET', '/health')

async function ask(port: number): Promise<number> {
  const began = performance.now()
  const caller = await createCaller(port).catch(() => null)
  const late = pause(patienceMs, null, { ref: false })
  const answer = (await Promise.race([caller?.call(request).catch(() => null), late])) ?? null
  caller?.close()
  return answer?.status === 200 ? answer.at - began : patienceMs
}

process.once('message', ({ port, everyMs }: Probe) => {
  let isOver = false
  process.once('message', () => (isOver = true))
  void (async () => {
    const times: number[] = []
    while (!isOver) {
      const took = await ask(port)
      for (let ms = took; ms > 0; ms -= everyMs) times.push(ms)
      await pause(Math.max(0, everyMs - took))
    }
    process.send!(times)
    process.disconnect()
  })()
})
