// Writes the pictures of the pages, and of messages in chats, in docs/images.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { confirmationPage } from '../src/web/confirmation-page.js'
import { listPage } from '../src/web/list-page.js'
import { launch, serve } from '../test/web/browser.js'
import { askedAt, denied, deploy, example, formOf, hostile, listOf, pageOf } from '../test/web/examples.js'
import { chatPages } from './chat-pages.js'
import { shrinkPng } from './png.js'

const folder = 'docs/images'
/** What a reader of the documents should have to load at most. */
const maxBytes = 200_000

const phone = { width: 390, height: 844, scale: 1.5 }
/** As wide, and as high as the message. */
const narrow = { ...phone, height: 100 }
const desktop = { width: 820, height: 800, scale: 1 }

const frame = { isOpen: false, viewer: 'maria.lindqvist', signOut: { action: '/logout', csrf: '' } }
const restart = { details: '{"worker":3}', requester: 'ops-agent', sessionKey: '' }
const waiting = [
  deploy,
  example(),
  example({ ...restart, action: 'restart_worker', description: 'Restart worker 3.' }),
].map((confirmation, index) => ({ ...confirmation, id: String(index) }))
/** What the README asks for, as its reader sees it: without a key. */
const minute = example({
  action: 'send_mail',
  description: 'Send the newsletter',
  details: JSON.stringify({ list: 'news', count: 1200 }),
  requester: 'agent',
  sessionKey: '',
  timeoutSeconds: 300,
})
const open = { isOpen: true, viewer: null, signOut: null }
const pages = {
  minute: confirmationPage(
    pageOf(minute, { ...open, decision: { form: formOf({ by: { kind: 'anyone', name: 'page' } }) } }),
  ),
  pending: confirmationPage(pageOf(deploy)),
  denied: confirmationPage(
    pageOf(denied, { next: { action: deploy.action, requester: deploy.requester, url: '/page' } }),
  ),
  hostile: confirmationPage(pageOf(hostile, { ...open, backUrl: null })),
  whitelist: confirmationPage(pageOf(example())),
  list: listPage(
    listOf(waiting, {
      ...frame,
      now: askedAt + 128_000,
      ended: [{ confirmation: denied, url: '/page' }],
      follow: { url: '/state', mark: '' },
    }),
  ),
}
const pictures = [
  ['minute', 'desktop', desktop, 'light'],
  ['pending', 'desktop', desktop, 'light'],
  ['pending', 'phone', phone, 'light'],
  ['pending', 'phone-dark', phone, 'dark'],
  ['denied', 'desktop', desktop, 'light'],
  ['hostile', 'desktop', desktop, 'light'],
  ['whitelist', 'desktop', desktop, 'dark'],
  ['list', 'desktop', desktop, 'light'],
] as const

mkdirSync(folder, { recursive: true })
const site = await serve()
// Nothing changes in these lists.
site.pages.set('/state', () => new Promise(() => {}))
const browser = await launch()
for (const [name, suffix, size, colorScheme] of pictures) {
  site.pages.set('/page', pages[name])
  await take(`${name}-${suffix}`, size, colorScheme, (page) => page.goto(`${site.url}/page`))
}
const ends: (() => unknown)[] = []
const chats = await chatPages({ teardown: (end) => void ends.push(end) })
for (const [name, html] of Object.entries(chats)) {
  await take(name, narrow, 'light', (page) => page.setContent(html))
}
for (const end of ends) await end()
await browser.close()
await site.close()

async function take(
  name: string,
  { width, height, scale }: typeof phone,
  colorScheme: 'light' | 'dark',
  open: (page: Page) => Promise<unknown>,
): Promise<void> {
  const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: scale, colorScheme })
  const page = await context.newPage()
  // Time stands still, so that the same page gives the same picture.
  await page.clock.setFixedTime(askedAt)
  await open(page)
  // As high as all of it: what stays at the bottom of a window would lie somewhere in the middle.
  const whole = await page.evaluate<number>('document.documentElement.scrollHeight')
  await page.setViewportSize({ width, height: Math.max(height, whole) })
  const path = join(folder, `${name}.png`)
  const picture = shrinkPng(await page.screenshot({ fullPage: true }))
  writeFileSync(path, picture)
  await context.close()
  console.log(`${path}: ${Math.round(picture.length / 1000)} KB`)
  if (picture.length > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes`)
}
