// The list's scripts in a real browser: what they tell where nobody looks, and what they ask of the server.
import type { Browser, BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Confirmation } from '../../src/core/model.js'
import { listPage, type ListPage } from '../../src/web/list-page.js'
import { has } from '../needs.js'
import { until } from '../support.js'
import { browserTest, launch, serve, type Site } from './browser.js'
import { askedAt, example, listOf, resolved } from './examples.js'

let browser: Browser
let site: Site
t.before(async () => {
  if (!has('Chromium')) return
  site = await serve()
  browser = await launch()
})
t.teardown(async () => {
  await browser?.close()
  await site?.close()
})

const waiting = (id: string, fields = {}): Confirmation => ({ ...example(fields), id })

/** A list that changes when the test says so, and the questions about it that are held. */
function live(path: string, confirmations: Confirmation[] = []) {
  const held: (() => void)[] = []
  let version = 1
  let view: Partial<ListPage> = {}
  const mark = () => String(version)
  site.pages.set(path, () =>
    listPage(listOf(confirmations, { follow: { url: `${path}/state`, mark: mark() }, ...view })),
  )
  site.pages.set(`${path}/state`, async () => {
    const { searchParams } = new URL(site.gets.at(-1)!, site.url)
    const isHeld = searchParams.get('mark') === mark() && searchParams.get('wait') !== '0'
    if (isHeld) await new Promise<void>((resolve) => held.push(resolve))
    return JSON.stringify({ mark: mark(), count: confirmations.length })
  })
  const answer = () => held.splice(0).forEach((go) => go())
  return {
    held,
    async change(next: Confirmation[], more: Partial<ListPage> = {}) {
      await until(() => held.length > 0)
      confirmations = next
      view = more
      version += 1
      answer()
    },
    async end(context: BrowserContext) {
      for (const page of context.pages()) await page.goto('about:blank')
      answer()
    },
  }
}

/** Plays what a browser without a person cannot do, and keeps what was asked of it. */
function playBrowser(): void {
  const w = globalThis as any
  // Where there is no page, there is nothing to play.
  if (w.location.protocol !== 'http:') return
  w.told = []
  w.asked = 0
  w.tones = 0
  w.Notification = class {
    static permission = w.localStorage.getItem('played') ?? 'default'
    static async requestPermission() {
      w.asked += 1
      this.permission = w.answer ?? 'granted'
      w.localStorage.setItem('played', this.permission)
      return this.permission
    }
    onclick: (() => void) | null = null
    constructor(title: string, options: { body: string; tag: string }) {
      w.told.push({ title, body: options.body, tag: options.tag, played: this })
    }
    close() {}
  }
  const start = w.OscillatorNode.prototype.start
  w.OscillatorNode.prototype.start = function (when: number) {
    w.tones += 1
    start.call(this, when)
  }
}

async function open(t: Test, path: string, context?: BrowserContext): Promise<Page> {
  const inside = context ?? (await browser.newContext())
  if (context === undefined) {
    t.teardown(() => inside.close())
    await inside.addInitScript(playBrowser)
  }
  const page = await inside.newPage()
  page.on('pageerror', (error) => t.fail(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') t.fail(message.text())
  })
  await page.goto(site.url + path)
  return page
}

