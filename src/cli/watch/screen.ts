// The screen of watch, drawn from its state (pure): as many lines as it has, none wider than it is. What others wrote never
// stands at the edge.
import { counted, numbered } from '../../core/length.js'
import { visibleLine } from '../../core/visible.js'
import { columnsOf, fit, padEnd, wrapWords } from '../columns.js'
import { type Line, type Look, span, type Span } from '../span.js'
import { lengthOf } from '../time-text.js'
import {
  cardRows,
  fewestColumns,
  fewestRows,
  isTooSmall,
  type Item,
  listRows,
  type OpenCard,
  type Prompt,
  type State,
  unseenLines,
} from './state.js'

export interface Frame {
  /** One for each row of the screen. */
  lines: Line[]
  /** Where something is typed, from 0; null: nowhere. */
  cursor: { row: number; column: number } | null
}

/** `arrange` has been asked before. */
export function draw(state: State, now: number): Frame {
  if (isTooSmall(state)) return plain(state, tooSmall(state))
  if (state.isHelp) return plain(state, [titleOf(state, 'Keys', now), ...helpLines(state)])
  return state.open === null ? drawList(state, now) : drawCard(state, state.open, now)
}

function plain({ rows }: State, lines: Line[]): Frame {
  return { lines: Array.from({ length: rows }, (_, row) => lines[row] ?? []), cursor: null }
}

function tooSmall({ columns, rows }: State): Line[] {
  const words = `Too small: ${fewestColumns} by ${fewestRows} at least.`
  return wrapWords(words, Math.max(1, columns))
    .slice(0, rows)
    .map((text) => [span(text.trimEnd())])
}

const keysOfAll = [
  ['Up, Down, k, j', 'the one above, the one below; a line of a request'],
  ['PageUp, PageDown, b, Space', 'a screen back, a screen on'],
  ['Home, End, g, G', 'to the beginning, to the end'],
  ['Enter', 'open the request that is marked'],
  ['a', 'approve it, once all of it was on the screen; A with a reason'],
  ['d', 'deny it, with a reason'],
  ['n, p', 'the next request, the one before'],
  ['Esc, q', 'back to the list; q there ends'],
  ['Ctrl-L', 'draw everything again'],
  ['Ctrl-C', 'end, from everywhere'],
] as const

function helpLines({ columns }: State): Line[] {
  const width = Math.min(28, Math.floor(columns / 2))
  const lines = keysOfAll.flatMap(([keys, does]): Line[] =>
    wrapWords(does, Math.max(2, columns - width - 1)).map((text, index) => [
      span(padEnd(index === 0 ? fit(keys, width) : '', width), 'bold'),
      span(` ${text.trimEnd()}`),
    ]),
  )
  return [[], ...lines, [], [span('Any key goes back.', 'quiet')]]
}

// -- the list ------------------------------------------------------------------------------------------------------------

function drawList(state: State, now: number): Frame {
  const { items, columns, top, chosen } = state
  const room = listRows(state)
  const layout = layoutFor(columns)
  const shown = items.slice(top, top + room)
  const rows: Line[] = shown.map((item) => itemLine(item, layout, item.id === chosen, columns, now + state.aheadMs))
  if (items.length === 0) rows.push([span('  Nothing waits for a decision.', 'quiet')])
  while (rows.length < room) rows.push([])
  const heads = state.rows < 8 ? [] : [[span(fit(headOf(layout), columns), 'quiet')]]
  const keys = ['Enter opens', 'a approves', 'd denies', '? all keys', 'q ends']
  return {
    lines: [
      titleOf(state, waitingWords(state), now),
      ...heads,
      ...rows,
      messageLine(state, now),
      keysLine(keys, columns),
    ],
    cursor: null,
  }
}

function waitingWords({ items, total }: State): string {
  const all = `${numbered(total)} ${total === 1 ? 'waits' : 'wait'}`
  return items.length < total ? `${all}, the first ${numbered(items.length)} of them here` : all
}

interface Layout {
  left: number
  risk: number
  action: number
  requester: number
  votes: number
  description: number
}

