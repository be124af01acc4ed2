// The pages, put together: what they share are forms as the only bodies, their headers, and errors as pages. Each page has a
// file here and one in web/. A GET never changes anything.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { anyone } from '../../access/role.js'
import { unknownActor } from '../../core/actor.js'
import { refuse } from '../../core/refusal.js'
import { pageHeaders } from '../../web/headers.js'
import { messagePage } from '../../web/message.js'
import type { Api } from '../api.js'
import { Problem, problems, sendProblem, toProblem } from '../errors.js'
import { serveAssets } from './assets.js'
import { confirmationRoutes } from './confirmation-page.js'
import { bodyLimit, pathOf, takeForms } from './form.js'
import { linkRoutes } from './link-page.js'
import { listRoutes } from './list-page.js'
import { signInRoutes } from './sign-in-page.js'
import { baseOf, createSite, type SiteDeps } from './site.js'

export async function pageRoutes(app: Api, deps: SiteDeps): Promise<void> {
  const site = createSite(deps)
  serveAssets(app)

  await app.register(async (pages: Api) => {
    takeForms(pages)
    pages.addHook('onRequest', async (request, reply) => {
      void reply.headers(pageHeaders)
      // Limits count people who are signed in by their key. What they may do, a page asks in its own way.
      const holder = await site.signedIn(request)
      request.caller = holder ?? anyone
      request.keyId = holder?.keyId ?? null
    })
    pages.setErrorHandler(async (error: FastifyError, request, reply) => {
      const problem = inFormWords(toProblem(error))
      if (problem.code === 'cross_origin') {
        await site.auth.note(request, refuse('forbidden', problem.message), unknownActor, { via: 'page' })
      }
      // What went wrong inside is the main handler's to log.
      if (problems[problem.code].status >= 500) throw error
      if (pathOf(request).endsWith('/state')) return sendProblem(reply, problem)
      return sendMessage(request, reply, problem)
    })

    listRoutes(pages, site)
    confirmationRoutes(pages, site)
    linkRoutes(pages, site)
    signInRoutes(pages, site)
  })

  function sendMessage(request: FastifyRequest, reply: FastifyReply, problem: Problem): Promise<FastifyReply> {
    const { code, message, extra } = problem
    const { status, title } = problems[code]
    if (typeof extra.retry_after_seconds === 'number') void reply.header('retry-after', extra.retry_after_seconds)
    const said = code === 'cross_origin' ? refusedForm(request, message) : { title, text: message }
    return site.send(reply.code(status), messagePage({ ...site.frameOf(request, reply, null), ...said }))
  }
}

/** A body that is too large is a form here. */
function inFormWords(problem: Problem): Problem {
  if (problem.code !== 'body_too_large') return problem
  return new Problem(problem.code, `The form is larger than ${bodyLimit / 1024} KiB. Nothing was decided.`)
}

/** Where a person meets it, it is mostly a page that lay open until its cookie was gone. */
function refusedForm(request: FastifyRequest, text: string) {
  const path = pathOf(request)
  // What is only ever sent to has no page of its own.
  const url = path.endsWith('/logout') ? `${baseOf(request)}/` : path
  return { title: 'The form was not accepted', text, link: { url, text: 'Load the page again' } }
}
