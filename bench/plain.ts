// The second yardstick: what Fastify can do, with a JSON schema of the body and one of the answer, and nothing stored.
import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'

interface Body {
  action: string
  timeout_seconds: number
}

const text = { type: 'string' } as const
const number = { type: 'number' } as const

const app = Fastify()
app.post<{ Body: Body }>(
  '/confirm',
  {
    schema: {
      body: {
        type: 'object',
        required: ['action', 'description'],
        additionalProperties: false,
        properties: {
          action: { type: 'string', minLength: 1, maxLength: 1000 },
          description: { type: 'string', minLength: 1 },
          details: { type: 'object', default: {} },
          requester: { type: 'string', maxLength: 1000 },
          session_key: { type: 'string', maxLength: 1000 },
          timeout_seconds: { type: 'number', default: 300 },
        },
      },
      response: {
        202: {
          type: 'object',
          properties: {
            ...{ id: text, action: text, status: text, timeout_seconds: number, message: text },
            ...{ approve_url: text, deny_url: text, expires_at: number, expires_at_iso: text },
          },
        },
      },
    },
  },
  async ({ body: { action, timeout_seconds } }, reply) => {
    const id = randomUUID()
    const deadline = Date.now() + timeout_seconds * 1000
    return reply.code(202).send({
      id,
      action,
      status: 'pending',
      timeout_seconds,
      message: `Waiting for a person to approve or deny this; it expires in ${timeout_seconds} s.`,
      approve_url: `/confirm/${id}/approve`,
      deny_url: `/confirm/${id}/deny`,
      expires_at: deadline / 1000,
      expires_at_iso: new Date(deadline).toISOString(),
    })
  },
)
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