/** Where there is little room, what tells less goes first. */
function layoutFor(columns: number): Layout {
  const left = columns < 40 ? 7 : 12
  const risk = columns < 60 ? 0 : 7
  const votes = columns < 60 ? 0 : 6
  const requester = columns < 60 ? 0 : Math.min(20, Math.floor(columns / 6))
  const rest = Math.max(1, columns - 2 - left - 1 - risk - votes - (requester === 0 ? 0 : requester + 1))
  const action = columns < 50 ? rest : Math.min(40, Math.floor(rest / 2))
  return { left, risk, votes, requester, action, description: Math.max(0, rest - action - 1) }
}

function headOf({ left, risk, action, requester, votes, description }: Layout): string {
  const heads = [
    `  ${padEnd('LEFT', left)}`,
    ...(risk === 0 ? [] : [padEnd('RISK', risk - 1)]),
    padEnd(fit('ACTION', action), action),
    ...(requester === 0 ? [] : [padEnd(fit('REQUESTER', requester), requester)]),
    ...(votes === 0 ? [] : [padEnd('VOTES', votes - 1)]),
    ...(description < 4 ? [] : [fit('DESCRIPTION', description)]),
  ]
  return heads.join(' ')
}

function itemLine(item: Item, layout: Layout, isChosen: boolean, columns: number, now: number): Line {
  const { left, risk, action, requester, votes, description } = layout
  const ms = item.expiresAt - now
  const cell = (text: string, width: number, look?: Look): Span => span(padEnd(fit(text, width), width), look)
  const gap = span(' ')
  const time =
    columns < 40 ? lengthOf(ms).replace(/ .*? .*$/, (rest) => rest.split(' ').slice(0, 2).join(' ')) : lengthOf(ms)
  const line: Line = [
    span(isChosen ? '> ' : '  '),
    cell(ms <= 0 ? 'over' : time, left, ms < 60_000 ? 'warning' : undefined),
    gap,
    ...(risk === 0
      ? []
      : [cell(item.risk === 'high' ? 'HIGH' : item.risk, risk - 1, item.risk === 'high' ? 'bad' : undefined), gap]),
    cell(`${item.isOdd ? '! ' : ''}${visibleLine(item.action)}`, action, 'bold'),
    ...(requester === 0 ? [] : [gap, cell(visibleLine(item.requester), requester)]),
    ...(votes === 0 ? [] : [gap, cell(item.needed === 1 ? '' : `${item.given}/${item.needed}`, votes - 1)]),
    ...(description < 4 ? [] : [gap, cell(visibleLine(item.description), description, 'quiet')]),
  ]
  // One look for all of it: others would end the mark.
  return isChosen ? [span(padEnd(line.map(({ text }) => text).join(''), columns), 'chosen')] : line
}

// -- a card --------------------------------------------------------------------------------------------------------------

function drawCard(state: State, card: OpenCard, now: number): Frame {
  const { columns, items } = state
  const { found, lines, scroll, prompt } = card
  const room = cardRows(state)
  const index = items.findIndex(({ id }) => id === card.id)
  const place = index === -1 ? '' : ` ${numbered(index + 1)} of ${numbered(state.total)}`
  const left = found?.status === 'pending' ? `, ${leftWords(found.expires_at * 1000 - now - state.aheadMs)}` : ''
  const title = `request${place}${left}`
  const body: Line[] =
    found === null ? [[span('…', 'quiet')]] : lines.slice(scroll, scroll + room).map(({ line }) => line)
  while (body.length < room) body.push([])
  const top = [titleOf(state, title, now), ...body]
  if (prompt?.kind === 'text') return withQuestion(state, top, prompt, now)
  if (prompt?.kind === 'sure' && found !== null) {
    const question = `Approve ${visibleLine(found.action)}, digest ${visibleLine(found.digest.slice(0, 16))}?`
    const keys = 'y approves; any other key: no'
    return { lines: [...top, [span(fit(question, columns), 'bold')], [span(fit(keys, columns))]], cursor: null }
  }
  return { lines: [...top, cardMessage(state, card, now), keysLine(cardKeys(card), columns)], cursor: null }
}

function leftWords(ms: number): string {
  return ms <= 0 ? 'its time is over' : `${lengthOf(ms)} left`
}

