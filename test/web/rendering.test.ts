// The pages in a real browser: seen by axe, used by keyboard and without JavaScript, attacked by what they show.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Confirmation } from '../../src/core/model.js'
import { confirmationPage, type ConfirmationPage } from '../../src/web/confirmation-page.js'
import { listPage } from '../../src/web/list-page.js'
import { messagePage } from '../../src/web/message.js'
import { signInPage } from '../../src/web/sign-in-page.js'
import { has } from '../needs.js'
import { until } from '../support.js'
import { browserTest, launch, serve, type Site } from './browser.js'
import { askedAt, denied, deploy, example, formOf, hostile, listOf, pageOf, resolved } from './examples.js'
import { person } from '../actors.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const phone = { width: 390, height: 844 }
const desktop = { width: 1280, height: 800 }

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

const frame = { isOpen: true, viewer: 'maria', signOut: { action: '/logout', csrf: 'token' } }
const long = example({
  action: 'x'.repeat(1000),
  description: `${'W'.repeat(3000)} ${'\u0e33'.repeat(500)}`,
  details: JSON.stringify({ ['k'.repeat(500)]: { ['n'.repeat(300)]: ['v'.repeat(4000)] }, deep: nest(62) }),
  requester: 'r'.repeat(1000),
  requestedAs: 'a'.repeat(1000),
  sessionKey: 's'.repeat(1000),
  callbackUrl: `https://example.com/${'u'.repeat(1000)}`,
})
function small(submission = {}, terms = {}): Confirmation {
  const details = JSON.stringify({ list: 'news', count: 1200, dry_run: false })
  const asked = { action: 'send_mail', description: 'Send the newsletter', details, requester: 'agent', sessionKey: '' }
  return example({ ...asked, ...submission }, terms)
}
const warned = { ...small({ sessionKey: 'march-campaign' }), caution: { failures: 1000, repeats: 1000 } }
const openForm = {
  isOpen: true,
  viewer: null,
  signOut: null,
  decision: { form: formOf({ by: { kind: 'anyone', name: 'page' } }) },
} as const
const pages: Record<string, string> = {
  '/pending': confirmationPage(pageOf(deploy)),
  '/typed': confirmationPage(
    pageOf(example({}, { mustType: true, reasonFor: ['approve', 'deny'] }), {
      isOpen: true,
      message: { kind: 'problem', text: 'To approve, type the name of the action.', field: 'typed' },
    }),
  ),
  '/always': confirmationPage(
    pageOf(example(), { decision: { form: formOf({ verdict: 'approve_always', whom: 'requester' }) } }),
  ),
  '/denied': confirmationPage(pageOf(denied, { message: { kind: 'done', text: 'Your decision is recorded.' } })),
  '/late': confirmationPage(
    pageOf(denied, { message: { kind: 'problem', text: 'Too late.' }, draft: { reason: 'I was', typed: 'pay_' } }),
  ),
  '/next': confirmationPage(
    pageOf(denied, {
      next: { action: hostile.action, requester: `${hostile.requester} ${'r'.repeat(900)}`, url: '/list' },
    }),
  ),
  '/last': confirmationPage(pageOf(deploy, { decision: { why: 'You have decided this already.' }, next: 'nothing' })),
  '/open': confirmationPage(pageOf(small(), openForm)),
  '/warned': confirmationPage(pageOf(warned)),
  '/hostile': confirmationPage(pageOf(hostile, { isOpen: true })),
  '/long': confirmationPage(pageOf(long, { viewer: 'v'.repeat(200) })),
  '/list': listPage(
    listOf([deploy, { ...hostile, id: 'hostile' }, { ...long, id: 'long' }, { ...warned, id: 'warned' }], {
      ended: [denied, resolved({ ...long, id: 'ended' }, 'expired', 'p'.repeat(300))].map((confirmation) => ({
        confirmation,
        url: '/denied',
      })),
      moreUrl: '/list',
      startUrl: '/list',
      ...frame,
    }),
  ),
  '/empty': listPage(listOf([], frame)),
  '/login': signInPage({ csrf: 'token', next: '/list', problem: 'That key is not known.', isOpen: true }),
  '/message': messagePage({ ...frame, title: 'Not found', text: 'There is no such confirmation.' }),
}

function nest(levels: number): unknown {
  return levels === 0 ? 'bottom' : { inner: nest(levels - 1) }
}

