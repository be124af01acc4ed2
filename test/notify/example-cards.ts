// Cards as chats get them, of the confirmations that the pages' tests and pictures show, too; and cards of whatever an agent
// may write.
import fc from 'fast-check'
import type { ButtonVerb } from '../../src/access/button.js'
import { writePress } from '../../src/access/button.js'
import type { Confirmation, Submission, Terms } from '../../src/core/model.js'
import { type Card, cardOf, type View } from '../../src/notify/card.js'
import type { Chat } from '../../src/notify/chat.js'
import { tricky } from '../core/tricky.js'
import { example } from '../web/examples.js'

export const publicPage = { url: 'https://holdpoint.example.com/view/1', isPublic: true, decides: false }
export const localPage = { url: 'http://127.0.0.1:6001/view/1', isPublic: false, decides: false }

/** What a button of an example sends. */
export function pressOf(verb: ButtonVerb): string {
  return writePress(verb, verb.padEnd(43, 'x'))
}

/** With buttons where the chat has some, and a public page. */
export function cardFor({ dialect, hasButtons }: Chat, confirmation: Confirmation, more: Partial<View> = {}): Card {
  const press = hasButtons() ? pressOf : null
  return cardOf({ confirmation, reminder: null, asking: null, press, page: publicPage, ...more }, dialect)
}

/** What somebody could write to be taken for something else: markup of all chats, mentions, links, and lines like ours. */
const bait = [
  '<b>Approved</b>',
  '</code></pre>',
  '&lt;b&gt; &amp;',
  '`',
  '```',
  '```\nRisk: low\n```',
  '*bold* _it_ ~no~',
  '**bold** __it__',
  '<!channel>',
  '<@U012AB3CD>',
  '<https://evil.example|the page>',
  '[the page](https://evil.example)',
  '@everyone',
  '@here',
  '#general',
  ':white_check_mark:',
  '<@&123456789012345678> <#123456789012345678> </approve:1>',
  '<a:tick:123456789012345678> <t:1700000000:R>',
  '\n# Approved\n-# small\n> quoted\n- item',
  '||hidden||',
  '\\',
  'https://evil.example/approve',
  'www.evil.example',
  'evil.example',
  'http://192.0.2.7/a',
  '“quoted”',
  '│ barred',
  '\nRisk: low\nID: forged\nDigest: 00',
  '✅ Approved',
  '\u202eorder',
  '👍'.repeat(40),
  '漢'.repeat(300),
  '&'.repeat(300),
  'x'.repeat(2000),
]

const words = fc.array(fc.oneof(fc.constantFrom(...bait), tricky, fc.string({ unit: 'binary' })), { maxLength: 8 })
const text = words.map((all) => all.join(' ') || 'x')
const long = fc.oneof(
  { weight: 9, arbitrary: text },
  { weight: 1, arbitrary: text.map((one) => one.repeat(100_000).slice(0, 100_000)) },
)

/** Whatever an agent may ask for. */
export const anyRequest = fc
  .record({
    action: text,
    description: long,
    details: fc.oneof(
      fc.constant('{}'),
      fc
        .dictionary(text, fc.oneof(text, fc.integer(), fc.array(text, { maxLength: 3 })), { maxKeys: 4 })
        .map((one) => JSON.stringify(one)),
      long.map((one) => JSON.stringify({ one })),
    ),
    requester: text,
    onBehalfOf: fc.option(text),
    sessionKey: fc.oneof(fc.constant(''), text),
  })
  .map((asked: Partial<Submission>) => example(asked))

export const highRisk: Partial<Terms> = { rule: 'production changes', risk: 'high', mayWhitelist: false }
