// Another client: asks for /health at a steady pace, each time on a connection of its own and whether or not the one before is
// answered; so a second in which nothing is answered counts as often as it was noticed.
import { httpRequest, open } from './wire.js'

export interface Probe {
  port: number
  everyMs: number
}

/** An answer that has not come by then counts as this long. */
const patienceMs = 10_000
const request = httpRequest('GET', '/health')

function ask(port: number): Promise<number> {
  const began = performance.now()
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(patienceMs), patienceMs)
    const answered = (ms: number) => {
      clearTimeout(timer)
      resolve(ms)
    }
    open(port, ({ at, status }) => answered(status === 200 ? at - began : patienceMs))
      .then((socket) => {
        socket.write(request)
        socket.once('close', () => answered(patienceMs))
        timer.refresh()
        return socket
      })
      .catch(() => answered(patienceMs))
  })
}

process.once('message', ({ port, everyMs }: Probe) => {
  const asked: Promise<number>[] = []
  const timer = setInterval(() => asked.push(ask(port)), everyMs)
  process.once('message', () => {
    clearInterval(timer)
    void Promise.all(asked).then((times) => {
      process.send!(times)
      process.disconnect()
    })
  })
})
