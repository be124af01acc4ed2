// Signing in once per browser: real tabs of a real browser, against the started program.
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { has } from '../needs.js'
import { temporaryFolder, until } from '../support.js'
import { command } from '../cli/command.js'
import { startTelegram } from '../notify/fake-telegram.js'
import { browserTest, launch } from '../web/browser.js'
import { type Program, start } from './program.js'

const root = t
let browser: Browser
t.before(async () => {
  if (has('Chromium')) browser = await launch()
})
t.teardown(() => browser?.close())

interface Signed {
  program: Program
  base: string
  id: string
  alice: string
  context: BrowserContext
  /** Where alice signed in, which is the only tab so far. */
  first: Page
}

const place = /^\/s\/[0-9a-f]{64}\//
const pathOf = (page: Page) => new URL(page.url()).pathname
const remembered = (page: Page) => page.evaluate<string | null>('localStorage.getItem("holdpoint.place")')

async function addKey({ dbPath }: Program, name: string, role: string): Promise<string> {
  return (await command(dbPath, 'keys', 'add', '--name', name, '--role', role)).stdout.trim()
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel(/key/i).fill(key)
  await page.getByRole('button', { name: /sign in/i }).click()
  await page.waitForURL(/\/s\/[0-9a-f]{64}\//)
}

/** One for all that neither stop it nor are stopped by what others do there. */
let shared: Promise<{ program: Program; bot: string }> | undefined
let people = 0

async function startWithBot(t: Test) {
  const program = await start(t, { flags: ['--web-port', '0', '--rate-limit', '1000'] })
  return { program, bot: await addKey(program, 'bot', 'agent') }
}

async function signedIn(t: Test, { isAlone = false } = {}): Promise<Signed> {
  const { program, bot } = await (isAlone ? startWithBot(t) : (shared ??= startWithBot(root)))
  const alice = await addKey(program, isAlone ? 'alice' : `alice ${(people += 1)}`, 'operator')
  const base = `http://127.0.0.1:${program.webPort}`
  const body = { action: 'send_mail', description: 'The newsletter', timeout_seconds: 3600 }
  const asked = await program.call('POST', '/confirm', body, { authorization: `Bearer ${bot}` })
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const first = await context.newPage()
  await first.goto(`${base}/`)
  await signIn(first, alice)
  return { program, base, id: asked.body.id, alice, context, first }
}

async function open(context: BrowserContext, url: string, end: RegExp): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  await page.waitForURL(end)
  return page
}

