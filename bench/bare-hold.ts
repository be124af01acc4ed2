// The yardstick for waiting: a Fastify server that holds a request until another one releases it, and stores nothing.
import Fastify from 'fastify'

const held = new Map<string, (status: string) => void>()

const app = Fastify()
app.get<{ Params: { id: string } }>('/hold/:id', async ({ params: { id } }) => {
  const status = await new Promise<string>((resolve) => held.set(id, resolve))
  return { id, status }
})
app.post<{ Params: { id: string } }>('/release/:id', async ({ params: { id } }) => {
  held.get(id)!('approved')
  held.delete(id)
  return { id, status: 'approved' }
})
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
