// What no route answers: a path that leads nowhere, or one that does not take the method.
import type { Api } from './api.js'
import { Problem } from './errors.js'
import type { Route } from './openapi.js'

export function answerNotFound(app: Api, routes: Route[]): void {
  const paths = new Map<string, { pattern: RegExp; methods: string[] }>()
  for (const { url, method } of routes) {
    const known = paths.get(url) ?? { pattern: new RegExp(`^${url.replace(/:\w+/g, '[^/]+')}$`), methods: [] }
    known.methods.push(String(method))
    paths.set(url, known)
  }
  const limit = app.hasDecorator('rateLimit') ? { preHandler: app.rateLimit() } : {}
  app.setNotFoundHandler(limit, (request, reply) => {
    const path = request.url.split('?', 1)[0]!
    // As in routing, a path that is spelt out goes before one with an id in its place.
    const known = paths.get(path) ?? [...paths.values()].find(({ pattern }) => pattern.test(path))
    if (known === undefined) {
      throw new Problem('no_such_route', 'There is nothing at this path; GET /openapi.yaml lists what there is.')
    }
    void reply.header('allow', known.methods.join(', '))
    throw new Problem('method_not_allowed', `This path takes ${known.methods.join(' or ')}.`)
  })
}