/** A page of its own browser profile. Whatever the browser complains about is a failure. */
async function open(t: Test, path: string, options: BrowserContextOptions = {}): Promise<Page> {
  for (const [one, text] of Object.entries(pages)) if (!site.pages.has(one)) site.pages.set(one, text)
  const context = await browser.newContext({ viewport: desktop, ...options })
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') t.fail(`${path}: ${message.text()}`)
  })
  page.on('pageerror', (error) => t.fail(`${path}: ${error.message}`))
  page.on('dialog', (dialog) => {
    t.fail(`${path} opened a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(site.url + path)
  return page
}

/** A page that can be decided on and that changes when the test says so. */
function live(path: string, confirmation: Confirmation, more: Partial<ConfirmationPage> = {}) {
  const shown = { confirmation, now: askedAt + 128_000, loads: 0 }
  site.pages.set(path, () => {
    shown.loads += 1
    const form = shown.confirmation.resolution === null ? { form: formOf({ action: path }) } : null
    return confirmationPage(pageOf(shown.confirmation, { decision: form, now: shown.now, ...more }))
  })
  return shown
}

/** The form that was sent there, once it has arrived. */
async function posted(path: string): Promise<Site['posts'][number]> {
  const sent = () => site.posts.find((one) => one.path === path)
  await until(sent)
  return sent()!
}

browserTest('axe finds nothing serious in any page, light on a phone or dark on a desktop', async (t) => {
  // Without motion, so that no colour is on its way from one to the other.
  const page = await open(t, '/pending', { bypassCSP: true, reducedMotion: 'reduce' })
  for (const path of Object.keys(pages)) {
    await page.goto(site.url + path)
    await page.evaluate(axe)
    for (const [viewport, colorScheme] of [
      [phone, 'light'],
      [desktop, 'dark'],
    ] as const) {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme })
      const violations = await page.evaluate(async () => {
        const { violations } = await (globalThis as any).axe.run({ resultTypes: ['violations'] })
        return violations.map(({ id, impact, nodes }: any) => ({ id, impact, at: nodes.map((one: any) => one.html) }))
      })
      t.same(
        violations.filter(({ impact }: any) => impact === 'serious' || impact === 'critical'),
        [],
        `${path}, ${colorScheme}, ${viewport.width} pixels wide`,
      )
    }
  }
})

browserTest('nothing is wider than a phone, however long the words', async (t) => {
  const page = await open(t, '/pending', { viewport: phone })
  for (const path of Object.keys(pages)) {
    await page.goto(site.url + path)
    const { scroll, width, widest } = await page.evaluate(() => {
      const { documentElement, body } = (globalThis as any).document
      const right = (element: any) => element.getBoundingClientRect().right as number
      return {
        scroll: documentElement.scrollWidth as number,
        width: documentElement.clientWidth as number,
        widest: Math.max(...[...body.querySelectorAll('main *')].map(right)),
      }
    })
    t.equal(scroll, width, path)
    t.ok(widest <= width, `${path}: ${widest} of ${width}`)
  }
})

browserTest(
  'what stands above the list is whole on a phone, and whatever it says, the list does not move',
  async (t) => {
    for (const width of [360, 390, 700]) {
      const page = await open(t, '/list', { viewport: { width, height: 800 } })
      const top = () => page.locator('#list').evaluate((list: any) => list.getBoundingClientRect().top)
      const before = await top()
      for (const [id, text] of [
        ['summary', 'Nothing to decide.'],
        ['freshness', 'This list keeps itself up to date.'],
        ['summary', '123 wait, next deadline first. 12 new at the end. Several expired lately.'],
        ['freshness', 'No connection for 59 minutes; trying again.'],
      ]) {
        const line = page.locator(`#${id}`)
        await line.evaluate((one: any, text) => (one.textContent = text), text)
        t.ok(await line.evaluate((one: any) => one.scrollWidth <= one.clientWidth), `${text} is not cut at ${width}`)
        t.equal(await top(), before, `${text} moves nothing at ${width}`)
      }
    }
  },
)

browserTest('what can be touched is at least 44 pixels high', async (t) => {
  const page = await open(t, '/typed', { viewport: phone })
  for (const target of await page.locator('label.choice, button, input[type=text], textarea, nav a').all()) {
    const box = (await target.boundingBox())!
    t.ok(box.height >= 44, `${await target.evaluate((element: any) => element.outerHTML.slice(0, 60))}: ${box.height}`)
  }
})

browserTest('a phone says who one is, in words', async (t) => {
  const page = await open(t, '/pending', { viewport: phone })
  const words = (await page.getByText('You are').boundingBox())!
  t.ok(words.width > 40 && words.height > 10, 'that are seen')
  t.ok((await page.locator('.bar').boundingBox())!.height < 64, 'on one bar')
})

browserTest('nothing that an agent wrote lies over the form', async (t) => {
  const page = await open(t, '/hostile', { viewport: phone })
  const submit = page.getByRole('button', { name: 'Send decision' })
  const marks = await page.evaluate(() => {
    const { document, getComputedStyle } = globalThis as any
    return [...document.querySelectorAll('bdi')].every((element: any) => {
      for (let one = element.parentElement; one !== null; one = one.parentElement) {
        // Where it can be scrolled sideways, older browsers make one of the other; both cut it off.
        if (['clip', 'hidden'].includes(getComputedStyle(one).overflowY)) return true
      }
      return false
    })
  })
  t.ok(marks, 'marks above and below letters are cut off at the edge of their place')
  await submit.click({ trial: true })
  for (const radio of await page.getByRole('radio').all()) await radio.click({ trial: true })
})

browserTest('a small request and the form for it are one screen and a half of a phone', async (t) => {
  const risky = { rule: 'high risk', risk: 'high', mayWhitelist: false, needsDigest: true } as const
  const cases: Record<string, ConfirmationPage> = {
    'signed in': pageOf(small()),
    'in a session': pageOf(small({ sessionKey: 'march-campaign' })),
    'of high risk, on behalf of somebody': pageOf(small({ onBehalfOf: 'Ann' }, risky)),
    'open, the name known': pageOf(small(), openForm),
  }
  for (const [name, view] of Object.entries(cases)) {
    site.pages.set('/small', confirmationPage(view))
    const page = await open(t, '/message', { viewport: phone, timezoneId: 'Europe/Berlin' })
    await page.evaluate("localStorage.setItem('holdpoint.name', 'Alice')")
    await page.goto(`${site.url}/small`)
    const end = await page.evaluate(
      () => (globalThis as any).document.getElementById('send').getBoundingClientRect().bottom as number,
    )
    t.ok(end <= 1.5 * phone.height, `${name}: ${Math.round(end)} pixels`)
  }
})

