// What agents write, as people see it: escaped, bounded, and never able to pass for the rest of the message.
import fc from 'fast-check'
import t from 'tap'
import type { Alarm } from '../../src/core/model.js'
import { renderDiscord, renderDiscordAlarm } from '../../src/notify/discord.js'
import type { Notice } from '../../src/notify/notifier.js'
import { renderTelegram, renderTelegramAlarm } from '../../src/notify/telegram.js'
import { alarmOf } from '../alarm.js'
import { t0 } from '../support.js'
import { problemsOf, splitCode } from './fake-discord.js'
import { parseHtml } from './fake-telegram.js'

const plain: Notice = {
  id: '0198c0de-0000-7000-8000-000000000001',
  action: 'send_mail',
  description: 'Send the newsletter',
  details: '{}',
  requester: 'agent',
  onBehalfOf: null,
  sessionKey: '',
  digest: 'd1'.repeat(32),
  warnings: [],
  expiresAt: t0 + 300_000,
  baseUrl: 'http://127.0.0.1:6000',
  approvals: 1,
  needsKey: false,
  reasonFor: [],
  mustType: false,
  link: null,
}
const approve = `curl -X POST http://127.0.0.1:6000/confirm/${plain.id}/approve`
const here = `GET http://127.0.0.1:6000/confirm/${plain.id}`
const deny = `curl -X POST http://127.0.0.1:6000/confirm/${plain.id}/deny`

/** What nobody can see, or what turns text around. */
const invisible =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u00ad\u061c\u200b\u200e\u200f\u2028-\u202f\u2060-\u2066\u2068\u206a-\u206f\ufeff]/

function telegram(notice: Partial<Notice>) {
  const parsed = parseHtml(renderTelegram({ ...plain, ...notice }))
  if ('error' in parsed) throw new Error(parsed.error)
  return parsed
}

/** The description as Telegram shows it. */
function described(notice: Partial<Notice>): string {
  return telegram(notice).entities.findLast(({ type }) => type === 'pre')!.text
}

function discord(notice: Partial<Notice>) {
  const message = renderDiscord({ ...plain, ...notice })
  const embed = message.embeds[0]!
  const field = (name: string) => embed.fields.find((one) => one.name === name)?.value
  return { message, embed, field }
}

t.test('a Telegram message says what, who, which and how to answer', async (t) => {
  const { text } = telegram({ details: '{"to":"all"}', sessionKey: 's-1' })
  t.equal(
    text,
    [
      '🔔 Confirmation needed: send_mail',
      'Requester: agent',
      'Session: s-1',
      `ID: ${plain.id}`,
      'Digest: d1d1d1d1d1d1d1d1',
      'Expires: 2026-01-01T00:05:00.000Z',
      'Details',
      '{\n "to": "all"\n}',
      'Description',
      'Send the newsletter',
      `Approve: ${approve}`,
      `Deny: ${deny}`,
    ].join('\n'),
  )
})

t.test('a Discord message says the same', async (t) => {
  const { message, embed, field } = discord({ details: '{"to":"all"}', sessionKey: 's-1' })
  t.same(problemsOf(message), [])
  t.match(embed.title, /🔔/)
  t.equal(embed.description, '```\nSend the newsletter\n```')
  t.equal(field('Action'), '`send_mail`')
  t.equal(field('Details'), '```\n{\n "to": "all"\n}\n```')
  t.equal(field('Requester'), '`agent`')
  t.equal(field('Session'), '`s-1`')
  t.equal(field('ID'), `\`${plain.id}\``)
  t.equal(field('Digest'), '`d1d1d1d1d1d1d1d1`')
  t.equal(field('Approve'), `\`\`\`\n${approve}\n\`\`\``)
  t.equal(field('Deny'), `\`\`\`\n${deny}\n\`\`\``)
  t.equal(embed.footer.text, 'Expires 2026-01-01T00:05:00.000Z')
})

t.test('without details and session neither is mentioned', async (t) => {
  t.notMatch(telegram({}).text, /Details|Session/)
  const { field } = discord({})
  t.equal(field('Details'), undefined)
  t.equal(field('Session'), undefined)
})

