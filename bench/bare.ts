// The yardstick: a Fastify route with the same schema and the same answer that stores nothing.
import Fastify from 'fastify'
import { v7 as uuid } from 'uuid'
import { type Api, useZod } from '../src/routes/api.js'
import { parseBodies } from '../src/routes/json-body.js'
import * as requests from '../src/routes/requests.js'

const app: Api = Fastify()
useZod(app)
parseBodies(app, null)
app.post('/confirm', { schema: { body: requests.submitBody } }, async ({ body }, reply) => {
  const id = uuid()
  const deadline = Date.now() + (body.timeout_seconds ?? 300) * 1000
  return reply.code(202).send({
    id,
    action: body.action,
    status: 'pending',
    timeout_seconds: body.timeout_seconds ?? 300,
    message: `Waiting for a person to approve or deny this; it expires in ${body.timeout_seconds ?? 300} s.`,
    approve_url: `/confirm/${id}/approve`,
    deny_url: `/confirm/${id}/deny`,
    expires_at: deadline / 1000,
    expires_at_iso: new Date(deadline).toISOString(),
  })
})
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
