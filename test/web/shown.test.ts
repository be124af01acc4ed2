// What is shown is what is there: on a phone no two different requests look alike, and no text is longer than it needs.
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import type { Submission } from '../../src/core/model.js'
import { confirmationPage } from '../../src/web/confirmation-page.js'
import { decodePng } from '../../scripts/png.js'
import { has } from '../needs.js'
import { browserTest, launch, serve, type Site } from './browser.js'
import { example, pageOf } from './examples.js'

const phone = { width: 390, height: 844 }
/** As wide as a phone, and high enough for a whole request: what has to be scrolled takes much longer to picture. */
const tall = { width: 390, height: 2700 }

let browser: Browser
let site: Site
let page: Page
t.before(async () => {
  if (!has('Chromium')) return
  site = await serve()
  browser = await launch()
  const context = await browser.newContext({ viewport: phone, reducedMotion: 'reduce', javaScriptEnabled: false })
  page = await context.newPage()
})
t.teardown(async () => {
  await browser?.close()
  await site?.close()
})

type Asked = Partial<Submission>

/** The page of a request. All have the same digest, which would tell them apart. */
async function open(asked: Asked): Promise<void> {
  const confirmation = { ...example(asked), digest: '0'.repeat(64) }
  site.pages.set('/request', confirmationPage(pageOf(confirmation, { decision: { why: 'None here.' } })))
  await page.goto(`${site.url}/request`)
}

async function picture(asked: Asked) {
  await open(asked)
  const clip = (await page.locator('article').boundingBox())!
  if (clip.y + clip.height > tall.height) throw new Error(`a request is ${clip.height} pixels high`)
  return decodePng(await page.screenshot({ scale: 'css', clip }))
}

/** How many pixels a person would say are others: not a shade of the same. */
function difference(one: Awaited<ReturnType<typeof picture>>, other: typeof one): number {
  const height = Math.max(one.height, other.height)
  let count = 0
  for (let at = 0; at < height * one.width; at++) {
    const [a, b] = [one.data[at] ?? 0xffffff, other.data[at] ?? 0xffffff]
    const distance = [16, 8, 0].reduce((sum, shift) => sum + Math.abs(((a >> shift) & 255) - ((b >> shift) & 255)), 0)
    if (distance > 150) count += 1
  }
  return count
}

const details = (value: object): Asked => ({ details: JSON.stringify(value) })
const described = (description: string): Asked => ({ description })

/** As many characters as fit on a line of a string in the details, found in the browser. */
async function columns(): Promise<number> {
  await open(details({ c: 'x'.repeat(200) }))
  const { line, letter } = await page.locator('.string').evaluate((element: any) => {
    const { document } = globalThis as any
    const range = document.createRange()
    const text = element.childNodes[1]
    const top = (index: number) => {
      range.setStart(text, index)
      range.setEnd(text, index + 1)
      return range.getBoundingClientRect().top as number
    }
    const first = top(0)
    const starts: number[] = []
    for (let index = 1, last = first; index < text.length; index++) {
      if (top(index) > last + 4) starts.push(index)
      last = top(index)
    }
    return { line: starts[0]!, letter: starts[1]! - starts[0]! }
  })
  t.ok(letter >= line, 'lines after the first are as long')
  return line
}

/** One word that is too long to stand on a line with others. */
const removal = 'drop_database_production_now'

/** More than are said one by one. */
const blankLines = Array.from({ length: 120 }, (_, index) => `\n${' '.repeat(index + 1)}`).join('')