browserTest('a warning is seen without scrolling, and makes a row of the list little taller', async (t) => {
  const page = await open(t, '/warned', { viewport: phone })
  for (const one of await page.locator('.notice.caution p').all()) {
    const { y, height } = (await one.boundingBox())!
    t.ok(y + height < phone.height / 2, `it ends at ${Math.round(y + height)} pixels`)
  }
  site.pages.set(
    '/rows',
    listPage(
      listOf([
        { ...warned, id: 'odd' },
        { ...warned, id: 'usual', caution: null },
      ]),
    ),
  )
  for (const viewport of [phone, desktop]) {
    await page.setViewportSize(viewport)
    await page.goto(`${site.url}/rows`)
    const height = async (id: string) => (await page.locator(`#item-${id}`).boundingBox())!.height
    const more = (await height('odd')) - (await height('usual'))
    t.ok(more <= 2 * 26, `two lines at most: ${more} pixels at ${viewport.width}`)
  }
})

/** Whether it is seen: in the window, and with nothing over it. */
function isSeen(page: Page, selector: string): Promise<boolean> {
  return page.locator(selector).evaluate((element: any) => {
    const { left, top, width, height } = element.getBoundingClientRect()
    return element.contains(
      (globalThis as any).document.elementFromPoint(left + width / 2, top + height / 2),
    ) as boolean
  })
}

browserTest('a button leads to the decision from anywhere, and is behind the form where that is', async (t) => {
  const nested = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`key ${index}`, { values: [index] }]))
  const callbackUrl = `https://example.com/${'u'.repeat(2000)}`
  site.pages.set('/far', confirmationPage(pageOf(example({ details: JSON.stringify(nested), callbackUrl }))))
  const [above, below] = ['.request > .to-decision a', '.facts > .to-decision a']
  for (const javaScriptEnabled of [true, false]) {
    const page = await open(t, '/far', { viewport: phone, javaScriptEnabled })
    t.ok(await isSeen(page, above), 'at the top')
    await page.evaluate('scrollTo(0, 900)')
    t.ok(await isSeen(page, above), 'in the middle')
    await page.locator(above).click()
    await until(() => isSeen(page, '#decision h2'))
    t.notOk(await isSeen(page, above), 'the form is over it')
    for (const radio of await page.getByRole('radio').all())
      if (await radio.isVisible()) await radio.click({ trial: true })
    await page.locator('.facts summary').click()
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    t.ok((await page.locator('#decision').boundingBox())!.y < -phone.height)
    t.ok(await isSeen(page, below), 'at the end')
    await page.locator(below).click()
    await until(() => isSeen(page, '#decision h2'))

    await page.goto(`${site.url}/far`)
    let [folds, seen] = [0, 0]
    for (let tabs = 0; tabs < 65; tabs++) {
      await page.keyboard.press('Tab')
      if ((await page.locator('.json summary:focus').count()) === 0) continue
      folds += 1
      if (await isSeen(page, 'summary:focus')) seen += 1
    }
    t.same([folds, seen], [60, 60], 'it hides nothing that the keyboard comes to')
  }
})

browserTest('whatever is approved is seen before the decision, and only the rest is folded', async (t) => {
  const asked = example(
    { requestedAs: 'Jonas', onBehalfOf: 'Ann', callbackUrl: 'https://example.com/done' },
    { approvals: 2, deciders: ['maria', 'tom'], needsDigest: true, rule: 'two' },
  )
  site.pages.set('/folded', confirmationPage(pageOf(asked)))
  const page = await open(t, '/folded')
  const y = async (text: string) => (await page.getByText(text, { exact: true }).first().boundingBox())?.y ?? null
  const form = (await page.locator('#decision-form').boundingBox())!.y
  for (const text of [
    'send_newsletter',
    'newsletter-agent',
    'Jonas',
    'Ann',
    'march-campaign',
    '4812',
    'tom',
    '2, from different people',
  ]) {
    const at = await y(text)
    t.ok(at !== null && at < form, text)
  }
  t.match(await page.locator('.subject').innerText(), /with the digest [0-9a-f]{16}, which whoever acts must present/)
  const rest = page.getByText('https://example.com/done')
  t.equal(await rest.isVisible(), false)
  await page.getByText('More about this request').click()
  for (const one of [rest, page.getByText(asked.id), page.locator('dd .digest')]) t.ok(await one.isVisible())
})

