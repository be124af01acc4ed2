// A proxy that drops, delays, repeats and cuts what goes through it, request by request, as a table of faults says.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** What a request is for. */
export const steps = ['submit', 'wait', 'claim', 'report', 'cancel', 'other'] as const
export type Step = (typeof steps)[number]

/** What becomes of a request and its answer. */
export const faults = {
  /** The connection ends before anything was sent on. */
  'request dropped': {},
  /** A part of it arrives, and no more. */
  'request cut': {},
  /** It arrives after its sender was cut off. */
  'request late': {},
  /** It arrives after a while. */
  'request delayed': {},
  /** It arrives twice, and the first answer counts. */
  'request repeated': {},
  /** It arrives, and its answer is lost. */
  'answer dropped': {},
  /** A part of the answer arrives. */
  'answer cut': {},
  /** The answer takes a while. */
  'answer delayed': {},
  /** Nothing is answered, and the connection stays. */
  'answer withheld': {},
} as const
export type Fault = keyof typeof faults

export interface FaultyProxy {
  port: number
  /** How often each happened: `claim: answer cut`. */
  happened: Map<string, number>
}

/** In front of a service on this port. `choose` says what becomes of a request; null: nothing. */
export async function startFaultyProxy(
  t: Test,
  servicePort: number,
  choose: (step: Step) => Fault | null,
): Promise<FaultyProxy> {
  const happened = new Map<string, number>()
  const open = new Set<Socket>()
  const server = createServer({ noDelay: true }, (client) => {
    hold(client)
    const upstream = dial()
    let fault: Fault | null = null
    let request = Buffer.alloc(0)

    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => {
      // What was answered to the last request is still on its way.
      if (fault !== 'answer delayed' && fault !== 'answer withheld') client.end()
    })

    client.on('data', (chunk) => {
      request = Buffer.concat([request, chunk])
      if (!isComplete(request)) return
      const whole = request
      request = Buffer.alloc(0)
      const step = stepOf(whole)
      fault = choose(step)
      if (fault !== null) {
        const name = `${step}: ${fault}`
        happened.set(name, (happened.get(name) ?? 0) + 1)
      }
      switch (fault) {
        case 'request dropped':
          return end()
        case 'request cut':
          upstream.end(whole.subarray(0, Math.ceil(whole.length / 2)))
          return client.destroy()
        case 'request late':
          later(() => dial().end(whole))
          return end()
        case 'request delayed':
          return later(() => upstream.write(whole))
        case 'request repeated':
          dial().end(whole)
          return upstream.write(whole)
        default:
          return upstream.write(whole)
      }
    })

    upstream.on('data', (chunk) => {
      switch (fault) {
        case 'answer dropped':
          return end()
        case 'answer cut':
          client.end(chunk.subarray(0, Math.ceil(chunk.length / 2)))
          return upstream.destroy()
        case 'answer delayed':
          return later(() => client.write(chunk))
        case 'answer withheld':
          return undefined
        default:
          return client.write(chunk)
      }
    })
  })

  function hold(socket: Socket): void {
    open.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
  }

  /** One that nobody reads needs to be read all the same. */
  function dial(): Socket {
    const socket = connect({ port: servicePort, host: '127.0.0.1', noDelay: true })
    hold(socket)
    return socket.resume()
  }

  const timers = new Set<NodeJS.Timeout>()
  function later(run: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer)
      run()
    }, delayMs)
    timers.add(timer)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    for (const timer of timers) clearTimeout(timer)
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, happened }
}

/** Long enough for what comes after it to overtake it. */
const delayMs = 60

function isComplete(bytes: Buffer): boolean {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /^content-length: *(\d+)/im.exec(bytes.subarray(0, end).toString('latin1'))?.[1] ?? '0'
  return bytes.length >= end + 4 + Number(length)
}

function stepOf(request: Buffer): Step {
  const [method, path] = request.subarray(0, 200).toString('latin1').split(' ') as [string, string]
  if (method === 'POST' && /^\/confirm(\?|$)/.test(path)) return 'submit'
  if (method === 'GET' && /^\/confirm\/[^/]+\?.*wait=/.test(path)) return 'wait'
  const verb = /^\/confirm\/[^/]+\/(\w+)$/.exec(path)?.[1]
  return steps.find((step) => step === verb) ?? 'other'
}