/** As if the tab was left, or come back to. */
const turn = (page: Page, isHidden: boolean) =>
  page.evaluate((value) => {
    const { document, Event } = globalThis as any
    Object.defineProperty(document, 'hidden', { value, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)

const told = (page: Page) =>
  page.evaluate(() => (globalThis as any).told.map(({ title, body }: any) => [title, body])) as Promise<string[][]>

browserTest('sound and notification are off at first, switched on by pressing, and remembered', async (t) => {
  const list = live('/alerts')
  const page = await open(t, '/alerts')
  const sound = page.getByRole('checkbox', { name: 'Sound' })
  const notification = page.getByRole('checkbox', { name: 'Notification' })
  t.same([await sound.isChecked(), await notification.isChecked()], [false, false])
  await turn(page, true)
  await list.change([waiting('a')])
  await page.getByText('send_newsletter').waitFor()
  t.same([await told(page), await page.evaluate('tones'), await page.evaluate('asked')], [[], 0, 0])

  await turn(page, false)
  await sound.check()
  await until(async () => (await page.evaluate('tones')) === 2)
  await page.evaluate('globalThis.answer = "denied"')
  await notification.click()
  await page.getByText('The browser has not allowed notifications.').waitFor()
  t.equal(await notification.isChecked(), false)
  await page.evaluate('globalThis.answer = "granted"')
  await notification.check()
  await until(async () => (await page.evaluate('asked')) === 2)
  await page.reload()
  t.same([await sound.isChecked(), await notification.isChecked()], [true, true])
  t.equal(await page.evaluate('asked'), 0, 'nobody is asked again')
  await list.end(page.context())
})

browserTest('a notification says in quotes who asks for what, once, and leads to the list', async (t) => {
  const list = live('/told', [waiting('a')])
  const page = await open(t, '/told')
  await page.getByRole('checkbox', { name: 'Notification' }).check()
  await turn(page, true)
  const nasty = waiting('b', { action: 'pay"\u202e', requester: 'root\n' })
  await list.change([waiting('a'), nasty])
  await until(async () => (await told(page)).length === 1)
  t.same(await told(page), [[String.raw`Waiting: "pay\"\u{202e}"`, String.raw`Asked by "root\n".`]])
  // Another vote, or one that ended, is no reason to call anybody.
  await list.change([{ ...waiting('a'), version: 2 }, nasty])
  await list.change([nasty])
  await list.change([nasty, waiting('c', { action: 'one' }), waiting('d', { action: 'two' })])
  await until(async () => (await told(page)).length === 2)
  t.same((await told(page))[1], ['2 new requests wait', '"one"\n"two"'])
  const missed = { ...resolved(waiting('e', { action: 'late' }), 'expired', 'x') }
  const at = { ...missed.resolution, at: Date.UTC(2026, 2, 12, 14, 2, 10) }
  await list.change([nasty], { ended: [{ confirmation: { ...missed, resolution: at }, url: '/told' }] })
  await until(async () => (await told(page)).length === 3)
  t.same((await told(page))[2], ['Expired before anybody decided', '"late"'])
  await page.evaluate(() => {
    const w = globalThis as any
    w.focus = () => (w.isFocused = true)
    w.told[0].played.onclick()
  })
  t.equal(await page.evaluate('isFocused'), true)
  t.equal(new URL(page.url()).pathname, '/told', 'which is all that it does')
  await list.end(page.context())
})

browserTest('of all the lists in a browser one is held and tells the others, seen or not', async (t) => {
  const list = live('/tabs')
  const first = await open(t, '/tabs')
  const pages = [first, await open(t, '/tabs', first.context()), await open(t, '/tabs', first.context())]
  const questions = (wait: number) =>
    site.gets.filter((url) => new RegExp(`^/tabs/state.*wait=${wait}$`).test(url)).length
  await until(() => questions(0) === 3)
  t.equal(questions(60), 1)
  await turn(first, true)
  await turn(pages[1]!, true)
  await list.change([waiting('a')])
  const areTold = async (title: string) =>
    (await Promise.all(pages.map((page) => page.title()))).every((one) => one === title)
  await until(() => areTold('(1) Waiting · Holdpoint'))
  await until(() => questions(60) === 2)
  // Whichever of them led, another does when it is gone.
  await pages.shift()!.close()
  await list.change([waiting('a'), waiting('b')])
  await until(() => areTold('(2) Waiting · Holdpoint'))
  await list.end(first.context())
})

browserTest('a press right after the list has moved opens nothing, and a later one does', async (t) => {
  const later = waiting('later', { timeoutSeconds: 3600 })
  const list = live('/press', [later])
  site.pages.set('/c/1', '<h1>Opened</h1>')
  const page = await openStill(t, '/press')
  const sooner = page.locator('#item-sooner a')
  await list.change([waiting('sooner', { action: 'sooner', timeoutSeconds: 60 }), later])
  await sooner.waitFor()
  await sooner.click()
  t.equal(new URL(page.url()).pathname, '/press', 'it may be meant for what stood there before')
  await page.clock.runFor(600)
  await sooner.click()
  await page.getByText('Opened').waitFor()
  await list.end(page.context())
})

/** A list at a time that only the test lets pass. */
async function openStill(t: Test, path: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } })
  t.teardown(() => context.close())
  const page = await context.newPage()
  await page.clock.install({ time: 0 })
  await page.goto(site.url + path)
  await page.clock.pauseAt(60_000)
  return page
}

const orderOn = (page: Page) =>
  page.locator('.pending-list > li').evaluateAll((items) => items.map(({ id }: any) => id.slice('item-'.length)))