browserTest("times are in the reader's zone, with UTC beside, also when the page has changed", async (t) => {
  const zones: [string, string, string][] = [
    [
      'Europe/Berlin',
      '2026-03-12 15:17:10 Europe/Berlin (14:17:10 UTC)',
      '2026-03-12 15:03:45 Europe/Berlin (14:03:45 UTC)',
    ],
    [
      'Pacific/Auckland',
      '2026-03-13 03:17:10 Pacific/Auckland (2026-03-12 14:17:10 UTC)',
      '2026-03-13 03:03:45 Pacific/Auckland',
    ],
    ['Europe/London', '2026-03-12 14:17:10 UTC', '2026-03-12 14:03:45 UTC'],
    ['UTC', '2026-03-12 14:17:10 UTC', '2026-03-12 14:03:45 UTC'],
  ]
  for (const [timezoneId, deadline, deniedAt] of zones) {
    const shown = live('/zone', example(), { stateUrl: '/zone/state' })
    const state = bell('/zone/state', () => shown.confirmation.version)
    const page = await open(t, '/zone', { timezoneId, locale: 'ar-EG' })
    t.equal(await page.locator('.deadline time').innerText(), deadline)
    t.equal(await page.locator('.deadline time').getAttribute('datetime'), '2026-03-12T14:17:10.000Z')
    shown.confirmation = { ...denied, version: 9 }
    await state.ring()
    await page.locator('.status').waitFor()
    t.match(await page.locator('.status').innerText(), deniedAt)
    await state.end(page)
  }
  const plain = await open(t, '/pending', { timezoneId: 'Europe/Berlin', javaScriptEnabled: false })
  t.match(await plain.locator('.deadline').innerText(), 'until 2026-03-12 14:32:10 UTC')
})

browserTest('a name that is known takes one line, is sent, and can be changed', async (t) => {
  const form = formOf({ action: '/named', by: { kind: 'anyone', name: 'page' } })
  const shown = live('/named', small(), { ...openForm, decision: { form }, stateUrl: '/named/state' })
  const state = bell('/named/state', () => shown.confirmation.version)
  const page = await open(t, '/named', { viewport: phone })
  const field = page.getByRole('textbox', { name: 'Your name' })
  await field.fill('Alice <b>')
  t.ok(await field.isVisible(), 'it stays as long as it is being written')
  shown.confirmation = { ...small(), version: 2 }
  await state.ring()
  await page.locator('#decision-form .notice').waitFor()
  t.equal(await field.inputValue(), 'Alice <b>', 'also when the page changes')

  await page.reload()
  const line = page.getByText('Deciding as Alice <b>')
  t.ok(await line.isVisible())
  t.equal(await field.count(), 0)
  const reason = page.getByRole('textbox', { name: 'Reason' })
  await reason.fill('because')
  const before = Math.round((await reason.boundingBox())!.y)
  shown.confirmation = { ...small(), version: 3 }
  await state.ring()
  await page.locator('#decision-form .notice').waitFor()
  t.ok(await line.isVisible())
  t.equal(Math.round((await reason.boundingBox())!.y), before, 'and nothing has moved')
  await page.getByRole('button', { name: 'Change' }).click()
  t.equal(await page.evaluate('document.activeElement.id'), 'your-name')
  await page.keyboard.type('Bob')
  await page.getByRole('radio', { name: 'Deny' }).check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  t.equal((await posted('/named')).fields.get('name'), 'Bob')

  const wrong = { kind: 'problem', text: 'Not this name.', field: 'your-name' } as const
  const refused = { form: { ...form, name: 'system:x' } }
  site.pages.set('/misnamed', confirmationPage(pageOf(small(), { ...openForm, decision: refused, message: wrong })))
  await page.evaluate("localStorage.setItem('holdpoint.name', 'system:x')")
  await page.goto(`${site.url}/misnamed`)
  t.ok(await field.isVisible(), 'one that was refused is asked for')
  t.equal(await page.evaluate('document.activeElement.id'), 'your-name')
  t.equal(await page.evaluate("localStorage.getItem('holdpoint.name')"), null, 'and is not remembered')
  await state.end(page)
})

browserTest('the keyboard alone reaches the form and sends it', async (t) => {
  live('/keyboard', example({}, { reasonFor: ['deny'] }))
  const page = await open(t, '/keyboard')
  const focused = () =>
    page.evaluate(() => (globalThis as any).document.activeElement.outerHTML.slice(0, 200) as string)
  await page.keyboard.press('Tab')
  t.match(await focused(), 'Skip to the decision')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  t.match(await focused(), 'type="radio"')
  const outline = await page.evaluate(() => {
    const { document, getComputedStyle } = globalThis as any
    return getComputedStyle(document.activeElement.closest('label')).outlineStyle as string
  })
  t.equal(outline, 'solid', 'the focus is seen')
  // From the first one upwards is the last one: deny.
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Tab')
  t.match(await focused(), '<textarea')
  await page.keyboard.type('not today')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const { fields } = await posted('/keyboard')
  t.same(Object.fromEntries(fields), { csrf: 'token', verdict: 'deny', reason: 'not today' })
})

browserTest('a screen reader meets names, groups and roles', async (t) => {
  const page = await open(t, '/typed')
  await page.getByRole('group', { name: 'What do you decide?' }).waitFor()
  for (const name of ['Approve', 'Approve for this session', 'Approve always', 'Deny']) {
    const radio = page.getByRole('radio', { name, exact: true })
    t.equal(await radio.isChecked(), false, name)
  }
  await page.getByRole('textbox', { name: 'To approve, type the name of the action' }).waitFor()
  await page.getByRole('textbox', { name: 'Reason (required)' }).waitFor()
  const wrong = page.locator('[aria-invalid=true]')
  t.equal(await wrong.getAttribute('aria-describedby'), 'typed-problem typed-hint')
  t.match(await page.locator('#typed-problem').innerText(), 'To approve, type the name of the action.')
  t.equal(await page.getByRole('timer').count(), 2)
  t.equal(await page.getByRole('main').count(), 1)
  t.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'send_newsletter')
})

