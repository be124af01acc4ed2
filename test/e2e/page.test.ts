// The started program, a message in a played Telegram, and people with real browsers.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { command } from '../cli/command.js'
import { type FakeTelegram, startTelegram } from '../notify/fake-telegram.js'
import { has } from '../needs.js'
import { until } from '../support.js'
import { browserTest, launch } from '../web/browser.js'
import { type Program, start } from './program.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const phone = { width: 390, height: 844 }

let browser: Browser
let chat: FakeTelegram
let served: Program
t.before(async () => {
  if (!has('Chromium')) return
  browser = await launch()
  chat = await startTelegram(t)
  served = await start(t, {
    flags: ['--web-port', '0', '--rate-limit', '100'],
    env: {
      TELEGRAM_BOT_TOKEN: chat.botToken,
      TELEGRAM_HOME_CHANNEL: chat.chat,
      TELEGRAM_API_BASE: chat.config.telegramApiBase,
      // Nothing can be pressed there, so its messages have links.
      TELEGRAM_MODE: 'off',
    },
  })
})
t.teardown(() => browser?.close())

interface Asked {
  program: Program
  id: string
  /** The link that the message carried. */
  link: string
}

/** Submits, and reads the link off the message. */
async function ask(fields: Record<string, unknown> = {}): Promise<Asked> {
  const { body } = await served.submit({ action: 'deploy_production', ...fields })
  const message = () => chat.messages.find(({ text }) => text.includes(body.id))
  await until(message)
  const link = /Page: (\S+)/.exec(message()!.text)![1]!
  return { program: served, id: body.id, link }
}

async function openPage(t: Test, url: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: phone, ...options })
  t.teardown(() => context.close())
  const page = await context.newPage()
  await page.goto(url)
  return page
}

async function deny(page: Page, reason: string): Promise<void> {
  await page.getByRole('radio', { name: 'Deny' }).check()
  await page.getByRole('textbox', { name: /Reason/ }).fill(reason)
  await page.getByRole('button', { name: 'Send decision' }).click()
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const found = await page.evaluate('axe.run()')
  return (found as { violations: { id: string; impact: string }[] }).violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id }) => id)
}

/** The cookies that a server on another port of the same host is given, when its page is opened in the same browser. */
async function cookiesElsewhere(t: Test, page: Page): Promise<string[]> {
  const given: string[] = []
  const server = createServer((request, response) => {
    given.push(...(request.headers.cookie?.split('; ') ?? []))
    response.end('<p>hello')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const other = await page.context().newPage()
  for (const path of ['/', '/view/1', '/s/']) {
    await other.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
  }
  await other.close()
  return given
}

const status = async ({ program, id }: Asked) => (await program.call('GET', `/confirm/${id}`)).body.status

browserTest(
  'a person opens the link on a phone, reads, and denies with a reason; others see what stands',
  async (t) => {
    const asked = await ask({
      description: 'Ship <script>alert(1)</script> \u202egnp',
      details: { version: '1.4.2' },
    })
    const { link, program, id } = asked
    t.equal(new URL(link).port, String(program.webPort))
    const page = await openPage(t, link)
    const other = await openPage(t, link)
    const text = await page.locator('body').innerText()
    for (const seen of ['deploy_production', '<script>alert(1)</script>', 'U+202E', '1.4.2', 'This service is open']) {
      t.ok(text.includes(seen), seen)
    }
    t.same(await violations(page), [])
    await deny(page, 'not on a Friday')
    await page.getByText('Denied').first().waitFor()
    t.match(await page.locator('main').innerText(), /Denied[^]*telegram:-1001[^]*not on a Friday/)
    t.same(await violations(page), [])
    // Without being asked: its script was told.
    await other.getByText('not on a Friday').first().waitFor()
    const late = await openPage(t, link)
    t.match(await late.locator('main').innerText(), /Denied[^]*not on a Friday/)
    t.equal(await late.getByRole('radio').count(), 0, 'there is nothing left to decide')
    const { body } = await program.call('GET', `/confirm/${id}`)
    t.match(body, {
      status: 'denied',
      resolved_by: 'telegram:-1001',
      resolved_via: 'link',
      reason: 'not on a Friday',
      votes: [{ verdict: 'deny', by: 'telegram:-1001' }],
    })
  },
)

browserTest('without JavaScript the decision works all the same', async (t) => {
  const asked = await ask()
  const page = await openPage(t, asked.link, { javaScriptEnabled: false })
  await page.getByRole('radio', { name: 'Approve' }).first().check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  await page.getByText('Approved').first().waitFor()
  t.equal(await status(asked), 'approved')
})

browserTest('the second approver with the same link learns what stands', async (t) => {
  const asked = await ask()
  const first = await openPage(t, asked.link)
  const second = await openPage(t, asked.link, { javaScriptEnabled: false })
  await deny(first, 'mine')
  await first.getByText('mine').first().waitFor()
  await second.getByRole('radio', { name: 'Approve' }).first().check()
  await second.getByRole('button', { name: 'Send decision' }).click()
  await second.getByText('That stands; nothing was changed').waitFor()
  t.match(await second.locator('main').innerText(), /Denied[^]*mine/)
  t.equal(await status(asked), 'denied')
})

browserTest(
  'an approver who was still writing finds the outcome where the form was, and what they wrote',
  async (t) => {
    const asked = await ask({ details: { lines: Array.from({ length: 50 }, (_, line) => line) } })
    const first = await openPage(t, asked.link)
    const second = await openPage(t, asked.link)
    const third = await openPage(t, asked.link, { javaScriptEnabled: false })
    await second.getByRole('textbox', { name: /Reason/ }).fill('I was just writing')
    await deny(first, 'mine')
    // Nobody has to ask: its script was told. Without one, the sender is told.
    await second.locator('#decision .outcome').getByText('mine').waitFor()
    await third.getByRole('radio', { name: 'Approve' }).first().check()
    await third.getByRole('textbox', { name: /Reason/ }).fill('I was just writing')
    await third.getByRole('button', { name: 'Send decision' }).click()
    await third.locator('#decision .outcome').getByText('mine').waitFor()
    for (const page of [second, third]) {
      const kept = page.getByRole('textbox', { name: 'The reason you had written' })
      t.equal(await kept.inputValue(), 'I was just writing')
      const outcome = (await page.locator('#decision .outcome').boundingBox())!
      t.ok(outcome.y >= 0 && outcome.y < phone.height, 'in sight')
      t.equal(await page.getByRole('button', { name: 'Send decision' }).count(), 0)
    }
    t.same(await violations(second), [])
    t.equal(await status(asked), 'denied')
  },
)

browserTest('an unfurl bot and a scanner that submits the first form it finds change nothing', async (t) => {
  const asked = await ask()
  for (const method of ['GET', 'HEAD', 'GET']) {
    const answer = await fetch(asked.link, { method, headers: { 'user-agent': 'TelegramBot (like TwitterBot)' } })
    t.equal(answer.status, 200)
  }
  const page = await openPage(t, asked.link)
  // The form as it is, twice: sent past the browser's own checks, and with them.
  await page.evaluate('HTMLFormElement.prototype.submit.call(document.forms[0])')
  await page.getByText('Nothing was decided').waitFor()
  t.equal(await status(asked), 'pending')
  await page.goto(asked.link)
  await page.evaluate('document.forms[0].requestSubmit()')
  t.equal(await status(asked), 'pending')
  // And by a program that keeps cookies and says it is a browser.
  const first = await fetch(asked.link)
  const cookie = first.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
  const [, csrf] = /name="csrf" value="([^"]+)"/.exec(await first.text())!
  const { origin } = new URL(asked.link)
  const sent = await fetch(asked.link, {
    method: 'POST',
    headers: { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: `csrf=${csrf}&reason=`,
    redirect: 'manual',
  })
  t.equal(sent.status, 400)
  t.equal(await status(asked), 'pending')
  t.same(
    (await asked.program.events())
      .filter(({ confirmation_id }) => confirmation_id === asked.id)
      .map(({ type }) => type),
    ['submitted', 'linked', 'notified'],
  )
  await deny(page, 'the link is still good')
  await page.getByText('the link is still good').first().waitFor()
  t.equal(await status(asked), 'denied')
})

browserTest('a page of another site cannot decide in the name of the approver who has the link open', async (t) => {
  const asked = await ask()
  const page = await openPage(t, asked.link)
  const [, csrf] = /name="csrf" value="([^"]+)"/.exec(await page.content())!
  const evil = await page.context().newPage()
  const form = `<form method="post" action="${asked.link}"><input name="csrf" value="${csrf}">
    <input name="verdict" value="approve"></form>`
  await evil.setContent(form)
  await evil.evaluate('document.forms[0].submit()')
  await evil.waitForURL(asked.link)
  t.match(await evil.locator('body').innerText(), /another site/)
  t.equal(await status(asked), 'pending')
})