browserTest('thirty pairs of different requests, none of which look alike', async (t) => {
  await page.setViewportSize(tall)
  t.teardown(() => page.setViewportSize(phone))
  const line = await columns()
  /** Text that ends right where its line does in the details, so that what follows is on the next one in any case. */
  const full = (beginning: string) => beginning + 'x'.repeat(line - beginning.length)
  const pairs: [string, Asked, Asked][] = [
    [
      'a command in a comment, and one that runs',
      details({ c: `${full('# clean up: ')}rm -rf /srv` }),
      details({ c: `${full('# clean up: ')}\nrm -rf /srv` }),
    ],
    [
      'the same in a script, where it would wrap at that place anyway',
      details({ c: `set -e\n# clean up old logs ${removal}` }),
      details({ c: `set -e\n# clean up old logs\n${removal}` }),
    ],
    [
      'the same in a description',
      described(`Run this:\n# and leave out what is below ${removal}`),
      described(`Run this:\n# and leave out what is below\n${removal}`),
    ],
    [
      'a space at the end of a line, and none',
      details({ c: `${full('rm -rf /srv/')} y` }),
      details({ c: `${full('rm -rf /srv/')}y` }),
    ],
    [
      'a path that ends at a hyphen, and one that goes on',
      details({ c: `${full('rm -rf /srv/').slice(0, -2)}- backup` }),
      details({ c: `${full('rm -rf /srv/').slice(0, -2)}-backup` }),
    ],
    [
      'two spaces at the end of a line, and one',
      details({ c: `${full('rm -rf /srv/').slice(1)}  y` }),
      details({ c: `${full('rm -rf /srv/').slice(1)} y` }),
    ],
    ['a no-break space, and a space', details({ c: 'rm\u00a0-rf /' }), details({ c: 'rm -rf /' })],
    ['a wide space, and two', details({ c: 'a\u3000b' }), details({ c: 'a  b' })],
    ['amounts among letters from right to left', described('א 100 - 200 ב'), described('א 200 - 100 ב')],
    ['an amount before such a letter, and after it', details({ c: '5 א 7' }), details({ c: '7 א 5' })],
    ['Arabic digits in one order, and in the other', details({ c: '١٢ - ٣٤' }), details({ c: '٣٤ - ١٢' })],
    ['a string that plays a member, and a member', details({ a: '1", "b": "2' }), details({ a: '1', b: '2' })],
    ['a key that plays a member, and a member', details({ 'a": "1", "b': '2' }), details({ a: '1', b: '2' })],
    ['an escaped quote, and a quote', details({ a: '\\"' }), details({ a: '"' })],
    ['a space at the end of a string, and none', details({ a: 'x ' }), details({ a: 'x' })],
    ['a space at the end of a session, and none', { sessionKey: 's ' }, { sessionKey: 's' }],
    ['a space before a name, and none', { requester: ' agent' }, { requester: 'agent' }],
    ['a joiner in a word, and none', { action: 'deploy_prod\u200duction' }, { action: 'deploy_production' }],
    ['a joiner in a key, and none', details({ 'amo\u200cunt': 1 }), details({ amount: 1 })],
    ['a tab, and spaces', details({ c: 'a\tb' }), details({ c: 'a        b' })],
    ['CR LF, and LF', described('a\r\nb'), described('a\nb')],
    ['an empty string, and a space', details({ a: '' }), details({ a: ' ' })],
    ['a number, and a string of it', details({ a: 1 }), details({ a: '1' })],
    ['null, and a string of it', details({ a: null }), details({ a: 'null' })],
    ['true, and a string of it', details({ a: true }), details({ a: 'true' })],
    ['nested, and flat', details({ a: { b: 1 }, c: 2 }), details({ a: { b: 1, c: 2 } })],
    ['a list, and an object with numbers for keys', details({ a: ['x'] }), details({ a: { 0: 'x' } })],
    [
      'a long gap with more behind it, and nothing',
      details({ c: `ls${' '.repeat(3000)}; rm -rf /` }),
      details({ c: `ls${' '.repeat(3000)}` }),
    ],
    [
      'a joiner before the gap',
      details({ c: `ls\u200d${' '.repeat(3000)}; rm -rf /` }),
      details({ c: `ls\u200d${' '.repeat(3000)}` }),
    ],
    [
      'many line breaks with more behind them, and fewer',
      described(`ok${'\n'.repeat(1480)}rm -rf /`),
      described(`ok${'\n'.repeat(1479)}rm -rf /`),
    ],
    [
      'many different empty lines, and the last of them another',
      described(`ok${blankLines}\n\t\nrm`),
      described(`ok${blankLines}\n\r\nrm`),
    ],
    ['a mark on a letter, and a letter with a mark', details({ c: 'cafe\u0301' }), details({ c: 'caf\u00e9' })],
    ['a character for private use, and another', details({ c: '\ue000' }), details({ c: '\ue001' })],
    ['a hyphen that is none, and one', details({ c: 'rm \u2010rf' }), details({ c: 'rm -rf' })],
    ['a colon that is none, and one', details({ c: 'a\ua789b' }), details({ c: 'a:b' })],
    ['a low line on a letter, and a macron', details({ c: 'a\u0332' }), details({ c: 'a\u0331' })],
    ['a ligature, and its letters', details({ c: '\ufb01le' }), details({ c: 'file' })],
    ['letters of mathematics, and letters', details({ c: '\u{1d68a}' }), details({ c: 'a' })],
    ['what has no font, and another of it', details({ c: '\u{12031}' }), details({ c: '\u{12032}' })],
    ['an object replacement character, and none', details({ c: 'a\ufffcb' }), details({ c: 'ab' })],
    ['a mark of ours, and text that plays it', described('a\nb'), described('a↵ b')],
    ['a hidden character, and text that plays its mark', details({ c: 'a\u202eb' }), details({ c: 'aU+202Eb' })],
    ['a session of two lines, and text that plays it', { sessionKey: 'a\nb' }, { sessionKey: 'a\\nb' }],
  ]
  t.ok(pairs.length >= 30)
  for (const [name, one, other] of pairs) {
    // As much as a letter of the text has.
    const pixels = difference(await picture(one), await picture(other))
    t.ok(pixels >= 15, `${name}: ${pixels} pixels`)
  }
})