browserTest('without JavaScript the decision is read and sent', async (t) => {
  live('/plain', deploy)
  const page = await open(t, '/plain', { javaScriptEnabled: false })
  t.match(await page.innerText('body'), /27 minutes 52 seconds left/)
  t.match(await page.innerText('body'), /does not renew itself/)
  await page.getByText('object of 3').first().click()
  t.equal(await page.getByText('4.17.3').isVisible(), false, 'details fold')
  await page.getByRole('radio', { name: 'Approve', exact: true }).check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  const { fields, headers } = await posted('/plain')
  t.same(Object.fromEntries(fields), { csrf: 'token', verdict: 'approve', reason: '' })
  // A browser that is to send no referrer does not name the origin of a form either.
  t.match(headers, { 'sec-fetch-site': 'same-origin', origin: 'null' })
  t.equal(headers.referer, undefined)
})

browserTest('a form that is sent as it stands is not sent at all', async (t) => {
  live('/untouched', example())
  const page = await open(t, '/untouched')
  await page.getByRole('button', { name: 'Send decision' }).click()
  await page.waitForTimeout(100)
  t.notOk(site.posts.some(({ path }) => path === '/untouched'))
  // Whoever ignores that has chosen no verdict.
  await page.evaluate(() => (globalThis as any).document.getElementById('decision-form').submit())
  t.equal((await posted('/untouched')).fields.get('verdict'), null)
})

browserTest('the browser asks for what the chosen verdict needs', async (t) => {
  live('/needs', example({}, { reasonFor: ['deny'], mustType: true }))
  const page = await open(t, '/needs')
  const needed = async () => [
    await page.getByRole('textbox', { name: 'Reason' }).evaluate((element: any) => element.required as boolean),
    await page.getByRole('textbox', { name: 'To approve' }).evaluate((element: any) => element.required as boolean),
  ]
  t.same(await needed(), [false, false])
  await page.getByRole('radio', { name: 'Deny' }).check()
  t.same(await needed(), [true, false])
  await page.getByRole('radio', { name: 'Approve always' }).check()
  t.same(await needed(), [false, true])
})

browserTest('what belongs to always is asked with it and with nothing else, and its answers are sent', async (t) => {
  for (const javaScriptEnabled of [true, false]) {
    const path = `/asks-${javaScriptEnabled}`
    live(path, example())
    const page = await open(t, path, { javaScriptEnabled, viewport: phone })
    const question = page.getByRole('group', { name: 'Always: for how long?' })
    t.equal(await question.isVisible(), false)
    await page.getByRole('radio', { name: 'Approve always' }).check()
    t.ok(await question.isVisible())
    const answer = page.getByRole('radio', { name: 'A week' })
    if (javaScriptEnabled) {
      t.ok(await answer.evaluate((element: any) => element.required as boolean), 'the browser asks for an answer')
      await page.getByRole('button', { name: 'Send decision' }).click()
      await page.waitForTimeout(100)
      t.notOk(site.posts.some((one) => one.path === path))
    }
    await answer.check()
    await page.getByRole('radio', { name: 'Only when newsletter-agent asks' }).check()
    await page.getByRole('radio', { name: 'Only exactly these details' }).check()
    await page.getByRole('button', { name: 'Send decision' }).click()
    const { fields } = await posted(path)
    const sent = { verdict: 'approve_always', duration: 'week', whom: 'requester', details: 'exact' }
    t.same(Object.fromEntries(fields), { csrf: 'token', ...sent, reason: '' })
  }
  live('/not-asked', example())
  const page = await open(t, '/not-asked')
  await page.getByRole('radio', { name: 'Approve always' }).check()
  await page.getByRole('radio', { name: 'Deny' }).check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  t.equal((await posted('/not-asked')).fields.get('verdict'), 'deny', 'who denies is asked for nothing')
})

browserTest('hostile text runs nothing, in any place', async (t) => {
  for (const path of ['/hostile', '/list']) {
    const page = await open(t, path)
    // A moment for an image to fail to load.
    await page.waitForTimeout(200)
    t.equal(await page.evaluate(() => (globalThis as any).__pwned as unknown), undefined)
    t.equal(await page.locator('main img, main svg, main script, main iframe').count(), 0)
    t.ok((await page.locator('mark').count()) > 0)
  }
})

browserTest('an inline script would be refused', async (t) => {
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  const refused: string[] = []
  page.on('console', (message) => refused.push(message.text()))
  site.pages.set('/inline', pages['/pending']!.replace('<main', '<script>window.__pwned = 1</script><main'))
  await page.goto(`${site.url}/inline`)
  t.equal(await page.evaluate(() => (globalThis as any).__pwned as unknown), undefined)
  t.match(refused.join(), 'Content Security Policy')
})