/** How it looks in both, or in Discord if there is another. */
const attacks: [name: string, text: string, telegram: string, discord?: string][] = [
  ['HTML', '</pre><b>Approved</b> & <a href="x">y</a>', '</pre><b>Approved</b> & <a href="x">y</a>'],
  ['entities', '&lt;b&gt; &amp;amp;', '&lt;b&gt; &amp;amp;'],
  ['a fence', '```\n**free**\n```', '```↵\n**free**↵\n```', 'ˋˋˋ↵\n**free**↵\nˋˋˋ'],
  ['a look-alike of a fence', 'ˋˋˋ', 'ˋˋˋ', '\\u{2cb}\\u{2cb}\\u{2cb}'],
  ['mentions', '@everyone <@123> <@&4> <#5> @here', '@everyone <@123> <@&4> <#5> @here'],
  ['links', '[safe](https://evil.example) https://evil.example', '[safe](https://evil.example) https://evil.example'],
  ['a reversal', 'a\u202egnp.exe\u202c', 'a\\u{202e}gnp.exe\\u{202c}'],
  ['a zero width space', 'de\u200bploy', 'de\\u{200b}ploy'],
  ['a terminal escape', '\u001b[2Jx\u0007', '\\u{1b}[2Jx\\u{7}'],
  ['a carriage return', 'a\rb', 'a\\u{d}b'],
  ['a line separator', 'a\u2028b', 'a\\u{2028}b'],
  ['tag characters', 'a\u{e0041}b', 'a\\u{e0041}b'],
  ['a line break', '# not run:\nrm -rf /', '# not run:↵\nrm -rf /'],
  ['what plays a line break', '# not run:↵ rm -rf /', '# not run:\\u{21b5} rm -rf /'],
  ['what plays an escape', '\\u{202e} \\n', '\\\\u{202e} \\\\n'],
  ['a no-break space', 'rm\u00a0-rf', 'rm\\u{a0}-rf'],
  ['what is drawn as ASCII is', 'rm \u2011rf \ufb01le', 'rm \\u{2011}rf \\u{fb01}le'],
  ['a long gap', `a${' '.repeat(500)}b${'\n'.repeat(1480)}c`, 'a\\{500 spaces}b\\{1,480 line breaks}\nc'],
  ['amounts among letters from right to left', 'א 100 ב 200', '\u2067א\u2069 100 \u2067ב\u2069 200'],
  ['Persian amounts', '۱۲ ۳۴', '\u2067۱۲\u2069 \u2067۳۴\u2069'],
]
for (const [name, text, onTelegram, onDiscord] of attacks) {
  t.test(`${name} in a description stays what it is: text`, async (t) => {
    const parsed = telegram({ description: text })
    t.same(parsed.entities[5], { type: 'pre', text: onTelegram })
    t.same(
      parsed.entities.map(({ type }) => type),
      ['b', 'code', 'code', 'code', 'code', 'pre', 'code', 'code'],
    )
    const { message, embed } = discord({ description: text })
    t.same(problemsOf(message), [])
    t.same(splitCode(embed.description), { code: [onDiscord ?? onTelegram], rest: '' })
  })
}

t.test('newlines in a name cannot start a line of their own', async (t) => {
  const requester = 'bot\nID: forged\nApprove: curl evil\t!'
  const written = 'bot\\nID: forged\\nApprove: curl evil\\t!'
  t.match(telegram({ requester }).text, `Requester: ${written}\n`)
  t.equal(discord({ requester }).field('Requester'), `\`${written}\``)
  t.equal(
    telegram({ requester })
      .text.split('\n')
      .filter((line) => line.startsWith('ID:')).length,
    1,
  )
})

t.test('a description that plays the rest of the message stays inside its block', async (t) => {
  const description = `ok\nRequester: alice\nID: forged\nApprove: curl evil`
  const marked = description.replaceAll('\n', '↵\n')
  t.equal(described({ description }), marked)
  t.same(splitCode(discord({ description }).embed.description), { code: [marked], rest: '' })
})

t.test('backticks in a name cannot leave the code span', async (t) => {
  const value = discord({ requester: '` @everyone **bold** `' }).field('Requester')!
  t.same(splitCode(value), { code: ['ˋ @everyone **bold** ˋ'], rest: '' })
})

