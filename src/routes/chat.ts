// What the services of chats send to us: presses and words, where they are not asked for. Each request proves itself in the way
// of its chat, over the body as it came.
import type { ChatName } from '../core/model.js'
import type { Api } from './api.js'
import { takeBodies } from './body.js'
import { Problem } from './errors.js'

/** What came, and what it is answered with. */
interface Receiver {
  /** Null: this chat sends nothing here. */
  receive(
    name: ChatName,
    request: { headers: Record<string, string | string[] | undefined>; body: Buffer },
  ): Promise<{ status: number; body: object | null } | null>
}

/** An update of a chat is a few kilobytes. */
const bodyLimit = 128 * 1024

export async function chatRoutes(app: Api, receiver: Receiver): Promise<void> {
  await app.register(async (chats: Api) => {
    chats.removeAllContentTypeParsers()
    takeBodies(chats, '*', (_request, body, done) => done(null, body))
    for (const name of ['telegram', 'discord'] as const) {
      chats.post(`/chat/${name}`, { config: { needs: 'nothing' }, bodyLimit }, async (request, reply) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const answer = await receiver.receive(name, { headers: request.headers, body })
        if (answer === null) {
          const sentence = `Nothing is expected from ${name} here: the settings say that presses come in another way.`
          throw new Problem('no_such_route', sentence)
        }
        void reply.code(answer.status)
        return answer.body === null ? reply.send() : reply.type('application/json').send(JSON.stringify(answer.body))
      })
    }
  })
}