browserTest('the time runs, by how much of it was left and not by the clock of this device', async (t) => {
  live('/time', example())
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  await page.clock.install({ time: new Date('1999-01-01T00:00:00Z') })
  await page.goto(`${site.url}/time`)
  const left = page.getByRole('timer').first()
  t.equal(await left.innerText(), '12 minutes 52 seconds left')
  await page.clock.runFor(12_000)
  t.equal(await left.innerText(), '12 minutes 40 seconds left')
  t.equal(await page.locator('#spoken').innerText(), '', 'nobody is interrupted')
  await page.clock.runFor(7 * 60_000 + 42_000)
  t.equal(await page.locator('#spoken').textContent(), '5 minutes left to decide.')
})

browserTest('when the time is over the page says so, and then what stands', async (t) => {
  const shown = live('/over', example())
  shown.now = askedAt + 897_000
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  await page.clock.install()
  await page.goto(`${site.url}/over`)
  await page.clock.runFor(3000)
  t.equal(await page.getByRole('timer').first().innerText(), 'The time is over')
  shown.confirmation = denied
  await page.clock.runFor(2000)
  await page.locator('.status').getByText('By paul.weber').waitFor()
})

/** Answers the question whether there is news once the test says so. */
function bell(path: string, version: () => number) {
  const rings: (() => void)[] = []
  site.pages.set(path, async () => {
    await new Promise<void>((resolve) => rings.push(resolve))
    return JSON.stringify({ version: version() })
  })
  return {
    async ring() {
      await until(() => rings.length > 0)
      for (const ring of rings.splice(0)) ring()
    },
    async end(page: Page) {
      await page.goto('about:blank')
      for (const ring of rings.splice(0)) ring()
    },
  }
}

browserTest('when somebody else was first the page shows it by itself, and keeps what was written', async (t) => {
  const shown = live('/watched', deploy, { stateUrl: '/watched/state?of=it' })
  const state = bell('/watched/state', () => shown.confirmation.version)
  const page = await open(t, '/watched')
  await page.getByRole('radio', { name: 'Approve', exact: true }).check()
  await page.getByRole('textbox', { name: 'Reason' }).fill('I was just <writing>')
  await state.ring()
  t.ok(site.gets.includes('/watched/state?of=it&version=2&wait=60'))
  t.equal(await page.locator('.notice').count(), 0, 'nothing is said while nothing has changed')

  const votes = [...deploy.votes, { ...deploy.votes[0]!, by: person('tom.okafor') }]
  shown.confirmation = { ...deploy, version: 3, votes }
  await state.ring()
  await page.getByText('tom.okafor').nth(2).waitFor()
  t.equal(await page.getByRole('textbox', { name: 'Reason' }).inputValue(), 'I was just <writing>')
  t.equal(await page.getByRole('radio', { name: 'Approve', exact: true }).isChecked(), false, 'to be chosen again')
  const changed = 'This page has changed. Look at it again, and choose your decision again.'
  t.equal(await page.locator('#decision-form .notice').innerText(), changed)
  t.equal(await page.locator('#spoken').textContent(), changed)

  shown.confirmation = { ...denied, version: 4 }
  await state.ring()
  await page.locator('.status').getByText('By paul.weber').waitFor()
  t.match(await page.locator('#spoken').textContent(), 'This page has changed. Denied: pay_invoice')
  t.match(await page.title(), /^Denied/)
  t.equal(await page.locator('.skip').getAttribute('href'), '#main', 'there is no form to skip to')
  t.equal(shown.loads, 3)
  await state.end(page)
})

browserTest('what is told above the form does not move the form under a finger', async (t) => {
  for (const [name, viewport, isScrolled] of [
    ['short', { width: 1000, height: 2400 }, false],
    ['top', { width: 1000, height: 1000 }, false],
    ['scrolled', phone, true],
  ] as const) {
    const path = `/told-${name}`
    const shown = live(path, small(), { stateUrl: `${path}/state` })
    const state = bell(`${path}/state`, () => shown.confirmation.version)
    const page = await open(t, path, { viewport })
    const choice = page.getByRole('radio', { name: 'Deny', exact: true })
    if (isScrolled) await choice.scrollIntoViewIfNeeded()
    const before = (await choice.boundingBox())!.y
    for (const version of [2, 3]) {
      shown.confirmation = { ...shown.confirmation, version }
      await state.ring()
      await page.locator(`[data-version="${version}"] #decision-form .notice`).waitFor()
      const moved = Math.abs((await choice.boundingBox())!.y - before)
      t.ok(moved < 2, `${name}, version ${version}: scrolling is by whole pixels`)
    }
    await state.end(page)
  }
})