browserTest('a pointer that lies still on the list does not keep what is urgent at its end', async (t) => {
  const [later, other] = [waiting('later', { timeoutSeconds: 3600 }), waiting('other', { timeoutSeconds: 3000 })]
  const list = live('/resting', [other, later])
  const page = await openStill(t, '/resting')
  await page.locator('#item-later').hover()
  const short = waiting('short', { timeoutSeconds: 30 })
  await list.change([short, other, later])
  await page.locator('#item-short').waitFor()
  t.same(await orderOn(page), ['other', 'later', 'short'])
  t.equal(await page.locator('#summary a').innerText(), '1 new at the end.')
  await page.clock.runFor(3000)
  t.same(await orderOn(page), ['other', 'later', 'short'], 'it was moved just now')

  await page.clock.runFor(3000)
  t.same(await orderOn(page), ['short', 'other', 'later'])
  t.equal(await page.locator('#summary a').count(), 0)
  // What stands under the pointer is another by now, which nobody has moved.
  const urgent = waiting('urgent', { timeoutSeconds: 20 })
  await list.change([urgent, short, other, later])
  await page.locator('#item-urgent').waitFor()
  t.same(await orderOn(page), ['urgent', 'short', 'other', 'later'], 'at once, then')
  await list.end(page.context())
})

browserTest('what came and ended while the list was in use is not counted as new', async (t) => {
  const later = waiting('later', { timeoutSeconds: 3600 })
  const list = live('/over', [later])
  const page = await openStill(t, '/over')
  await page.locator('#item-later').hover()
  const short = waiting('short', { timeoutSeconds: 200 })
  await list.change([short, later])
  await page.getByText('1 new at the end.').waitFor()
  const ended = [{ confirmation: resolved(short, 'expired', 'x'), url: '/over' }]
  await list.change([later], { ended, now: askedAt + 95_000 })
  await page.locator('#item-short').getByText('nobody decided in time').waitFor()
  t.notMatch(await page.locator('#summary').innerText(), 'new at the end')
  await page.clock.runFor(6000)
  t.same(await orderOn(page), ['later'])
  t.ok(await page.locator('#ended-short').isVisible())
  t.equal(await page.locator('#summary').innerText(), '1 waits, next deadline first. 1 expired lately.')
  await page.clock.runFor(600_000)
  t.equal(await page.locator('#summary').innerText(), '1 waits, next deadline first.', 'for ten minutes')
  await list.end(page.context())
})

browserTest('what has the focus keeps it and its place when the list is put in order', async (t) => {
  const later = Array.from({ length: 5 }, (_, n) => waiting(`later-${n}`, { timeoutSeconds: 3000 + n }))
  const list = live('/focus', later)
  const page = await openStill(t, '/focus')
  const focused = page.locator('#item-later-1 a')
  await focused.focus()
  await page.keyboard.press('Shift')
  const before = (await focused.boundingBox())!.y
  const many = Array.from({ length: 5 }, (_, n) => waiting(`new-${n}`, { timeoutSeconds: 30 + n }))
  await list.change([...many, ...later])
  await page.locator('#item-new-0').waitFor()
  t.equal((await orderOn(page)).indexOf('later-1'), 1)
  await page.clock.runFor(6000)
  t.equal((await orderOn(page)).indexOf('later-1'), 6)
  t.ok(Math.abs((await focused.boundingBox())!.y - before) < 1, 'but for what is less than a pixel')
  t.ok(await focused.evaluate((one) => one === (globalThis as any).document.activeElement))

  await page.clock.runFor(6000)
  const ended = [{ confirmation: resolved(later[1]!, 'denied', 'paul'), url: '/focus' }]
  await list.change([...many, ...later.toSpliced(1, 1)], { ended })
  await page.locator('#ended-later-1').waitFor()
  t.equal(await page.evaluate('document.activeElement.closest("li").id'), 'ended-later-1', 'also where it has ended')
  await list.end(page.context())
})

browserTest('without JavaScript the list says as of when it is, and offers no switch', async (t) => {
  live('/plain', [waiting('a')])
  const context = await browser.newContext({ javaScriptEnabled: false })
  t.teardown(() => context.close())
  const page = await context.newPage()
  await page.goto(`${site.url}/plain`)
  t.equal(await page.locator('#freshness').innerText(), 'As of 2026-03-12 14:02:10 UTC. Reload to see what is new.')
  t.equal(await page.getByRole('checkbox').count(), 0)
  t.equal(await page.title(), '(1) Waiting · Holdpoint')
})