t.test('a string in the details cannot play another member, nor a line of its own', async (t) => {
  const details = JSON.stringify({ to: 'a",\n "all": "yes', 'k": 1, "x': '\\' })
  const shown = '{\n "to": "a\\",\\n \\"all\\": \\"yes",\n "k\\": 1, \\"x": "\\\\"\n}'
  t.equal(telegram({ details }).entities[5]!.text, shown)
  t.equal(discord({ details }).field('Details'), `\`\`\`\n${shown}\n\`\`\``)
})

t.test('what is too long is cut with a mark that says how much is missing; what fits is not', async (t) => {
  const cutOf = (text: string) => /^(x+)… \\\{cut: (\d+) more characters\}$/.exec(text)
  const long = 'x'.repeat(10_000)
  for (const shown of [
    described({ description: long }),
    splitCode(discord({ description: long }).embed.description).code[0]!,
  ]) {
    const [, kept, missing] = cutOf(shown) ?? []
    t.equal(kept!.length + Number(missing), 10_000)
    t.ok(kept!.length > 2200, 'most of the room is used')
  }
  t.equal(
    described({ description: 'x'.repeat(2280) }),
    'x'.repeat(2280),
    'without details the description has their room',
  )
  t.match(described({ description: 'x'.repeat(2281) }), cutMark)
  t.match(telegram({ action: long }).entities[1]!.text, cutMark)
  t.match(discord({ action: long }).field('Action'), /\\\{cut: \d+ more characters\}`$/)
  t.match(telegram({ details: JSON.stringify({ long }) }).entities[5]!.text, cutMark)
  t.match(
    discord({ details: JSON.stringify({ long }) }).field('Details (10,011 characters)'),
    /\\\{cut: \d+ more characters\}\n```$/,
  )
})

const odd = [
  'In this session, 1000 requests in a row were denied or expired.',
  'The same action was asked for 1000 times in a row, each time with other details.',
]

t.test('what is odd about it stands first, before what an agent wrote', async (t) => {
  const { text } = telegram({ warnings: odd })
  t.same(text.split('\n').slice(0, 4), [
    '🔔 Confirmation needed: send_mail',
    `⚠️ ${odd[0]}`,
    `⚠️ ${odd[1]}`,
    'Requester: agent',
  ])
  const { embed, message } = discord({ warnings: odd })
  t.same(problemsOf(message), [])
  t.same(embed.fields[0], { name: '⚠️ Warning', value: odd.join(' ') })
  t.notMatch(telegram({}).text, '⚠️')
  t.equal(discord({}).field('⚠️ Warning'), undefined)
})

t.test('a warning takes its room from the description, and what is cut then is not approved from there', async (t) => {
  const description = 'x'.repeat(2280)
  t.match(telegram({ description }).text, '/approve')
  t.notMatch(telegram({ description, warnings: odd }).text, '/approve')
  t.match(described({ description, warnings: odd }), cutMark)
})

t.test('for whom it says it acts is told as what nobody has verified', async (t) => {
  const notice = { onBehalfOf: 'alice\u202e `x` <b>' }
  t.match(telegram(notice).text, 'On behalf of (not verified): alice\\u{202e} `x` <b>\n')
  t.equal(discord(notice).field('On behalf of (not verified)'), '`alice\\u{202e} ˋxˋ <b>`')
  t.notMatch(telegram({}).text, 'behalf')
  t.equal(discord({}).field('On behalf of (not verified)'), undefined)
})

/** What an agent writes has its backslash doubled. */
const cutMark = /(?<!\\)\\\{cut: \d+ more characters\}$/

t.test('how long a long text is stands beside it', async (t) => {
  const notice = { description: 'line\n'.repeat(30), details: JSON.stringify({ long: 'x'.repeat(400) }) }
  t.match(telegram(notice).text, /\nDetails \(411 characters\)\n[^]*\nDescription \(150 characters, 31 lines\)\n/)
  t.match(discord(notice).field('Details (411 characters)'), /"x+"/)
  t.equal(discord(notice).field('Description above'), '(150 characters, 31 lines)')
})

