// A proxy that loses, delays, repeats and cuts what goes through it, between any client and a service.
import { Agent, createServer, type IncomingMessage, request as sendRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const faults = [
  'none',
  'lost on the way there',
  'cut on the way there',
  'late, and nobody waits for it',
  'lost on the way back',
  'cut in the head of the answer',
  'cut in the middle of the answer',
  'cut at the end of the answer',
  'delayed',
  'sent twice',
  'sent twice, the second answer lost',
  'answered by what is in between',
  'never answered',
] as const
export type Fault = (typeof faults)[number]

export const steps = ['submit', 'wait', 'claim', 'report', 'cancel', 'other'] as const
export type Step = (typeof steps)[number]

/** One request, as far as a plan goes by it. */
export interface Exchange {
  step: Step
  /** The confirmation, or for a submission its Idempotency-Key. */
  about: string
  /** Which try of this step this is, from 0. */
  attempt: number
}

export interface FaultyProxy {
  port: number
  /** How often each fault befell each step. */
  befell: Map<Step, Map<Fault, number>>
  close(): Promise<void>
}

interface Received {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: Buffer
}

const delayMs = 20

export async function startFaultyProxy(port: () => number, plan: (exchange: Exchange) => Fault): Promise<FaultyProxy> {
  const agent = new Agent({ keepAlive: true })
  const attempts = new Map<string, number>()
  const befell: FaultyProxy['befell'] = new Map(steps.map((step) => [step, new Map()]))

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    response.on('error', () => {})
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      void pass({ method, url, headers, body: Buffer.concat(chunks) }, response)
    })
  })

  async function pass(received: Received, response: ServerResponse): Promise<void> {
    const { step, about } = whatIs(received)
    const attempt = attempts.get(`${step} ${about}`) ?? 0
    attempts.set(`${step} ${about}`, attempt + 1)
    const fault = plan({ step, about, attempt })
    const counts = befell.get(step)!
    counts.set(fault, (counts.get(fault) ?? 0) + 1)
    const hangUp = () => response.socket?.destroy()
    try {
      await suffer(fault, received, response, hangUp)
    } catch {
      // The service is away: to whoever asks, the connection breaks.
      hangUp()
    }
  }

  async function suffer(fault: Fault, received: Received, response: ServerResponse, hangUp: () => void): Promise<void> {
    switch (fault) {
      case 'lost on the way there':
        return hangUp()
      case 'cut on the way there':
        hangUp()
        return forwardHalf(received)
      case 'late, and nobody waits for it':
        hangUp()
        await new Promise((resolve) => setTimeout(resolve, delayMs))
        await forward(received)
        return
      case 'answered by what is in between':
        response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
        return
      case 'never answered':
        await forward(received)
        return
      case 'lost on the way back':
        await forward(received)
        return hangUp()
      case 'sent twice, the second answer lost': {
        const answer = await forward(received)
        await forward(received)
        return write(response, answer)
      }
      case 'sent twice': {
        const [, answer] = await Promise.all([forward(received), forward(received)])
        return write(response, answer)
      }
      case 'delayed':
        await new Promise((resolve) => setTimeout(resolve, delayMs))
        return write(response, await forward(received))
      case 'none':
        return write(response, await forward(received))
    }
    const { head, body } = await forward(received)
    const whole = Buffer.concat([head, body])
    const parts = {
      'cut in the head of the answer': head.length >> 1,
      'cut in the middle of the answer': head.length + (body.length >> 1),
      'cut at the end of the answer': whole.length - 1,
    }
    response.socket?.end(whole.subarray(0, parts[fault]))
  }

  interface Forwarded {
    /** As bytes, for what is cut. */
    head: Buffer
    body: Buffer
    status: number
    headers: IncomingMessage['headers']
  }

  function forward({ method, url, headers, body }: Received): Promise<Forwarded> {
    return new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port: port(),
        method,
        path: url,
        headers: { ...headers, host: 'localhost' },
        agent,
      }
      const sent = sendRequest(options, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const { statusCode: status = 0, statusMessage, headers } = answer
          const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`)
          const head = Buffer.from(`HTTP/1.1 ${status} ${statusMessage}\r\n${lines.join('')}\r\n`)
          resolve({ head, body: Buffer.concat(chunks), status, headers })
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  /** What the service gets of it ends in the middle. */
  function forwardHalf({ method, url, headers, body }: Received): void {
    const options = { host: '127.0.0.1', port: port(), method, path: url, headers: { ...headers, host: 'localhost' } }
    const sent = sendRequest({ ...options, agent: false })
    sent.on('error', () => {})
    sent.write(body.subarray(0, body.length >> 1), () => sent.destroy())
  }

  function write(response: ServerResponse, { status, headers, body }: Forwarded): void {
    const { connection: _own, 'keep-alive': _its, 'transfer-encoding': _whole, ...rest } = headers
    response.writeHead(status, rest).end(body)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    befell,
    close() {
      agent.destroy()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function whatIs({ method, url, headers }: Received): Pick<Exchange, 'step' | 'about'> {
  const [, id, verb] = /^\/confirm(?:\/([^/?]+))?(?:\/(\w+))?/.exec(url) ?? []
  if (method === 'POST' && id === undefined) return { step: 'submit', about: String(headers['idempotency-key']) }
  if (method === 'GET' && id !== undefined && verb === undefined) return { step: 'wait', about: id }
  const step = steps.find((one) => one === verb) ?? 'other'
  return { step, about: id ?? '' }
}