browserTest('numbers beside letters from right to left stand in the order in which they are written', async (t) => {
  const text = 'א 111 - 222 ב 333 ج ٤٤٤ - ٥٥٥ د ۶۶۶ ۷۷۷'
  await open({ description: text, ...details({ [text]: text }) })
  const places = await page.locator('.description > bdi, .key, .string').evaluateAll((all: any[]) =>
    all.slice(0, 3).map((element) => {
      const { document, NodeFilter } = globalThis as any
      const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
      const found: number[] = []
      while (nodes.nextNode()) {
        for (const { index } of nodes.currentNode.data.matchAll(/[\d٤٥۶۷]{3}/g)) {
          const range = document.createRange()
          range.setStart(nodes.currentNode, index)
          range.setEnd(nodes.currentNode, index + 3)
          const { top, left } = range.getBoundingClientRect()
          found.push(Math.round(top / 12) * 1000 + left)
        }
      }
      return found
    }),
  )
  t.equal(places.length, 3)
  for (const found of places) {
    t.equal(found.length, 7)
    t.same(
      found,
      found.toSorted((a, b) => a - b),
    )
  }
})

browserTest('twenty hostile texts, none of which makes the page longer than its text needs', async (t) => {
  const height = () => page.evaluate(() => (globalThis as any).document.documentElement.scrollHeight as number)
  const values: Record<string, string> = {
    'line breaks': '\n'.repeat(100_000),
    'line breaks with spaces': '\n '.repeat(50_000),
    'line breaks with joiners': '\n\u200d'.repeat(50_000),
    'line breaks with no-break spaces': '\n\u00a0'.repeat(50_000),
    'line breaks with marks': '\n\u0301'.repeat(50_000),
    'CR LF': '\r\n'.repeat(50_000),
    'line separators': '\u2028'.repeat(50_000),
    'line breaks of many kinds': '\u2028\n\u000b\n\u000c\n\u0085\n'.repeat(10_000),
    'a megabyte of spaces': ' '.repeat(1_000_000),
    'spaces after a joiner': `\u200d${' '.repeat(100_000)}`,
    'wide spaces': '\u3000'.repeat(100_000),
    tabs: '\t'.repeat(100_000),
    'zero-width spaces': '\u200b'.repeat(100_000),
    'Hangul fillers': '\u3164'.repeat(100_000),
    'empty Braille': '\u2800'.repeat(100_000),
    'a stack of marks': `Z${'\u0301\u0324'.repeat(200)}`,
    'stacks of marks': `Z${'\u030d\u0324\u0325\u0326'.repeat(30)}`.repeat(3),
    'a very wide sign': '\ufdfd'.repeat(50),
    'very tall signs': '\u{12031}'.repeat(50),
    'letters that stand on each other': '\u0e33\u0eb3'.repeat(500),
    'pictures with a selector that does nothing': '\u{1f4a9}\ufe0f'.repeat(10),
    'marks by turns': '\u0301\u0324\u0316'.repeat(10_000),
  }
  t.ok(Object.keys(values).length >= 20)
  const ask = (text: string): Asked => ({
    description: `a${text}b`,
    requester: `a${text}b`,
    ...details({ [`a${text}b`]: `a${text}b` }),
  })
  await open(ask(''))
  const plain = await height()
  for (const [name, text] of Object.entries(values)) {
    await open(ask(text))
    const more = (await height()) - plain
    // Eight lines of the page for each of them.
    t.ok(more <= 4 * 8 * 24, `${name} in four places: ${more} more pixels`)
    const ends = await page
      .locator('.asked > :first-child dd, .description, .key, .string')
      .evaluateAll((all: any[]) =>
        all.slice(0, 4).map((element) => element.textContent.replace('"', '').at(-1) as string),
      )
    t.match(ends.join(''), /^[b"]+$/, 'what stands behind it is seen')
    t.equal(await page.evaluate(() => (globalThis as any).document.documentElement.scrollWidth as number), phone.width)
  }
})
