// Discord's embeds and components: what a card, an alarm, a few lines, a form and an answer to one person look like there.
// Theirs stands in code spans and blocks, where Discord recognises neither markup nor mentions, and no mention is allowed to
// ping anyway.
import { cut } from '../core/cut.js'
import type { Alarm } from '../core/model.js'
import { alarmFactsOf, type AlarmShare, noSessionKey } from './alarm-text.js'
import type { Block, Card, CardButton, Dialect, Tone } from './card.js'
import type { PressAnswer, Text, TextPart } from './chat.js'

export interface DiscordMessage {
  allowed_mentions: { parse: [] }
  embeds: Embed[]
  /** Rows of buttons; none takes those away that were there. */
  components: object[]
}

interface Embed {
  title?: string
  color?: number
  description?: string
  fields?: { name: string; value: string }[]
  footer?: { text: string }
}

/** Of the description of an embed. */
const mostInDescription = 4096
/** Of a sentence of ours, a risk, a time. */
const mostOurs = 400
/** Of a button's label, and of its URL. */
const mostInLabel = 80
const mostInUrl = 512
/** Of a form's title and of its label, and of what is written into it. */
const mostInTitle = 45
const mostInReason = 4000
/** What one person alone is told: of 2000, as each character may have to be escaped. */
const mostInWhisper = 1000
/** Of all embeds of a message together. */
const mostInEmbeds = 6000

// Each text has its share, so that none can push a fact out of the 6000: what is ours and short stays below 3200.
export const dialect: Dialect = {
  adapt: withoutBackticks,
  share: { name: 200, details: 1300, description: 1300, isShared: true },
}
const alarmShare: AlarmShare = { name: 200, reason: 960, next: 960 }

const colors: Record<Tone, number> = {
  pending: 0xf5a623,
  asking: 0x4a90e2,
  approved: 0x2e9e5b,
  denied: 0xd0021b,
  over: 0x7a7f87,
}
const red = colors.denied

/** Nobody is pinged, whatever a text says. */
const silent: Pick<DiscordMessage, 'allowed_mentions'> = { allowed_mentions: { parse: [] } }

export function renderCard(card: Card): DiscordMessage {
  const { title, tone, notes, facts, details, description, obstacle, url } = card
  const color = colors[tone]
  const links = card.buttons.flat().filter((one) => one.kind === 'link')
  // A button takes no longer address.
  const address = url ?? links.find((one) => one.url.length > mostInUrl)?.url ?? null
  const lines = [
    ...notes.map(ours),
    ...facts.map(({ label, value, isTheirs }) => `**${escape(label)}:** ${isTheirs ? span(value) : ours(value)}`),
    ...(obstacle === null ? [] : [ours(obstacle)]),
    ...(address === null ? [] : [`See and decide it: <${address}>`]),
  ]
  const blocks = [...(details === null ? [] : [details]), description].map((one) => blockEmbed(one, color))
  const taken = blocks.reduce((sum, one) => sum + one.title.length + one.description.length, title.length)
  return {
    ...silent,
    embeds: [{ title, color, description: fill(lines, mostInEmbeds - taken) }, ...blocks],
    components: rowsOf(card.buttons),
  }
}

export function renderAlarm(alarm: Alarm): DiscordMessage {
  const facts = alarmFactsOf(alarm, alarmShare, withoutBackticks)
  return {
    ...silent,
    embeds: [
      {
        title: `⛔ ${facts.happened}`,
        color: red,
        description: block(facts.reason),
        fields: [
          { name: 'Session', value: facts.sessionKey === null ? noSessionKey : span(facts.sessionKey) },
          { name: 'Requester', value: span(facts.requester) },
          { name: facts.next, value: block(facts.command) },
          { name: 'Or', value: block(facts.request) },
        ],
        footer: { text: facts.at },
      },
    ],
    components: [],
  }
}

export function renderText({ lines, link }: Text): DiscordMessage {
  const part = (one: TextPart) => {
    if ('theirs' in one) return span(cut(withoutBackticks(one.theirs), mostOurs))
    return 'bold' in one ? `**${escape(cut(one.bold, mostOurs))}**` : ours(one.ours)
  }
  return {
    ...silent,
    embeds: [{ description: fill(lines.map((parts) => parts.map(part).join(''))) }],
    components: link === null ? [] : rowsOf([[{ kind: 'link', ...link }]]),
  }
}

/** Under this name comes back what was written into the form. */
export const reasonInput = 'reason'

export function renderForm({ title, label, data, isRequired }: Extract<PressAnswer, { kind: 'form' }>): object {
  const input = { type: 4, custom_id: reasonInput, style: 2, required: isRequired, max_length: mostInReason }
  return {
    custom_id: data,
    title: title.slice(0, mostInTitle),
    components: [{ type: 18, label: label.slice(0, mostInTitle), component: input }],
  }
}

/** Seen by one person alone. */
export function renderWhisper(text: string): object {
  return { ...silent, content: escape(cut(text, mostInWhisper)), flags: 64 }
}

function blockEmbed({ label, text }: Block, color: number) {
  return { color, title: label, description: block(text) }
}

function rowsOf(rows: CardButton[][]): object[] {
  return rows
    .map((row) => row.filter((one) => one.kind === 'press' || one.url.length <= mostInUrl).map(button))
    .filter((row) => row.length > 0)
    .map((components) => ({ type: 1, components }))
}

const styles = { approve: 3, deny: 4, plain: 2, link: 5 }

function button(one: CardButton): object {
  const shown = { type: 2, label: one.label.slice(0, mostInLabel) }
  if (one.kind === 'link') return { ...shown, style: styles.link, url: one.url }
  return { ...shown, style: styles[one.style], custom_id: one.data }
}

/** As many lines as there is room for. */
function fill(lines: string[], room = Infinity): string {
  const more = '…'
  const most = Math.min(room, mostInDescription) - more.length - 1
  let text = ''
  for (const line of lines) {
    const next = text === '' ? line : `${text}\n${line}`
    if (next.length > most) return `${text}\n${more}`
    text = next
  }
  return text
}

function span(text: string): string {
  return `\`${text}\``
}

function block(text: string): string {
  return `\`\`\`\n${text}\n\`\`\``
}

/** A code span or block ends only at a backtick, so agents get a look-alike (U+02CB), and that one is written out. */
function withoutBackticks(shown: string): string {
  return shown.replaceAll('ˋ', '\\u{2cb}').replaceAll('`', 'ˋ')
}

function ours(sentence: string): string {
  return escape(cut(sentence, mostOurs))
}

/** What Discord would take for formatting, a mention, an emoji or a link. */
function escape(text: string): string {
  return text.replace(/[\\*_~`|<>@#[\]]|:(?=\/\/|\w+:)/g, '\\$&')
}