browserTest('with a key, an operator signs in, sees what is pending and decides in their own name', async (t) => {
  const program = await start(t, { flags: ['--web-port', '0'] })
  const keys: Record<string, string> = {}
  for (const [name, role] of [
    ['bot', 'agent'],
    ['alice', 'operator'],
  ] as const) {
    const { stdout } = await command(program.dbPath, 'keys', 'add', '--name', name, '--role', role)
    keys[name] = stdout.trim()
  }
  const base = `http://127.0.0.1:${program.webPort}`
  const submitted = await fetch(`${base}/confirm`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${keys.bot}` },
    body: JSON.stringify({ action: 'send_mail', description: 'The newsletter', session_key: 's-1' }),
  })
  t.equal(submitted.status, 202)
  const { id } = (await submitted.json()) as { id: string }
  const page = await openPage(t, `${base}/view/${id}`)
  const signIn = async (key: string) => {
    await page.getByLabel(/key/i).fill(key)
    await page.getByRole('button', { name: /sign in/i }).click()
  }
  await signIn('hpk_wrong')
  await page.getByText('not known').waitFor()
  await signIn(keys.bot!)
  await page.getByText('for people').waitFor()
  await signIn(keys.alice!)
  await page.getByRole('heading', { name: 'send_mail' }).waitFor()
  t.match(new URL(page.url()).pathname, new RegExp(`^/s/[0-9a-f]{64}/view/${id}$`))
  t.same(await cookiesElsewhere(t, page), [], 'another port of this host gets nothing to decide with')
  t.same(await violations(page), [])
  await page.getByRole('radio', { name: /this session/ }).check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  await page.getByText('Approved').first().waitFor()
  const { body } = await program.call('GET', '/health')
  t.match(body, { auth: 'keys', pending_count: 0 })
  const seen = await fetch(`${base}/confirm/${id}`, { headers: { authorization: `Bearer ${keys.bot}` } })
  t.match(await seen.json(), { status: 'approved', resolved_by: 'alice', resolved_via: 'page' })
  await page.getByRole('link', { name: 'All that wait' }).click()
  await page.getByText('Nothing waits').waitFor()
  await page.getByRole('button', { name: /sign out/i }).click()
  await page.waitForURL(/\/login/)
  await page.goto(`${base}/view/${id}`)
  t.match(page.url(), /\/login/)
})
