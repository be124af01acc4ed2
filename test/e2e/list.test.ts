// The list in real browsers: opened before anything is asked for, and never loaded again.
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { has } from '../needs.js'
import { build, type CallAs, giveKeys } from '../support.js'
import { browserTest, launch } from '../web/browser.js'

let browser: Browser
t.before(async () => {
  if (has('Chromium')) browser = await launch()
})
t.teardown(() => browser?.close())

const rules = 'rules: [{ action: pay, approvals: 2 }, { action: "*" }]'

/** A service whose time the test moves, an agent, and windows of two people. */
async function setUp(t: Test) {
  const built = await build(t, { rules, config: { floodLimit: 0 } })
  const { app, clock } = built
  const keys = await giveKeys(built, { bot: 'agent', olga: 'operator', paul: 'operator' })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`

  async function open({ key }: CallAs): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 900, height: 900 } })
    t.teardown(() => context.close())
    const page = await context.newPage()
    page.on('pageerror', (error) => t.fail(error.message))
    await page.goto(`${url}/`)
    await page.getByLabel(/key/i).fill(key)
    await page.getByRole('button', { name: /sign in/i }).click()
    await page.getByRole('heading', { name: 'Waiting for a decision' }).waitFor()
    return page
  }

  /** Lets time pass until it is so: the list is looked at once a second. */
  async function passUntil(condition: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 600; tries++) {
      if (await condition()) return
      await clock.advance(100)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    throw new Error(`still not true: ${condition.toString()}`)
  }

  const ask = async (fields: object): Promise<string> => {
    const { status, body } = await keys.bot('POST', '/confirm', { description: 'd', timeout_seconds: 3600, ...fields })
    if (status !== 202) throw new Error(JSON.stringify(body))
    return body.id as string
  }
  const decide = async (page: Page, id: string, verdict: 'Approve' | 'Deny') => {
    const list = page.url()
    await page.goto(`${list}view/${id}`)
    await page.getByRole('radio', { name: verdict, exact: true }).check()
    await page.getByRole('button', { name: 'Send decision' }).click()
    await page.locator('.notice.done, .outcome').first().waitFor()
    await page.goto(list)
  }
  return { ...built, ...keys, open, passUntil, ask, decide }
}

const item = (page: Page, id: string) => page.locator(`#item-${id}`)
const ended = (page: Page, id: string) => page.locator(`#ended-${id}`)
const places = async (page: Page) =>
  Object.fromEntries(
    await Promise.all(
      (await page.locator('.pending-list > li').all()).map(async (one) => {
        const box = await one.boundingBox()
        return [await one.getAttribute('id'), [box!.y, box!.height]] as const
      }),
    ),
  ) as Record<string, number[]>

browserTest(
  'a request comes, changes, is decided elsewhere or expires, and a list that was open shows it',
  async (t) => {
    const { open, olga, paul, ask, decide, passUntil, clock } = await setUp(t)
    const list = await open(olga)
    const other = await open(paul)
    // What is loaded again forgets this.
    await list.evaluate('globalThis.isSame = true')
    t.equal(await list.title(), 'Nothing waits · Holdpoint')
    await list.getByText('This list keeps itself up to date.').waitFor()

    const first = await ask({ action: 'pay', details: { invoice: 1 }, session_key: 'march' })
    await passUntil(() => item(list, first).isVisible())
    const second = await ask({ action: 'pay', details: { invoice: 2 }, session_key: 'april' })
    const third = await ask({ action: 'mail', timeout_seconds: 3000 })
    await passUntil(async () => (await list.title()) === '(3) Waiting · Holdpoint')
    t.equal(await list.locator('link[rel=icon]').getAttribute('href'), '/assets/waiting-3.svg')
    t.match(await item(list, first).innerText(), /{"invoice":1}[^]*asked (just now|.* ago)[^]*session march/)
    t.match(await item(list, second).innerText(), /{"invoice":2}[^]*asked [^]*session april/)
    t.match(await list.locator('#spoken').textContent(), /new request/)
    t.match(await list.locator('#summary').textContent(), '3 wait, next deadline first.')

    t.match(await item(list, first).innerText(), '0 of 2 approvals')
    await decide(other, first, 'Approve')
    await passUntil(async () => (await item(list, first).innerText()).includes('1 of 2 approvals'))

    await decide(other, second, 'Deny')
    await passUntil(() => ended(list, second).isVisible())
    t.equal(await item(list, second).count(), 0, 'it has left')
    t.match(await ended(list, second).innerText(), /pay[^]*Denied by paul/)

    await clock.advance(3_000_000)
    await passUntil(() => ended(list, third).isVisible())
    t.match(await ended(list, third).innerText(), /mail[^]*Expired: nobody decided in time/)
    await passUntil(async () => (await list.title()) === '(1) Waiting · Holdpoint')
    t.match(await item(list, first).innerText(), '1 of 2 approvals')

    // One that comes and expires while this window has no connection.
    await list.context().setOffline(true)
    const missed = await ask({ action: 'wipe', timeout_seconds: 30 })
    await passUntil(() => list.getByText(/^No connection/).isVisible())
    await clock.advance(30_000)
    await list.context().setOffline(false)
    await passUntil(() => ended(list, missed).isVisible())
    t.match(await ended(list, missed).innerText(), /wipe[^]*Expired/)
    t.equal(await list.locator('#freshness').innerText(), 'This list keeps itself up to date.')
    t.equal(await list.evaluate('globalThis.isSame'), true, 'and it was never loaded again')
  },
)

browserTest('nothing moves under the pointer: what ended stays in its place, what comes is put behind', async (t) => {
  const { open, olga, paul, ask, passUntil } = await setUp(t)
  const late = await ask({ action: 'late', timeout_seconds: 3600 })
  const gone = await ask({ action: 'gone', timeout_seconds: 2000 })
  const looked = await ask({ action: 'looked_at', timeout_seconds: 2500 })
  const list = await open(olga)
  await item(list, looked).hover()
  const before = await places(list)
  t.same(Object.keys(before), [`item-${gone}`, `item-${looked}`, `item-${late}`])

  let moves = 0
  const move = () => list.mouse.move(400 + (moves++ % 2), before[`item-${looked}`]![0]! + 5)
  await move()
  await paul('POST', `/confirm/${gone}/deny`)
  const urgent = await ask({ action: 'urgent', timeout_seconds: 60 })
  await passUntil(async () => {
    await move()
    return (await item(list, urgent).isVisible()) && (await list.title()).startsWith('(3)')
  })
  t.match(await item(list, gone).innerText(), 'Denied by paul')
  const { [`item-${urgent}`]: place, ...others } = await places(list)
  t.same(others, before)
  t.ok(place![0]! > before[`item-${late}`]![0]!, 'what comes is behind, whenever its deadline is')
  t.equal(await list.locator('#summary a').innerText(), '1 new at the end.')

  await passUntil(async () => (await item(list, gone).count()) === 0)
  t.same(
    Object.keys(await places(list)),
    [`item-${urgent}`, `item-${looked}`, `item-${late}`],
    'once the pointer lies still it is put in order',
  )
  t.ok(await ended(list, gone).isVisible())

  // The same for who comes by keyboard.
  await item(list, looked).getByRole('link').focus()
  const still = await places(list)
  await list.keyboard.press('Shift')
  await paul('POST', `/confirm/${urgent}/deny`)
  await passUntil(async () => {
    await list.keyboard.press('Shift')
    return (await item(list, urgent).innerText()).includes('Denied by paul')
  })
  t.same(await places(list), still)
  t.equal(await list.evaluate('document.activeElement.textContent'), 'looked_at')
})

browserTest('who is signed out elsewhere is led to signing in, and sees nothing more', async (t) => {
  const { open, olga, service, ask, passUntil } = await setUp(t)
  const list = await open(olga)
  await list.getByText('This list keeps itself up to date.').waitFor()
  await passUntil(async () => service.countListeners().one === 1)
  const other = await list.context().newPage()
  await other.goto(list.url())
  await other.getByRole('button', { name: 'Sign out' }).click()
  await other.getByLabel(/key/i).waitFor()
  await ask({ action: 'secret' })
  await passUntil(async () => new URL(list.url()).pathname === '/login')
  t.notMatch(await list.locator('body').innerText(), 'secret')
})