t.test('no fact pushes another out: line breaks leave the details where they are seen', async (t) => {
  const details = '{"to":"all"}'
  for (const description of [
    '\n'.repeat(1480),
    '.\n'.repeat(1480),
    '\n '.repeat(1480),
    '\n\u200b'.repeat(1480),
    '\u2028'.repeat(1480),
  ]) {
    for (const notice of [
      { description: `a${description}b`, details },
      { description: 'a', details: JSON.stringify({ to: description }) },
    ]) {
      const { text } = telegram(notice)
      t.match(text, '"to": ')
      t.ok(text.split('\n').length < 90, 'on few lines')
      t.match(text, /Digest: d1d1[^]*Deny: curl/)
      t.ok(discord(notice).embed.description.split('\n').length < 70)
    }
  }
  t.match(
    telegram({ description: `a${'\n'.repeat(1480)}b`, details }).text,
    /Approve: curl/,
    'and what is whole can be approved',
  )
})

t.test(
  'a message that does not show all of it offers no command that approves, only where to see it whole',
  async (t) => {
    const long = 'x'.repeat(10_000)
    const many = JSON.stringify(
      Array.from({ length: 100 }, (_, index) => index).reduce((all, one) => ({ ...all, [`k${one}`]: one }), {}),
    )
    const link = 'https://gate.example/link/token'
    for (const part of [
      { description: long },
      { details: JSON.stringify({ long }) },
      { details: many },
      { action: long },
      { requester: long },
      { sessionKey: long },
      { description: '.\n'.repeat(100) },
    ]) {
      for (const notice of [part, { ...part, link }, { ...part, needsKey: true }]) {
        const { text } = telegram(notice)
        const { field } = discord(notice)
        t.notMatch(text, '/approve')
        t.match(text, deny.replace('curl -X POST', ''))
        t.notMatch(JSON.stringify(discord(notice).message), '/approve')
        const where =
          'link' in notice
            ? 'the link'
            : `GET http://127.0.0.1:6000/confirm/${plain.id}${'needsKey' in notice ? ' with a key' : ''}`
        const why = `not from here: it is too long to be shown whole. See it whole first: ${where}`
        t.match(text, `\nApprove: ${why}\n`)
        t.equal(field('Approve'), why)
        if ('link' in notice) t.match(text, `Decide: ${link}`)
      }
    }
  },
)

