// Pages with much hostile text on them: whole, and made where nobody waits for them.
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { createRenderer } from '../../../src/routes/pages/renderer.js'
import { build, sharesFor } from '../../support.js'
import { example, pageOf } from '../../web/examples.js'

const tabs = 'a\t'.repeat(100_000)

t.test('a large page is whole, and others are answered while it is made', async (t) => {
  const { call, submit } = await build(t)
  t.equal((await submit({ description: `begin ${tabs} end`, details: { text: tabs } })).status, 202)
  let turns = 0
  let isMade = false
  const page = call('GET', '/view/id-0001').finally(() => (isMade = true))
  while (!isMade) {
    await new Promise((resolve) => setImmediate(resolve))
    turns += 1
  }
  const { status, body } = await page
  t.equal(status, 200)
  t.match(body, /begin a/)
  t.match(body, 'value="approve"', 'and can be decided on')
  t.ok(turns > 100, `the event loop went around ${turns} times meanwhile`)
})

t.test('a form that was refused is shown again on a large page, with what was written', async (t) => {
  const { call, submit } = await build(t)
  await submit({ description: tabs })
  const { headers, body } = await call('GET', '/view/id-0001')
  const cookie = String(headers['set-cookie']).split(';', 1)[0]!
  const csrf = /name="csrf" value="([0-9a-f]+)"/.exec(String(body))![1]!
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', cookie }
  const answer = await call('POST', '/view/id-0001', `csrf=${csrf}&reason=because`, form)
  t.equal(answer.status, 400)
  t.match(answer.body, />\n?because<\/textarea>/)
})

t.test('only so many large pages are made at once; small ones are not concerned', async (t) => {
  const render = createRenderer(sharesFor())
  const request = {} as FastifyRequest
  const large = Array.from({ length: 33 }, () => render(request, pageOf(example({ description: tabs }))))
  const small = await render(request, pageOf(example()))
  t.match(small, '<!doctype html>')
  const [first, ...rest] = await Promise.allSettled(large)
  t.match(first, { status: 'fulfilled', value: /<!doctype html>/ })
  t.match(rest.at(-1), {
    status: 'rejected',
    reason: { code: 'flood_limited', extra: { share: 'pages', retry_after_seconds: 2 } },
  })
  t.equal(rest.filter(({ status }) => status === 'rejected').length, 1)
  t.match(await render(request, pageOf(example({ description: tabs }))), '<!doctype html>', 'then there is room again')
})