browserTest('who has signed in once is signed in at / and /view/ID, in whichever tab', async (t) => {
  const { base, id, context, first } = await signedIn(t)
  const own = pathOf(first)
  await first.close()
  const list = await open(context, `${base}/`, /\/s\//)
  t.equal(pathOf(list), own, 'at the same place')
  const view = await open(context, `${base}/view/${id}`, /\/s\//)
  t.equal(pathOf(view), `${own}view/${id}`)
  await view.getByRole('heading', { name: 'send_mail' }).waitFor()
  const login = await open(context, `${base}/login?next=${encodeURIComponent(`/view/${id}`)}`, /\/s\//)
  t.equal(pathOf(login), `${own}view/${id}`)
  await login.goBack()
  t.equal(login.url(), 'about:blank', 'the page to sign in on is not in the way back')
})

browserTest('a page of another site leads to where one is signed in', async (t) => {
  const { base, id, context, first } = await signedIn(t)
  const { url, heard } = await listener(t)
  const own = pathOf(first)
  for (const elsewhere of [url, url.replace('127.0.0.1', 'localhost')]) {
    for (const path of ['/', `/view/${id}`]) {
      const page = await context.newPage()
      await page.goto(`${elsewhere}/chat`)
      await page.evaluate(
        `const a = document.createElement('a'); a.href = '${base}${path}'; document.body.append(a); a.click()`,
      )
      await page.waitForURL(/\/s\//)
      t.equal(pathOf(page), `${own}${path.slice(1)}`)
      await page.close()
    }
  }
  t.notMatch(JSON.stringify(heard), own.split('/')[2]!)
})

/** A program that tells a played Telegram, with alice's key; and the link in the message. */
async function told(t: Test, rules: string) {
  const chat = await startTelegram(t)
  const policy = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(policy, rules)
  const program = await start(t, {
    flags: ['--web-port', '0', '--policy', policy],
    env: {
      TELEGRAM_BOT_TOKEN: chat.botToken,
      TELEGRAM_HOME_CHANNEL: chat.chat,
      TELEGRAM_API_BASE: chat.config.telegramApiBase,
      // Nothing can be pressed there, so its messages have links.
      TELEGRAM_MODE: 'off',
    },
  })
  const bot = await addKey(program, 'bot', 'agent')
  const alice = await addKey(program, 'alice', 'operator')
  const ask = async (action: string) => {
    const body = { action, description: action, timeout_seconds: 3600 }
    const { id } = (await program.call('POST', '/confirm', body, { authorization: `Bearer ${bot}` })).body
    const message = () => chat.messages.find(({ text }) => text.includes(id))
    await until(message)
    return { id: id as string, link: /Page: (\S+)/.exec(message()!.text)![1]! }
  }
  const context = await browser.newContext()
  t.teardown(() => context.close())
  return { program, alice, ask, context, base: `http://127.0.0.1:${program.webPort}` }
}

browserTest('the page of a link leads to where one is signed in, whether or not the link can decide', async (t) => {
  const rules = 'rules: [{ name: two, action: pay, approvals: 2 }]'
  const { alice, ask, context, base, program } = await told(t, rules)
  const mail = await ask('mail')
  const pay = await ask('pay')
  const page = await context.newPage()
  const offer = page.getByRole('link', { name: 'Open it where this browser is signed in' })
  await page.goto(pay.link)
  t.equal(await offer.count(), 0)
  // This link does not count, and nobody has signed in here yet.
  await page.getByRole('link', { name: 'Sign in with a key of your own' }).click()
  await signIn(page, alice)
  t.match(pathOf(page), new RegExp(`${place.source}view/${pay.id}$`))
  const own = pathOf(page).split('/').slice(0, 3).join('/')

  await page.goto(pay.link)
  await offer.waitFor()
  t.equal(await page.getByRole('link', { name: /Sign in/ }).count(), 0, 'instead of signing in')
  await offer.click()
  await page.waitForURL(`**${own}/view/${pay.id}`)

  await page.goto(mail.link)
  await offer.waitFor()
  t.equal(await page.getByRole('radio', { name: 'Deny' }).count(), 1, 'the link decides all the same')
  await page.getByRole('radio', { name: 'Deny' }).check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  await page.locator('#decision .outcome').waitFor()
  await offer.click()
  await page.waitForURL(`**${own}/view/${mail.id}`)
  await page
    .getByRole('link', { name: /Next: pay/ })
    .first()
    .click()
  await page.waitForURL(`**${own}/view/${pay.id}`)

  const other = await (await browser.newContext()).newPage()
  t.teardown(() => other.context().close())
  await other.goto(`${base}${new URL(pay.link).pathname}`)
  await other.getByRole('link', { name: 'Sign in with a key of your own' }).waitFor()
  t.notMatch(await other.content(), own.slice(3), 'nobody else is told where')
  await command(program.dbPath, 'keys', 'revoke', 'alice')
  await page.goto(pay.link)
  await page.getByRole('link', { name: 'Sign in with a key of your own' }).waitFor()
  t.equal(await offer.count(), 0, 'nor anybody who is signed in no more')
})

browserTest('signing out in one tab is signing out in all, and the place is forgotten', async (t) => {
  const { base, id, context, first } = await signedIn(t)
  const other = await open(context, `${base}/view/${id}`, /\/s\//)
  await first.getByRole('button', { name: /sign out/i }).click()
  await first.waitForURL(/\/login/)
  await other.waitForURL(/\/login/)
  t.equal(new URL(other.url()).searchParams.get('next'), `/view/${id}`, 'which leads back there')
  t.equal(await remembered(other), null)
  const third = await open(context, `${base}/`, /\/login/)
  await third.getByLabel(/key/i).waitFor()
  t.equal(await remembered(third), null)
})

browserTest('signing out in another tab throws away nothing that somebody has written', async (t) => {
  const { base, id, context, first } = await signedIn(t)
  const other = await open(context, `${base}/view/${id}`, /\/s\//)
  const reason = other.getByRole('textbox', { name: 'Reason' })
  await reason.fill('Half a sen')
  const before = (await reason.boundingBox())!.y
  await first.getByRole('button', { name: /sign out/i }).click()
  await other.locator('.notice', { hasText: 'You are signed out' }).waitFor()
  t.equal(await reason.inputValue(), 'Half a sen')
  t.ok(Math.abs((await reason.boundingBox())!.y - before) < 2, 'and it stays in its place')
  t.equal(await remembered(other), null)
  await other.reload()
  await other.waitForURL(/\/login/)
})

browserTest('a place that is good no more is forgotten, and asked for again with the way back', async (t) => {
  const { base, id, context, first, program } = await signedIn(t, { isAlone: true })
  await first.goto('about:blank')
  await command(program.dbPath, 'keys', 'revoke', 'alice')
  const page = await open(context, `${base}/view/${id}`, /\/login/)
  await until(async () => (await remembered(page)) === null)
  t.match(page.url(), `next=${encodeURIComponent(`/view/${id}`)}`)
  await signIn(page, await addKey(program, 'alice', 'operator'))
  t.match(pathOf(page), new RegExp(`${place.source}view/${id}$`))
  t.equal(`${await remembered(page)}/view/${id}`, pathOf(page))
})

browserTest('over plain http a sign-in ends with the process, and nobody goes round in circles', async (t) => {
  const { base, id, context, first, program } = await signedIn(t, { isAlone: true })
  await first.goto('about:blank')
  await program.stop()
  const port = ['--web-port', String(program.webPort)]
  await start(t, { dbPath: program.dbPath, flags: port })
  const page = await context.newPage()
  const loaded: string[] = []
  page.on('framenavigated', (frame) => loaded.push(new URL(frame.url()).pathname))
  await page.goto(`${base}/view/${id}`)
  await until(async () => (await remembered(page)) === null)
  t.same(loaded, ['/login'])
})

browserTest('a place whose pages cannot be seen is gone to once, not for ever', async (t) => {
  const { base, context, first } = await signedIn(t)
  await first.goto('about:blank')
  const page = await context.newPage()
  const gone: string[] = []
  // As if a browser sent the cookie with the question and not with the page.
  await page.route(/\/s\/[0-9a-f]{64}\/$/, (route) => {
    gone.push(route.request().url())
    return route.fulfill({ status: 303, headers: { location: `${base}/login?next=/` } })
  })
  await page.goto(`${base}/`)
  await until(async () => gone.length === 1 && (await remembered(page).catch(() => 'on its way')) === null)
  t.equal(gone.length, 1)
  t.match(page.url(), /\/login/)
})

browserTest("a page at another's place does not replace what is remembered; signing in does", async (t) => {
  const { base, context, first, program } = await signedIn(t)
  const own = await remembered(first)
  const elsewhere = await browser.newContext()
  t.teardown(() => elsewhere.close())
  const mallory = await elsewhere.newPage()
  await mallory.goto(`${base}/`)
  await signIn(mallory, await addKey(program, 'mallory', 'operator'))
  // Another port of the host can set a cookie for any path.
  await context.addCookies(await elsewhere.cookies(mallory.url()))
  const page = await open(context, mallory.url(), /\/s\//)
  await page.getByText('mallory').first().waitFor()
  t.equal(await remembered(page), own)
  await first.getByRole('button', { name: /sign out/i }).click()
  await first.waitForURL(/\/login/)
  await signIn(first, await addKey(program, 'petra', 'operator'))
  t.equal(`${await remembered(first)}/`, pathOf(first))
})

browserTest('without JavaScript each place is its own, as it stands in the address', async (t) => {
  const { base, id, alice } = await signedIn(t)
  const context = await browser.newContext({ javaScriptEnabled: false })
  t.teardown(() => context.close())
  const page = await context.newPage()
  await page.goto(`${base}/view/${id}`)
  await signIn(page, alice)
  t.match(pathOf(page), new RegExp(`${place.source}view/${id}$`))
  const other = await open(context, `${base}/`, /\/login/)
  await other.getByLabel(/key/i).waitFor()
})

/** A server on another port of the same host that keeps all it is told. */
async function listener(t: Test) {
  const heard: { url: string; headers: IncomingMessage['headers'] }[] = []
  const server = createServer((request, response) => {
    heard.push({ url: request.url!, headers: request.headers })
    response.setHeader('access-control-allow-origin', '*')
    response.end('<!doctype html><p>hello')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { heard, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

browserTest('another port of the host is told neither the place nor the secret, however it is reached', async (t) => {
  const { base, id, context, first } = await signedIn(t)
  const { heard, url } = await listener(t)
  const [cookie] = await context.cookies(first.url())
  const secrets = [pathOf(first).split('/')[2]!, cookie!.value]
  t.ok(secrets.every((one) => /^[0-9a-f]{64}$/.test(one)))
  const opened = async (path: string, go: (page: Page) => Promise<unknown>) => {
    const page = await open(context, `${base}${path}`, /\/s\//)
    const before = heard.length
    await go(page)
    return heard.length - before
  }
  for (const path of ['/', `/view/${id}`]) {
    // The pages themselves load nothing from elsewhere; a link on one, were there any, is followed.
    t.equal(
      await opened(path, (page) =>
        page.evaluate(`new Promise((go) => {
          const image = new Image()
          image.onload = image.onerror = go
          image.src = '${url}/image'
        })`),
      ),
      0,
      'an image is not fetched',
    )
    const follow = async (page: Page) => {
      await page.evaluate(
        `const a = document.createElement('a'); a.href = '${url}/link'; document.body.append(a); a.click()`,
      )
      await page.waitForURL(`${url}/**`)
      t.equal(await page.evaluate('document.referrer'), '')
      t.equal(await page.evaluate('localStorage.length'), 0, 'its storage is its own')
    }
    t.ok((await opened(path, follow)) > 0)
    t.ok((await opened(path, (page) => page.goto(`${url}${path}`))) > 0)
    const window = async (page: Page) => {
      const popup = context.waitForEvent('page')
      await page.evaluate(`void open('${url}/window')`)
      await (await popup).waitForURL(`${url}/**`)
    }
    t.ok((await opened(path, window)) > 0)
  }
  // From there, back to us, and by a redirect of ours that somebody has asked for.
  const page = await context.newPage()
  await page.goto(`${url}/s/`)
  await page.evaluate(`void fetch('${base}/', { credentials: 'include' }).catch(() => {})`)
  await page.goto(`${base}/login?next=${encodeURIComponent(`${url}/next`)}`)
  await page.waitForURL(/\/s\//)
  t.equal(new URL(page.url()).origin, base)
  const told = JSON.stringify(heard)
  t.match(told, '/link')
  for (const secret of secrets) t.notOk(told.includes(secret))
  t.notOk(heard.some(({ headers: { referer } }) => referer?.startsWith(base)))
  t.notMatch(told, /holdpoint_session/)
})

browserTest('in open mode the page asks for a name once, and remembers it', async (t) => {
  const program = await start(t, { flags: ['--web-port', '0'] })
  const base = `http://127.0.0.1:${program.webPort}`
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const decided = async (name: string | null) => {
    const { id } = (await program.submit({ details: { name } })).body
    const page = await context.newPage()
    await page.goto(`${base}/view/${id}`)
    const field = page.getByLabel(/Your name/)
    if (name !== null) await field.fill(name)
    const given = await field.inputValue()
    await page.getByRole('radio', { name: 'Deny' }).check()
    await page.getByRole('button', { name: 'Send decision' }).click()
    await page.getByText('Denied').first().waitFor()
    await page.close()
    return [given, (await program.call('GET', `/confirm/${id}`)).body.resolved_by]
  }
  t.same(await decided(null), ['', 'page'])
  t.same(await decided('Alice'), ['Alice', 'Alice'])
  t.same(await decided(null), ['Alice', 'Alice'])

  const { id } = (await program.submit({ details: { last: true } })).body
  const page = await context.newPage()
  await page.goto(`${base}/view/${id}`)
  await page.getByText('Deciding as Alice').waitFor()
  const field = page.getByLabel(/Your name/)
  t.equal(await field.isVisible(), false, 'once it is known it takes no more than a line')
  await page.getByRole('button', { name: 'Change' }).click()
  await field.fill('system:timeout')
  await page.getByRole('radio', { name: 'Deny' }).check()
  await page.getByRole('button', { name: 'Send decision' }).click()
  await page.locator('#your-name-problem').waitFor()
  t.match(await page.locator('#your-name-problem').innerText(), /Nothing was decided/)
  t.equal((await program.call('GET', `/confirm/${id}`)).body.status, 'pending')
  await page.goto(`${base}/view/${id}`)
  t.equal(await field.inputValue(), '', 'a name that nobody may have is not remembered')
})

browserTest('a link to sign in is opened, pressed, and then remembered as any sign-in', async (t) => {
  const { base, context, first, program } = await signedIn(t)
  await addKey(program, 'paul', 'operator')
  const link = (await command(program.dbPath, 'signin', 'paul')).stdout.trim()
  const page = await context.newPage()
  await page.goto(link)
  await page.getByText('paul').waitFor()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/s\//)
  t.equal(`${await remembered(page)}/`, pathOf(page), 'whoever signs in anew is who is remembered')
  t.not(pathOf(page), pathOf(first))
  const list = await open(context, `${base}/`, /\/s\//)
  t.equal(pathOf(list), pathOf(page))
  await list.goto(link)
  await list.getByText('has been used').waitFor()
  const offer = 'Go on where this browser is signed in'
  await list.getByRole('link', { name: offer }).click()
  await list.waitForURL(page.url())

  const other = await (await browser.newContext()).newPage()
  t.teardown(() => other.context().close())
  await other.goto(link)
  await other.getByText('has been used').waitFor()
  t.notMatch(await other.content(), offer, 'which one that is not signed in does not say')
})
