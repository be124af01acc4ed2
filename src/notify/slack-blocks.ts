// Slack's blocks: what a card, an alarm, a few lines and a form look like there. Theirs stands in code, where nothing is
// formatted; & < > are escaped everywhere, so that nothing becomes a mention or a link; and what could be taken for
// formatting in a line of ours stands in code, too.
import { cut } from '../core/cut.js'
import type { Alarm } from '../core/model.js'
import { alarmFactsOf, type AlarmShare, noSessionKey } from './alarm-text.js'
import type { Card, CardButton, Dialect } from './card.js'
import type { PressAnswer, Text, TextPart } from './chat.js'

export interface SlackMessage {
  /** What a notification shows, and whoever cannot see blocks. */
  text: string
  blocks: object[]
}

/** Of a section; escaped. */
const mostInSection = 3000
const mostBlocks = 50
/** Of one text in a line of ours, so that even escaped it has room there. */
const mostInPart = 500
/** Of a button's label, of its URL, and of a form's title. */
const mostInButton = 75
const mostInUrl = 3000
const mostInTitle = 24
/** Of what is written into a form: as much as Slack takes. */
const mostInReason = 3000

// The least that a section has of its own beside a text, and what is left for that.
const fence = '```'
const mostInFence = mostInSection - 100

export const dialect: Dialect = {
  adapt: withoutBackticks,
  share: { name: 200, details: 2000, description: 2000, isShared: true },
}
const alarmShare: AlarmShare = { name: 200, reason: 1500, next: 500 }

/** A code span or block ends only at a backtick, so agents get a look-alike (U+02CB), and that one is written out. */
function withoutBackticks(shown: string): string {
  return shown.replaceAll('ˋ', '\\u{2cb}').replaceAll('`', 'ˋ')
}

export function renderCard(card: Card): SlackMessage {
  const { title, notes, facts, details, description, obstacle, buttons, url } = card
  const action = facts.find(({ label }) => label === 'Action')
  const blocks = [
    header(title),
    ...sections(notes.map(ours)),
    ...sections(
      facts.map(({ label, value, isTheirs }) => `*${escape(label)}:* ${isTheirs ? code(value) : ours(value)}`),
    ),
    ...(details === null ? [] : fenced(details.label, details.text)),
    ...fenced(description.label, description.text),
    ...sections(obstacle === null ? [] : [ours(obstacle)]),
    ...sections(url === null ? [] : [`See and decide it: <${escape(url)}>`]),
    ...buttons.map((row, index) => buttonRow(row, index)),
  ]
  return { text: escape(title) + (action === undefined ? '' : `: ${code(action.value)}`), blocks }
}

export function renderAlarm(alarm: Alarm): SlackMessage {
  const facts = alarmFactsOf(alarm, alarmShare, withoutBackticks)
  const title = `⛔ ${facts.happened}`
  const blocks = [
    header(title),
    ...sections([
      `*Session:* ${facts.sessionKey === null ? noSessionKey : code(facts.sessionKey)}`,
      `*Requester:* ${code(facts.requester)}`,
      `*When:* ${facts.at}`,
    ]),
    ...fenced('Why', facts.reason),
    ...fenced(facts.next, facts.command),
    ...fenced('Or', facts.request),
  ]
  return { text: title, blocks }
}

export function renderText({ lines, link }: Text): SlackMessage {
  const part = (one: TextPart) => {
    if ('theirs' in one) return code(withoutBackticks(cut(one.theirs, mostInPart)))
    return 'bold' in one ? `*${escape(one.bold)}*` : ours(one.ours)
  }
  // What a section does not take is left out.
  const join = (line: string, more: string) => (line.length + more.length <= mostInSection ? line + more : line)
  const written = lines.map((parts) => parts.map(part).reduce(join, ''))
  const blocks = sections(written).slice(0, mostBlocks - 1)
  const row = link === null ? [] : [buttonRow([{ kind: 'link', ...link }], 0)]
  return { text: written[0] ?? '', blocks: [...blocks, ...row] }
}

/** What a form sends comes back as `data`, and what was written in it under these names. */
export const reasonBlock = 'reason'
export const reasonInput = 'text'

export function renderForm({ title, label, isRequired }: Extract<PressAnswer, { kind: 'form' }>, data: string): object {
  return {
    type: 'modal',
    callback_id: 'reason',
    private_metadata: data,
    title: plain(title, mostInTitle),
    submit: plain(title, mostInTitle),
    close: plain('Back', mostInTitle),
    blocks: [
      {
        type: 'input',
        block_id: reasonBlock,
        optional: !isRequired,
        label: plain(label, mostInSection),
        element: { type: 'plain_text_input', action_id: reasonInput, multiline: true, max_length: mostInReason },
      },
    ],
  }
}

/** Our own words for one person alone. */
export function renderWhisper(text: string): string {
  return ours(text)
}

function header(title: string): object {
  return { type: 'header', text: { type: 'plain_text', text: title.slice(0, 150), emoji: true } }
}

/** Lines, as many to a section as it takes. */
function sections(lines: string[]): object[] {
  const texts: string[] = []
  for (const line of lines) {
    const last = texts.at(-1)
    if (last !== undefined && last.length + 1 + line.length <= mostInSection)
      texts[texts.length - 1] = `${last}\n${line}`
    else texts.push(line)
  }
  return texts.filter((text) => text !== '').map(section)
}

function section(text: string): object {
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }
}

/** A text in code, below its label; over several sections where one does not take it. */
function fenced(label: string, text: string): object[] {
  const chunks: string[] = []
  // At most five times as long once it is escaped.
  for (const piece of text.match(/[^\n]{1,500}\n?|\n/gu) ?? []) {
    const last = chunks.at(-1)
    const escaped = escape(piece)
    if (last !== undefined && last.length + escaped.length <= mostInFence) chunks[chunks.length - 1] = last + escaped
    else chunks.push(escaped)
  }
  const blocks = chunks.map((chunk) => `${fence}\n${chunk.replace(/\n$/, '')}\n${fence}`)
  return blocks.map((block, index) => section(index === 0 ? `*${escape(label)}*\n${block}` : block))
}

function buttonRow(row: CardButton[], index: number): object {
  return {
    type: 'actions',
    block_id: `row_${index}`,
    elements: row.map((one, place) => button(one, `${index}_${place}`)),
  }
}

function button(one: CardButton, place: string): object {
  const text = plain(one.label, mostInButton)
  // Slack tells of these presses, too: they decide nothing.
  if (one.kind === 'link') return { type: 'button', action_id: `open_${place}`, text, url: one.url.slice(0, mostInUrl) }
  const style = one.style === 'approve' ? { style: 'primary' } : one.style === 'deny' ? { style: 'danger' } : {}
  return { type: 'button', action_id: `press_${place}`, text, value: one.data, ...style }
}

function plain(text: string, most: number): object {
  return { type: 'plain_text', text: text.slice(0, most), emoji: false }
}

/** A sentence of ours in which a name may stand: words that could be taken for formatting are code. */
function ours(sentence: string): string {
  return cut(sentence, mostInPart)
    .split(/(\s+|[.,;?!()]+(?=\s|$))/)
    .map((word) => (/[*_~`]|(?<![A-Za-z0-9]):[^\s:]+:/.test(word) ? code(word.replaceAll('`', 'ˋ')) : escape(word)))
    .join('')
}

/** What is in it has no backtick. */
function code(adapted: string): string {
  return `\`${escape(adapted)}\``
}

function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