function cardKeys({ found, isSeen }: OpenCard): string[] {
  const keys = ['Esc back', '? all keys', 'n next']
  if (found?.status !== 'pending') return keys
  return [isSeen ? 'a approves' : 'Space reads on', 'd denies', ...keys]
}

/** What just happened, or how much is yet to be read. */
function cardMessage(state: State, card: OpenCard, now: number): Line {
  if (state.message !== null || state.connection.kind === 'lost') return messageLine(state, now)
  if (card.isSent) return [span('Sent …', 'quiet')]
  const { lines, scroll, found } = card
  const room = cardRows(state)
  if (found === null || lines.length <= room) return []
  const to = Math.min(lines.length, scroll + room)
  const unseen = found.status === 'pending' ? unseenLines(card) : 0
  const where = `Lines ${scroll + 1} to ${to} of ${lines.length}`
  if (unseen === 0) return [span(fit(where, state.columns), 'quiet')]
  return [span(fit(`${counted(unseen, 'line')} not read yet. ${where}`, state.columns), 'warning')]
}

const labels = {
  typed: "Type the action's name to approve it",
  approve: 'Why it is approved',
  deny: 'Why it is denied; the agent is told',
}

function withQuestion(state: State, top: Line[], prompt: Extract<Prompt, { kind: 'text' }>, now: number): Frame {
  const { columns } = state
  const label = `${labels[prompt.for]}${prompt.isNeeded || prompt.for === 'typed' ? '' : ' (or nothing)'}. Enter goes on, Esc back.`
  const said: Line = state.message === null ? [span(fit(label, columns), 'bold')] : messageLine(state, now)
  const shown = prompt.text.map(typedCharacter)
  const room = Math.max(1, columns - 3)
  // As much before the cursor as fits, and what follows.
  let from = prompt.at
  while (from > 0 && columnsOf(shown.slice(from - 1, prompt.at).join('')) <= room) from -= 1
  const before = shown.slice(from, prompt.at).join('')
  const after = fitPlain(shown.slice(prompt.at), room - columnsOf(before))
  const line: Line = [span('> '), span(before + after)]
  return { lines: [...top, said, line], cursor: { row: state.rows - 1, column: 2 + columnsOf(before) } }
}

/** A space in what is being written is a space. */
function typedCharacter(character: string): string {
  return character === ' ' ? ' ' : visibleLine(character)
}

function fitPlain(characters: string[], room: number): string {
  let text = ''
  for (const one of characters) {
    if (columnsOf(text + one) > room) break
    text += one
  }
  return text
}

// -- what both have ------------------------------------------------------------------------------------------------------

function titleOf({ place, columns, connection }: State, what: string, now: number): Line {
  const right = connectionWords(connection, now)
  const rightRoom = Math.min(columns - 1, columnsOf(right) + 1)
  const left = fit(
    `Holdpoint: ${what}${columns < 60 ? '' : `  (${visibleLine(place)})`}`,
    Math.max(1, columns - rightRoom),
  )
  return [
    span(padEnd(left, columns - columnsOf(right)), 'bold'),
    span(fit(right, Math.max(0, columns - columnsOf(left))), connection.kind === 'lost' ? 'bad' : 'good'),
  ]
}

function connectionWords(connection: State['connection'], now: number): string {
  if (connection.kind === 'begun') return 'connecting'
  if (connection.kind === 'live') return 'live'
  return connection.isFinal ? 'ended' : `disconnected for ${lengthOf(now - connection.since)}`
}

function messageLine({ message, connection, columns }: State, _now: number): Line {
  if (message !== null) return [span(fit(message.text, columns), message.look)]
  if (connection.kind === 'lost') {
    const rest = connection.isFinal ? 'End with q, and start anew.' : 'It is tried again.'
    return [span(fit(`${connection.why} ${rest}`, columns), 'bad')]
  }
  return []
}

/** As many as fit. */
function keysLine(keys: string[], columns: number): Line {
  let text = ''
  for (const one of keys) {
    const more = text === '' ? one : `${text}  ${one}`
    if (more.length > columns) break
    text = more
  }
  return [span(text, 'quiet')]
}