browserTest(
  'when it ends while somebody decides, the outcome is where the form was, with what was written',
  async (t) => {
    const strict = example(
      { details: JSON.stringify({ lines: Array.from({ length: 60 }, (_, line) => line) }) },
      { mustType: true },
    )
    for (const [path, status] of [
      ['/ends', 'denied'],
      ['/lapses', 'expired'],
    ] as const) {
      const shown = live(path, strict, { stateUrl: `${path}/state` })
      const state = bell(`${path}/state`, () => shown.confirmation.version)
      const page = await open(t, path, { viewport: phone })
      await page.getByRole('radio', { name: 'Approve', exact: true }).check()
      await page.getByRole('textbox', { name: 'To approve' }).fill('send_news')
      const reason = page.getByRole('textbox', { name: 'Reason' })
      await reason.fill('I was just <writing>\nthis')
      for (let steps = 0; steps < 4; steps++) await page.keyboard.press('ArrowLeft')
      const before = Math.round((await reason.boundingBox())!.y)
      shown.confirmation = { ...resolved(strict, status, 'paul'), version: 9 }
      await state.ring()
      const outcome = page.locator('#decision .outcome')
      await outcome.waitFor()
      t.match(await outcome.innerText(), status === 'denied' ? /Denied\s+By paul/ : /Expired/)
      const box = (await outcome.boundingBox())!
      t.ok(box.y >= 0 && box.y + box.height <= phone.height, 'it is in sight')
      const kept = page.getByRole('textbox', { name: 'The reason you had written' })
      t.equal(await kept.inputValue(), 'I was just <writing>\nthis')
      t.equal(Math.round((await kept.boundingBox())!.y), before, 'what is looked at has not moved')
      t.equal(await page.evaluate('document.activeElement.id'), 'reason')
      t.equal(await page.evaluate('document.activeElement.selectionStart'), 'I was just <writing>\nthis'.length - 4)
      t.equal(await page.getByRole('textbox', { name: 'The name you had typed' }).inputValue(), 'send_news')
      await page.keyboard.type('x')
      t.equal(await kept.inputValue(), 'I was just <writing>\nthis', 'it is to be copied, not to be written on')
      await state.end(page)
    }
  },
)

browserTest('where nothing was written, the outcome alone takes the place of the form, and the focus', async (t) => {
  const lines = Array.from({ length: 60 }, (_, line) => line)
  const plain = example({ details: JSON.stringify({ lines }) })
  const shown = live('/unwritten', plain, { stateUrl: '/unwritten/state' })
  const state = bell('/unwritten/state', () => shown.confirmation.version)
  const page = await open(t, '/unwritten', { viewport: phone })
  await page.locator('#send').scrollIntoViewIfNeeded()
  await page.locator('#send').focus()
  shown.confirmation = { ...resolved(plain, 'denied', 'paul'), version: 9 }
  await state.ring()
  const outcome = page.locator('#decision .outcome')
  await outcome.waitFor()
  const box = (await outcome.boundingBox())!
  t.ok(box.y >= 0 && box.y + box.height <= phone.height, 'it is in sight')
  t.equal(await page.evaluate('document.activeElement.id'), 'decision')
  t.equal(await page.getByRole('textbox').count(), 0)
  await state.end(page)
})

browserTest('a problem with a field is looked at, with JavaScript and without', async (t) => {
  const lines = Array.from({ length: 60 }, (_, line) => line)
  const strict = example({ details: JSON.stringify({ lines }) }, { mustType: true })
  const problem = { kind: 'problem', text: 'This is not the name.' } as const
  const answers = {
    '/wrong': confirmationPage(
      pageOf(strict, { message: { ...problem, field: 'typed' }, decision: { form: formOf({ typed: 'send' }) } }),
    ),
    '/unchosen': confirmationPage(pageOf(strict, { message: problem })),
    '/too-late': confirmationPage(pageOf(resolved(strict, 'denied', 'paul'), { message: problem })),
  }
  for (const [path, text] of Object.entries(answers)) site.pages.set(path, text)
  for (const javaScriptEnabled of [true, false]) {
    const page = await open(t, '/pending', { viewport: phone, javaScriptEnabled })
    for (const path of Object.keys(answers)) {
      await page.goto(site.url + path)
      const told = page.getByText('This is not the name.')
      await until(async () => {
        const { y } = (await told.boundingBox())!
        return y >= 0 && y < phone.height
      })
      const focused = page.locator(':focus')
      t.equal(await focused.getAttribute('id'), path === '/wrong' ? 'typed' : 'problem', path)
      if (path === '/wrong') t.equal(await focused.inputValue(), 'send')
    }
  }
})

browserTest(
  'a page that renews itself stays where it was: place, focus, folds, and every key that is pressed',
  async (t) => {
    const shown = live('/still', deploy, { stateUrl: '/still/state' })
    const state = bell('/still/state', () => shown.confirmation.version)
    const page = await open(t, '/still', { viewport: phone })
    await page.getByText('object of 3').first().click()
    const reason = page.getByRole('textbox', { name: 'Reason' })
    await reason.fill('onethree')
    for (let steps = 0; steps < 5; steps++) await page.keyboard.press('ArrowLeft')
    const top = async () => Math.round((await reason.boundingBox())!.y)
    const before = await top()

    // The new page is long under way, and somebody goes on writing.
    const fresh = site.pages.get('/still') as () => string
    let arrive = () => {}
    const underWay = new Promise<void>((resolve) => {
      site.pages.set('/still', async () => {
        resolve()
        await new Promise<void>((go) => (arrive = go))
        return fresh()
      })
    })
    const votes = [...deploy.votes, { ...deploy.votes[0]!, by: person('tom.okafor') }]
    shown.confirmation = { ...deploy, version: 3, votes }
    await state.ring()
    await underWay
    await page.keyboard.type(' two ')
    arrive()
    await page.locator('#decision-form .notice').waitFor()
    await page.keyboard.type('and ')
    t.equal(await reason.inputValue(), 'one two and three')
    t.equal(await top(), before, 'what is looked at has not moved')
    t.match(await page.locator('#decision-form .notice').innerText(), 'Look at it again before you decide')
    t.equal(await page.getByText('4.17.3').isVisible(), false, 'what was folded is')
    t.equal(await page.getByText('"eu-north-1"').isVisible(), true, 'and the rest is not')
    await state.end(page)
  },
)