t.test('of a very long text only the beginning is looked at, and the rest is counted', async (t) => {
  const description = `a${'\n'.repeat(7999)}b${'\n'.repeat(80_000)}rm -rf /`
  t.equal(described({ description }), 'a\\{7,999 line breaks}\n… \\{cut: 80009 more characters}')
  t.notMatch(telegram({ description }).text, '/approve')
  const details = JSON.stringify({ text: 'x'.repeat(8000), then: 'rm -rf /' })
  t.match(telegram({ details }).text, /"text":"x+… \\\{cut: \d+ more characters\}/)
  t.notMatch(telegram({ details }).text, '/approve')
  t.notMatch(JSON.stringify(discord({ details }).message), '/approve')
})

t.test('a cut never halves a character', async (t) => {
  for (const pad of ['', 'x']) {
    const description = pad + '😀'.repeat(5000)
    t.ok(renderTelegram({ ...plain, description }).isWellFormed())
    t.ok(discord({ description }).embed.description.isWellFormed())
  }
})

t.test('everything at its longest still fits both services', async (t) => {
  for (const character of ['x', '&', '<', '`', '\u202e', '😀', '\u{e0041}', '\n', '"', '\\']) {
    const long = character.repeat(20_000)
    const notice = {
      action: long,
      description: long,
      details: JSON.stringify({ [long]: long }),
      requester: long,
      onBehalfOf: long,
      sessionKey: long,
      warnings: odd,
      baseUrl: `http://[${'f'.repeat(39)}]:65535`,
    }
    t.ok(telegram(notice).text.length <= 4096)
    t.same(problemsOf(discord(notice).message), [])
  }
})

/** Anything a submission may hold, with a liking for what means something to a chat. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        ...[
          '<',
          '>',
          '&',
          '`',
          '``',
          '```',
          '```js\n',
          '\n',
          '\r',
          '\t',
          '\\',
          '*',
          '_',
          '~~',
          '||',
          '@everyone',
          '@here',
        ],
        ...[
          '<@1>',
          '</pre>',
          '</code>',
          '<b>',
          '<!--',
          '&lt;',
          '&#60;',
          '&#x3c;',
          '[a](b)',
          'https://e.example',
          '/start',
        ],
        ...[
          '\u202e',
          '\u2066',
          '\u200b',
          '\u2028',
          '\u0085',
          '\u001b[0m',
          '😀',
          '\u{e0061}',
          '… \\{cut: 1 more characters}',
          'א',
          '\n\n\n\n\n',
          'ˋ',
        ],
      ),
      fc.tuple(fc.constantFrom('x', '&', '`', '😀', '\u202e'), fc.nat(3000)).map(([one, count]) => one.repeat(count)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))
const required = hostile.map((text) => text.trim() || 'x')
const notices = fc.record({
  action: required,
  description: required,
  details: fc
    .dictionary(hostile, fc.oneof(hostile, fc.integer(), fc.array(hostile, { maxLength: 3 })), { maxKeys: 3 })
    .map((details) => JSON.stringify(details)),
  requester: hostile,
  onBehalfOf: fc.option(required),
  sessionKey: hostile,
  warnings: fc.subarray(odd),
})

t.test('no text of an agent breaks the limits or the shape of a Telegram message', async (t) => {
  fc.assert(
    fc.property(notices, (notice) => {
      const { text, entities } = telegram(notice)
      const hasDetails = notice.details !== '{}'
      const hasBehalf = notice.onBehalfOf !== null
      const hasSession = notice.sessionKey !== ''
      const isWhole = entities.at(-2)!.type === 'code'
      const named = [
        'b',
        'code',
        'code',
        hasBehalf && 'code',
        hasSession && 'code',
        'code',
        'code',
        hasDetails && 'pre',
        'pre',
      ]
      const shape = [...named, isWhole && 'code', 'code']
      const types = entities.map(({ type }) => type)
      const fixed = [
        '🔔 <b>: <code>\n',
        notice.warnings.map((one) => `⚠️ ${one}\n`).join(''),
        'Requester: <code>\n',
        hasBehalf ? 'On behalf of (not verified): <code>\n' : '',
        hasSession ? 'Session: <code>\n' : '',
        'ID: <code>\nDigest: <code>\nExpires: 2026-01-01T00:05:00.000Z\n',
        hasDetails ? 'Details\n<pre>\n' : '',
        'Description\n<pre>\n',
        isWhole
          ? 'Approve: <code>\n'
          : `Approve: not from here: it is too long to be shown whole. See it whole first: ${here}\n`,
        'Deny: <code>',
      ].join('')
      const skeleton = renderTelegram({ ...plain, ...notice })
        .replace(/<(b|code|pre)>[^<]*<\/\1>/g, '<$1>')
        .replace(/^(Details|Description) \([\d,]+ characters(?:, [\d,]+ lines)?\)$/gm, '$1')
      return (
        text.length >= 1 &&
        text.length <= 4096 &&
        !invisible.test(text) &&
        text.isWellFormed() &&
        types.join() === shape.filter(Boolean).join() &&
        skeleton === fixed &&
        isWhole === !entities.some(({ text }) => cutMark.test(text)) &&
        (!isWhole || entities.at(-2)!.text === approve) &&
        entities.at(-1)!.text === deny &&
        entities.every((one) => one.type === 'pre' || !/[\n\t]/.test(one.text))
      )
    }),
    { numRuns: 200 },
  )
  t.pass()
})

t.test('no text of an agent breaks the limits or the shape of a Discord message', async (t) => {
  fc.assert(
    fc.property(notices, (notice) => {
      const { message, embed } = discord(notice)
      const names = [
        '⚠️ Warning',
        'Action',
        'Details',
        'Requester',
        'On behalf of (not verified)',
        'Session',
        'Description above',
        'ID',
        'Digest',
        'Approve',
        'Deny',
      ]
      const ours = /^not from here: |^\([\d,]+ characters|^(In this session|The same action)/
      const values = [embed.description, ...embed.fields.map(({ value }) => value)].filter((value) => !ours.test(value))
      return (
        problemsOf(message).length === 0 &&
        embed.fields.every(({ name }) =>
          names.includes(name.replace(/ \([\d,]+ characters(?:, [\d,]+ lines)?\)$/, '')),
        ) &&
        values.every((value) => {
          const { code, rest } = splitCode(value)
          // An empty name has nothing to show and leaves its two backticks.
          return (code.length === 1 && rest === '') || value === '``'
        }) &&
        values.every((value) => !invisible.test(value) && value.isWellFormed()) &&
        embed.fields.every(({ value }) => value.startsWith('```') || !value.includes('\n'))
      )
    }),
    { numRuns: 200 },
  )
  t.pass()
})

t.test('a link, the need for a key and for several people are said, and still it all fits', async (t) => {
  const link = `https://${'h'.repeat(192)}/link/${'t'.repeat(43)}`
  const reasonFor: Notice['reasonFor'] = ['approve', 'deny']
  const said = { link, needsKey: true, approvals: 2, reasonFor, mustType: true }
  const { text } = telegram(said)
  t.match(text, `Decide: ${link}`)
  t.match(text, 'Needs: 2 different people; one denial ends it')
  t.match(
    text,
    `Approve: curl -X POST -H "Authorization: Bearer $KEY" http://127.0.0.1:6000/confirm/${plain.id}/approve`,
  )
  t.match(
    text,
    `/approve -H 'content-type: application/json' -d '{"reason":"WHY","typed_action":"NAME OF THE ACTION"}'`,
  )
  t.match(text, `/deny -H 'content-type: application/json' -d '{"reason":"WHY"}'`)
  const { field } = discord(said)
  t.equal(field('Decide'), link)
  t.match(field('Needs'), /2 different people/)
  const long = 'x'.repeat(10_000)
  const most = {
    ...said,
    ...{ action: long, description: long, requester: long, onBehalfOf: long, sessionKey: long },
    baseUrl: `http://${'b'.repeat(100)}`,
    details: JSON.stringify({ long }),
  }
  t.ok(telegram(most).text.length <= 4096)
  t.same(problemsOf(discord(most).message), [])

  const name = 'x'.repeat(200)
  const whole = {
    ...most,
    ...{ action: name, requester: name, onBehalfOf: 'x'.repeat(100), sessionKey: name },
    details: JSON.stringify({ a: 'x'.repeat(1180) }),
  }
  for (const warnings of [[], odd]) {
    const room = 1080 - warnings.reduce((sum, one) => sum + `⚠️ ${one}\n`.length, 0)
    const { text } = telegram({ ...whole, warnings, description: 'x'.repeat(room) })
    t.match(text, '/approve', 'all of it is shown, with the longest commands')
    t.ok(text.length <= 4096, `${text.length} characters`)
  }
})

// -- alarms ------------------------------------------------------------------------------------------------------------

function telegramAlarm(fields: Partial<Alarm>) {
  const html = renderTelegramAlarm(alarmOf({ createdAt: t0, ...fields }))
  const parsed = parseHtml(html)
  if ('error' in parsed) throw new Error(parsed.error)
  return { html, ...parsed }
}

function discordAlarm(fields: Partial<Alarm>) {
  const message = renderDiscordAlarm(alarmOf({ createdAt: t0, ...fields }))
  const embed = message.embeds[0]!
  return { message, embed, field: (name: string) => embed.fields.find((one) => one.name === name)?.value }
}

t.test('an alarm says what happened, to which session of whom, why, and what to do next', async (t) => {
  t.equal(
    telegramAlarm({ sessionKey: 'a b' }).text,
    [
      '⛔ Session suspended',
      'Session: a b',
      'Requester: bot',
      'When: 2026-01-01T00:00:00.000Z',
      'Why',
      'nine denials in a row',
      'To resume it: holdpoint sessions resume a b',
      'Or: POST /sessions/a%20b/resume',
    ].join('\n'),
  )
  const { message, embed, field } = discordAlarm({ sessionKey: 'a b' })
  t.same(problemsOf(message), [])
  t.equal(embed.title, '⛔ Session suspended')
  t.equal(embed.description, '```\nnine denials in a row\n```')
  t.equal(field('Session'), '`a b`')
  t.equal(field('Requester'), '`bot`')
  t.equal(field('To resume it'), '```\nholdpoint sessions resume a b\n```')
  t.equal(field('Or'), '```\nPOST /sessions/a%20b/resume\n```')
  t.equal(embed.footer.text, '2026-01-01T00:00:00.000Z')
})

t.test('a session without a key is named as that, which no key can be taken for', async (t) => {
  t.match(telegramAlarm({ sessionKey: '' }).text, '\nSession: the one without a key\n')
  t.equal(discordAlarm({ sessionKey: '' }).field('Session'), 'the one without a key')
  t.same(problemsOf(discordAlarm({ sessionKey: '' }).message), [])
  const sessionKey = 'the one without a key'
  t.equal(telegramAlarm({ sessionKey }).entities[1]!.text, sessionKey, 'it stands in code')
  t.equal(discordAlarm({ sessionKey }).field('Session'), `\`${sessionKey}\``)
})

for (const [name, text, onTelegram, onDiscord] of attacks) {
  t.test(`${name} in the reason of an alarm stays what it is: text`, async (t) => {
    const { entities } = telegramAlarm({ reason: text })
    t.same(entities[3], { type: 'pre', text: onTelegram })
    t.same(
      entities.map(({ type }) => type),
      ['b', 'code', 'code', 'pre', 'code', 'code'],
    )
    t.same(splitCode(discordAlarm({ reason: text }).embed.description), { code: [onDiscord ?? onTelegram], rest: '' })
  })
}

t.test('what is too long in an alarm is cut with a mark', async (t) => {
  const long = 'x'.repeat(10_000)
  const all = { requester: long, sessionKey: long, reason: long, command: long, request: long }
  const { entities } = telegramAlarm(all)
  t.equal(entities.filter(({ text }) => cutMark.test(text)).length, 5)
  const { embed } = discordAlarm(all)
  for (const value of [embed.description, ...embed.fields.map((one) => one.value)]) {
    t.match(splitCode(value).code[0], cutMark)
  }
  const key = 'k'.repeat(100)
  t.equal(telegramAlarm({ sessionKey: key }).entities[1]!.text, key, 'and what is not is whole')
})

const alarms = fc.record({
  requester: hostile,
  sessionKey: hostile,
  reason: hostile,
  command: hostile,
  request: hostile,
})

t.test('no text of others breaks the limits or the shape of an alarm', async (t) => {
  fc.assert(
    fc.property(alarms, (fields) => {
      const { html, text, entities } = telegramAlarm(fields)
      const { message, embed } = discordAlarm(fields)
      const hasKey = fields.sessionKey !== ''
      const fixed = [
        '⛔ <b>',
        `Session: ${hasKey ? '<code>' : 'the one without a key'}`,
        'Requester: <code>',
        'When: 2026-01-01T00:00:00.000Z',
        'Why',
        '<pre>',
        'To resume it: <code>',
        'Or: <code>',
      ].join('\n')
      const values = [embed.description, ...embed.fields.map(({ value }) => value)]
      return (
        html.replace(/<(b|code|pre)>[^<]*<\/\1>/g, '<$1>') === fixed &&
        text.length <= 4096 &&
        text.isWellFormed() &&
        !invisible.test(text) &&
        entities.every((one) => one.type === 'pre' || !/[\n\t]/.test(one.text)) &&
        problemsOf(message).length === 0 &&
        embed.fields.map(({ name }) => name).join() === 'Session,Requester,To resume it,Or' &&
        values.every((value) => {
          const { code, rest } = splitCode(value)
          const isEmpty = value === '``' || value === '```\n\n```' || value === 'the one without a key'
          return isEmpty || (code.length === 1 && rest === '')
        }) &&
        values.every((value) => !invisible.test(value) && value.isWellFormed())
      )
    }),
    { numRuns: 200 },
  )
  t.pass()
})