browserTest('a page that cannot be renewed stays, and one that needs signing in leads there', async (t) => {
  for (const draft of ['half a', '']) {
    const path = `/away-${draft.length}`
    const shown = live(path, example(), { stateUrl: `${path}/state` })
    const state = bell(`${path}/state`, () => shown.confirmation.version)
    const page = await open(t, path)
    const reason = page.getByRole('textbox', { name: 'Reason' })
    await reason.fill(draft)
    let isDown = true
    await page.route(`**${path}`, (route) => (isDown ? route.abort() : route.fulfill({ status: 401, body: 'sign in' })))
    page.removeAllListeners('console')
    shown.confirmation = { ...example(), version: 2 }
    await state.ring()
    await page.waitForTimeout(100)
    t.equal(await reason.inputValue(), draft)
    isDown = false
    await state.ring()
    if (draft === '') await page.getByText('sign in').waitFor()
    else {
      await page.locator('.notice', { hasText: 'Copy what you have written' }).waitFor()
      t.equal(await reason.inputValue(), draft, 'what was written is not thrown away')
    }
    await state.end(page)
  }
})

browserTest('after a form was sent the page renews itself without sending it again', async (t) => {
  const shown = live('/sent', example(), { stateUrl: '/sent/state' })
  const state = bell('/sent/state', () => shown.confirmation.version)
  const page = await open(t, '/sent')
  await page.getByRole('radio', { name: 'Deny' }).check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  await until(() => shown.loads === 2 && site.gets.filter((url) => url.startsWith('/sent/state')).length === 2)
  shown.confirmation = { ...denied, version: 9 }
  await state.ring()
  await page.locator('.status').getByText('By paul.weber').waitFor()
  await page.reload()
  t.equal(site.posts.filter(({ path }) => path === '/sent').length, 1)
  t.equal(shown.loads, 4, 'not even when it is loaded again')
  await state.end(page)
})

browserTest('a page in the background asks nothing, and asks again when it is seen', async (t) => {
  const shown = live('/hidden', example(), { stateUrl: '/hidden/state' })
  const rings: (() => void)[] = []
  site.pages.set('/hidden/state', async () => {
    await new Promise<void>((resolve) => rings.push(resolve))
    return JSON.stringify({ version: shown.confirmation.version })
  })
  const page = await open(t, '/hidden')
  const turn = (isHidden: boolean) =>
    page.evaluate((value) => {
      const { document, Event } = globalThis as any
      Object.defineProperty(document, 'hidden', { value, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, isHidden)
  await until(() => rings.length === 1)
  await turn(true)
  await page.waitForTimeout(1500)
  t.equal(rings.length, 1)
  shown.confirmation = { ...denied, version: 9 }
  await turn(false)
  await until(() => rings.length === 2)
  for (const ring of rings) ring()
  await page.locator('.status').getByText('By paul.weber').waitFor()
  await page.goto('about:blank')
  for (const ring of rings) ring()
})

browserTest('the browser refuses to frame the page, and each of two headers is enough for that', async (t) => {
  site.pages.set('/framed', pages['/pending']!)
  const cases: [takenAway: string[], isShown: boolean][] = [
    [[], false],
    [['x-frame-options'], false],
    [['frame-ancestors'], false],
    // So it was the headers, and nothing else.
    [['x-frame-options', 'frame-ancestors'], true],
  ]
  for (const [takenAway, isShown] of cases) {
    const context = await browser.newContext()
    await context.route('**/framed', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, headers: without(response.headers(), takenAway) })
    })
    const page = await context.newPage()
    await page.setContent(`<iframe src="${site.url}/framed"></iframe>`)
    const inside = page.frames()[1]!
    const name = takenAway.length === 0 ? 'as it is sent' : `without ${takenAway.join(' and ')}`
    t.equal(inside.url(), isShown ? `${site.url}/framed` : 'chrome-error://chromewebdata/', name)
    t.equal((await inside.content()).includes('deploy_production'), isShown, name)
    await context.close()
  }
})

/** Headers without some of them, and without some directives of the policy among them. */
function without(headers: Record<string, string>, names: string[]): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !names.includes(name))
  const directive = new RegExp(`(?:^|; )(?:${names.join('|')}) [^;]*`, 'g')
  return Object.fromEntries(
    kept.map(([name, value]) => [name, names.length === 0 ? value : value.replace(directive, '')]),
  )
}

browserTest('ten thousand values are shown, and the form below them can still be used', async (t) => {
  const values = Array.from({ length: 10_000 }, (_, index) => `value ${index}`)
  live('/many', example({ details: JSON.stringify({ values }) }))
  const page = await open(t, '/many', { viewport: phone })
  t.equal(await page.locator('.json li').count(), 10_001)
  await page.getByRole('radio', { name: 'Deny' }).check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  t.equal((await posted('/many')).fields.get('verdict'), 'deny')
})
