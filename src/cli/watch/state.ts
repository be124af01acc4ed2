// What watch knows and shows, and what keys and news make of it (pure). A request can be approved once every line of it was on
// the screen.
import type { FoundConfirmation } from '../../client/index.js'
import { shortLine } from '../../core/cut.js'
import { visibleLine } from '../../core/visible.js'
import { cardOf, type CardLine, isAsItSays, layOutCard, lengthOfPart } from '../card.js'
import type { Look } from '../span.js'
import type { Key } from './keys.js'

/** As much of a request as the list shows. */
export interface Item {
  id: string
  action: string
  requester: string
  description: string
  risk: string
  expiresAt: number
  given: number
  needed: number
  isOdd: boolean
}

export interface State {
  columns: number
  rows: number
  /** Where the service is, as the screen says it. */
  place: string
  items: Item[]
  /** How many wait, also those that are not in the list. */
  total: number
  chosen: string | null
  /** The first of the list that is on the screen. */
  top: number
  /** When news, and not a key, chose another: what is pressed right then was meant for the one before. */
  movedAt: number
  connection: { kind: 'begun' } | { kind: 'live' } | { kind: 'lost'; since: number; why: string; isFinal: boolean }
  /** What the service's clock is ahead of ours. */
  aheadMs: number
  open: OpenCard | null
  isHelp: boolean
  message: { text: string; look?: Look } | null
}

export interface OpenCard {
  id: string
  found: FoundConfirmation | null
  /** Laid out for a width. */
  lines: CardLine[]
  width: number
  scroll: number
  /** Up to where everything was on the screen, in what the card says; see `CardLine`. */
  seen: number
  isSeen: boolean
  prompt: Prompt | null
  /** A decision is under way. */
  isSent: boolean
}

export interface Said {
  reason?: string
  typedAction?: string
}

export type Prompt =
  | { kind: 'text'; for: 'typed' | 'approve' | 'deny'; isNeeded: boolean; text: string[]; at: number; said: Said }
  | { kind: 'sure'; said: Said; askedAt: number }

export type Effect =
  | { kind: 'quit' }
  | { kind: 'suspend' }
  | { kind: 'redraw' }
  | { kind: 'load'; id: string }
  | { kind: 'decide'; verdict: 'approve' | 'deny'; id: string; said: Said }

export type News =
  | { kind: 'list'; items: Item[]; total: number; aheadMs: number }
  | { kind: 'live' }
  | { kind: 'lost'; why: string; at: number; isFinal: boolean }
  /** One that waits came, or changed. */
  | { kind: 'item'; item: Item }
  /** One that waited does no more. */
  | { kind: 'ended'; id: string; how: string }
  /** What is open, as it stands. */
  | { kind: 'record'; found: FoundConfirmation }
  | { kind: 'failed'; id: string; why: string }
  /** What came of a decision. */
  | { kind: 'answered'; id: string; text: string; isGood: boolean }

export function begin(place: string, columns: number, rows: number): State {
  return {
    columns,
    rows,
    place,
    items: [],
    total: 0,
    chosen: null,
    top: 0,
    movedAt: -Infinity,
    connection: { kind: 'begun' },
    aheadMs: 0,
    open: null,
    isHelp: false,
    message: null,
  }
}

/** Within it, a press was begun before what it now would mean was to be seen. */
const hesitationMs = 500
const mostTyped = 10_000

// -- where there is how much room ----------------------------------------------------------------------------------------

/** Less is too small to decide in. */
export const fewestColumns = 20
export const fewestRows = 5

export function isTooSmall({ columns, rows }: Pick<State, 'columns' | 'rows'>): boolean {
  return columns < fewestColumns || rows < fewestRows
}

/** Of the list: a title, the heads where there is room, what is said, and the keys. */
export function listRows({ rows }: Pick<State, 'rows'>): number {
  return Math.max(1, rows - (rows < 8 ? 3 : 4))
}

/** Of a card: a title, what is said, and the keys. */
export function cardRows({ rows }: Pick<State, 'rows'>): number {
  return Math.max(1, rows - 3)
}

/** What is to be on the screen, with what was seen of it by that. */
export function arrange(state: State): State {
  const { items, chosen, open } = state
  const index = items.findIndex(({ id }) => id === chosen)
  const room = listRows(state)
  const within = Math.min(Math.max(state.top, index - room + 1), Math.max(0, index))
  const top = Math.max(0, Math.min(within, items.length - room))
  return { ...state, top, open: open === null ? null : arrangeCard(open, state) }
}

function arrangeCard(card: OpenCard, state: State): OpenCard {
  if (card.found === null) return card
  const { columns: width } = state
  const isSame = card.width === width && card.lines.length > 0
  // Where it is wrapped anew, what stood on top stays there.
  const anchor = isSame ? 0 : (card.lines[card.scroll - 1]?.end ?? 0)
  const lines = isSame ? card.lines : layOutCard(cardOf(card.found), width)
  const wanted = isSame ? card.scroll : lines.findIndex(({ end }) => end > anchor)
  const room = cardRows(state)
  const scroll = Math.max(0, Math.min(wanted, lines.length - room))
  if (state.isHelp || isTooSmall(state)) return { ...card, lines, width, scroll }
  const isNext = scroll === 0 || lines[scroll - 1]!.end <= card.seen
  const last = lines[Math.min(lines.length, scroll + room) - 1]!.end
  const seen = isNext ? Math.max(card.seen, last) : card.seen
  return { ...card, lines, width, scroll, seen, isSeen: seen >= lines.at(-1)!.end }
}

/** How many lines were not on the screen yet. */
export function unseenLines({ lines, seen }: OpenCard): number {
  return lines.filter(({ end }) => end > seen).length
}

// -- keys ----------------------------------------------------------------------------------------------------------------

export interface Step {
  state: State
  effect?: Effect
}

export function press(before: State, key: Key, now: number): Step {
  if (key.name === 'ctrl-c') return { state: before, effect: { kind: 'quit' } }
  if (key.name === 'ctrl-z') return { state: before, effect: { kind: 'suspend' } }
  if (key.name === 'ctrl-l') return { state: before, effect: { kind: 'redraw' } }
  const state: State = { ...before, message: null }
  if (isTooSmall(state)) {
    const isQuit = key.name === 'text' && key.text === 'q' && (state.open?.prompt ?? null) === null
    return isQuit ? { state, effect: { kind: 'quit' } } : { state: before }
  }
  if (state.isHelp) return { state: { ...state, isHelp: false } }
  const { open } = state
  if (open === null) return pressInList(state, key, now)
  if (open.prompt !== null) return pressInPrompt(state, open, open.prompt, key, now)
  return pressInCard(state, open, key, now)
}

/** What is typed as a command. Pasted it is none. */
function commandOf(key: Key): string {
  if (key.name === 'paste') return ''
  return key.name === 'text' ? key.text : key.name
}

function pressInList(state: State, key: Key, now: number): Step {
  const room = listRows(state)
  switch (commandOf(key)) {
    case 'q':
    case 'ctrl-d':
      return { state, effect: { kind: 'quit' } }
    case '?':
    case 'h':
      return { state: { ...state, isHelp: true } }
    case 'up':
    case 'k':
      return { state: choose(state, -1) }
    case 'down':
    case 'j':
      return { state: choose(state, 1) }
    case 'pageup':
    case 'b':
      return { state: choose(state, -room) }
    case 'pagedown':
    case ' ':
      return { state: choose(state, room) }
    case 'home':
    case 'g':
      return { state: choose(state, -Infinity) }
    case 'end':
    case 'G':
      return { state: choose(state, Infinity) }
    case 'enter':
    case 'right':
      return openChosen(state, now, null)
    case 'a':
      return openToApprove(state, now)
    case 'd':
      return openChosen(state, now, textPrompt('deny', false))
    default:
      return { state }
  }
}

function choose(state: State, by: number): State {
  const { items, chosen } = state
  if (items.length === 0) return state
  const index = items.findIndex(({ id }) => id === chosen)
  const next = Math.max(0, Math.min(items.length - 1, index + by))
  return { ...state, chosen: items[next]!.id }
}

function openChosen(state: State, now: number, prompt: Prompt | null): Step {
  const { chosen, movedAt } = state
  if (chosen === null) return { state }
  if (now - movedAt < hesitationMs)
    return { state: { ...state, message: { text: 'The list has just moved: look again.' } } }
  return openCard(state, chosen, prompt)
}

/** Nobody approves what was not read, so it is only opened. */
function openToApprove(state: State, now: number): Step {
  const step = openChosen(state, now, null)
  if (step.effect === undefined) return step
  return { ...step, state: { ...step.state, message: { text: 'Read it, to its end; then a approves it.' } } }
}

function openCard(state: State, id: string, prompt: Prompt | null): Step {
  const open: OpenCard = {
    id,
    found: null,
    lines: [],
    width: 0,
    scroll: 0,
    seen: 0,
    isSeen: false,
    prompt,
    isSent: false,
  }
  return { state: { ...state, chosen: id, open }, effect: { kind: 'load', id } }
}

function pressInCard(state: State, open: OpenCard, key: Key, now: number): Step {
  const room = cardRows(state)
  const scroll = (by: number): Step => ({ state: withCard(state, { scroll: Math.max(0, open.scroll + by) }) })
  switch (commandOf(key)) {
    case 'q':
    case 'escape':
    case 'left':
    case 'backspace':
      return { state: { ...state, open: null } }
    case '?':
    case 'h':
      return { state: { ...state, isHelp: true } }
    case 'up':
    case 'k':
      return scroll(-1)
    case 'down':
    case 'j':
      return scroll(1)
    case 'pageup':
    case 'b':
      return scroll(-room)
    case 'pagedown':
    case ' ':
    case 'enter':
      return scroll(room)
    case 'home':
    case 'g':
      return scroll(-open.scroll)
    case 'end':
    case 'G':
      return scroll(open.lines.length)
    case 'n':
    case 'tab':
      return openNext(state, open, 1)
    case 'p':
      return openNext(state, open, -1)
    case 'a':
      return beginApproval(state, open, false, now)
    case 'A':
      return beginApproval(state, open, true, now)
    case 'd':
      return beginDenial(state, open)
    default:
      return { state }
  }
}

/** The next that waits; after one that ended, the one that took its place. */
function openNext(state: State, open: OpenCard, by: 1 | -1): Step {
  const { items, chosen } = state
  const index = items.findIndex(({ id }) => id === open.id)
  const next = index === -1 ? items.find(({ id }) => id === chosen) : items[index + by]
  if (next === undefined || next.id === open.id)
    return { state: { ...state, message: { text: 'No other request that way.' } } }
  return openCard(state, next.id, null)
}

/** Why nothing can be decided now; null if it can. */
function obstacleTo(state: State, { found, isSent }: OpenCard): string | null {
  if (found === null) return 'It is not here yet.'
  if (found.status !== 'pending') return 'It is decided, and that stands.'
  if (isSent) return 'A decision is under way.'
  if (state.connection.kind !== 'live') return 'Without the service nothing can be decided.'
  return null
}

function beginApproval(state: State, open: OpenCard, asksWhy: boolean, now: number): Step {
  const obstacle = obstacleTo(state, open)
  if (obstacle !== null || open.found === null) return warn(state, obstacle ?? '')
  if (!isAsItSays(open.found))
    return warn(
      state,
      'Its digest is not that of what is shown: it was changed on the way. It cannot be approved here.',
    )
  if (!open.isSeen) {
    const first = open.lines.findIndex(({ end }) => end > open.seen)
    const step = withCard(state, { scroll: Math.max(0, first) })
    return warn(step, 'Read it to the end first; Space shows more.')
  }
  return { state: withCard(state, { prompt: nextQuestion(open.found, {}, asksWhy, now) }) }
}

/** What has to be said before it can be approved, one after the other; then whether one is sure. */
function nextQuestion({ deciding }: FoundConfirmation, said: Said, asksWhy: boolean, now: number): Prompt {
  if (deciding?.typing_required === true && said.typedAction === undefined) return textPrompt('typed', true, said)
  const isNeeded = deciding?.reason_required.includes('approve') === true
  if ((isNeeded || asksWhy) && said.reason === undefined) return textPrompt('approve', isNeeded, said)
  return { kind: 'sure', said, askedAt: now }
}

function beginDenial(state: State, open: OpenCard): Step {
  const obstacle = obstacleTo(state, open)
  if (obstacle !== null) return warn(state, obstacle)
  const isNeeded = open.found?.deciding?.reason_required.includes('deny') === true
  return { state: withCard(state, { prompt: textPrompt('deny', isNeeded) }) }
}

function textPrompt(purpose: 'typed' | 'approve' | 'deny', isNeeded: boolean, said: Said = {}): Prompt {
  return { kind: 'text', for: purpose, isNeeded, text: [], at: 0, said }
}

function pressInPrompt(state: State, open: OpenCard, prompt: Prompt, key: Key, now: number): Step {
  if (prompt.kind === 'sure') {
    // Whoever typed ahead has not read the question.
    if (now - prompt.askedAt < hesitationMs) return { state }
    const isYes = key.name === 'text' && /^y$/i.test(key.text)
    if (!isYes) return { state: { ...withCard(state, { prompt: null }), message: { text: 'Nothing was decided.' } } }
    return send(state, open, 'approve', prompt.said)
  }
  switch (key.name) {
    case 'escape':
    case 'ctrl-d':
      return { state: { ...withCard(state, { prompt: null }), message: { text: 'Nothing was decided.' } } }
    case 'enter':
      return answer(state, open, prompt, now)
    default:
      return { state: withCard(state, { prompt: edit(prompt, key) }) }
  }
}

type TextPrompt = Extract<Prompt, { kind: 'text' }>

function answer(state: State, open: OpenCard, prompt: TextPrompt, now: number): Step {
  const text = prompt.text.join('').trim()
  if (text === '' && prompt.isNeeded)
    return warn(state, prompt.for === 'typed' ? "Its rule wants the action's name." : 'Its rule wants a reason.')
  const obstacle = obstacleTo(state, open)
  if (obstacle !== null || open.found === null) return warn(state, obstacle ?? '')
  if (prompt.for === 'deny') {
    if (text === '' && open.found.deciding?.reason_required.includes('deny') === true)
      return warn(state, 'Its rule wants a reason.')
    return send(state, open, 'deny', text === '' ? {} : { reason: text })
  }
  if (prompt.for === 'typed') {
    if (text !== open.found.action.trim()) return warn(state, "That is not the action's name.")
    return {
      state: withCard(state, { prompt: nextQuestion(open.found, { ...prompt.said, typedAction: text }, false, now) }),
    }
  }
  const said = text === '' ? prompt.said : { ...prompt.said, reason: text }
  return { state: withCard(state, { prompt: { kind: 'sure', said, askedAt: now } }) }
}

function send(state: State, open: OpenCard, verdict: 'approve' | 'deny', said: Said): Step {
  const obstacle = obstacleTo(state, open)
  if (obstacle !== null) return warn(withCard(state, { prompt: null }), obstacle)
  return {
    state: withCard(state, { prompt: null, isSent: true }),
    effect: { kind: 'decide', verdict, id: open.id, said },
  }
}

function edit(prompt: TextPrompt, key: Key): TextPrompt {
  const { text, at } = prompt
  const put = (characters: string[]) => {
    const added = characters.slice(0, Math.max(0, mostTyped - text.length))
    return { ...prompt, text: [...text.slice(0, at), ...added, ...text.slice(at)], at: at + added.length }
  }
  const cut = (from: number, to: number) => ({ ...prompt, text: [...text.slice(0, from), ...text.slice(to)], at: from })
  switch (key.name) {
    case 'text':
      return put([key.text])
    case 'paste':
      // On one line, and nothing that a terminal would obey.
      return put([...key.text.replace(/\s+/g, ' ').replace(/[\x00-\x1f\x7f-\x9f]/g, '')])
    case 'backspace':
      return at === 0 ? prompt : cut(at - 1, at)
    case 'delete':
      return at === text.length ? prompt : cut(at, at + 1)
    case 'ctrl-u':
      return cut(0, at)
    case 'ctrl-w': {
      const before = text.slice(0, at).join('')
      return cut([...before.replace(/\S*\s*$/, '')].length, at)
    }
    case 'left':
      return { ...prompt, at: Math.max(0, at - 1) }
    case 'right':
      return { ...prompt, at: Math.min(text.length, at + 1) }
    case 'home':
      return { ...prompt, at: 0 }
    case 'end':
      return { ...prompt, at: text.length }
    default:
      return prompt
  }
}

function withCard(state: State, change: Partial<OpenCard>): State {
  return state.open === null ? state : { ...state, open: { ...state.open, ...change } }
}

function warn(state: State, text: string): Step {
  return { state: { ...state, message: { text, look: 'warning' } } }
}

// -- news ----------------------------------------------------------------------------------------------------------------

export function learn(state: State, news: News, now: number): State {
  switch (news.kind) {
    case 'live':
      return { ...state, connection: { kind: 'live' } }
    case 'lost': {
      const { why, at, isFinal } = news
      const since = state.connection.kind === 'lost' ? state.connection.since : at
      return { ...state, connection: { kind: 'lost', since, why, isFinal } }
    }
    case 'list': {
      const { items, total, aheadMs } = news
      return withItems({ ...state, aheadMs }, items.toSorted(byDeadline), Math.max(total, items.length), now)
    }
    case 'item': {
      const others = state.items.filter(({ id }) => id !== news.item.id)
      const isNew = others.length === state.items.length
      const items = [...others, news.item].sort(byDeadline)
      return withItems(state, items, Math.max(items.length, state.total + (isNew ? 1 : 0)), now)
    }
    case 'ended': {
      const gone = state.items.find(({ id }) => id === news.id)
      if (gone === undefined) return state
      const items = state.items.filter((one) => one !== gone)
      const text = `${shortLine(gone.action, 40)} is ${news.how}.`
      const message = state.open === null ? { text } : state.message
      return withItems({ ...state, message }, items, Math.max(items.length, state.total - 1), now)
    }
    case 'record':
      return state.open?.id === news.found.id ? showRecord(state, state.open, news.found) : state
    case 'failed':
      return state.open?.id === news.id && state.open.found === null
        ? { ...state, open: null, message: { text: news.why, look: 'bad' } }
        : state
    case 'answered': {
      const { id, text, isGood } = news
      const message = { text, look: isGood ? ('good' as const) : ('bad' as const) }
      if (state.open?.id !== id) return { ...state, message }
      return { ...withCard(state, { isSent: false }), message }
    }
  }
}

function byDeadline(one: Item, other: Item): number {
  return one.expiresAt - other.expiresAt || (one.id < other.id ? -1 : 1)
}

/** What is chosen stays chosen, and stays in its place on the screen. */
function withItems(state: State, items: Item[], total: number, now: number): State {
  const { chosen } = state
  const before = state.items.findIndex(({ id }) => id === chosen)
  const after = items.findIndex(({ id }) => id === chosen)
  if (after !== -1)
    return { ...state, items, total, top: Math.max(0, state.top + (before === -1 ? 0 : after - before)) }
  const next = items[Math.max(0, Math.min(before, items.length - 1))]?.id ?? null
  const hasMoved = chosen !== null && next !== chosen
  return { ...state, items, total, chosen: next, movedAt: hasMoved ? now : state.movedAt }
}

/** As far as both cards say the same, which is as far as what was seen of one was seen of the other. */
function alikeUpTo(before: FoundConfirmation, after: FoundConfirmation): number {
  const parts = cardOf(after)
  let end = 0
  for (const [index, { text, lead }] of cardOf(before).entries()) {
    const same = parts[index]
    if (same === undefined || same.text !== text || same.lead[0]?.text !== lead[0]?.text) break
    end += lengthOfPart(text)
  }
  return end
}

function showRecord(state: State, open: OpenCard, found: FoundConfirmation): State {
  const wasPending = open.found === null || open.found.status === 'pending'
  // Laid out anew, since it may say something else.
  const seen = open.found === null ? 0 : Math.min(open.seen, alikeUpTo(open.found, found))
  const kept = { ...open, found, width: 0, seen, isSeen: false }
  if (found.status === 'pending' || !wasPending) return { ...state, open: kept }
  // Somebody was first, and that stands. What was being written is shown once more, to be copied.
  const { prompt } = open
  const typed = prompt?.kind === 'text' ? prompt.text.join('').trim() : ''
  const rest = typed === '' ? '' : ` You had written: ${visibleLine(typed)}`
  const message =
    prompt === null
      ? state.message
      : { text: `It was decided meanwhile, and that stands.${rest}`, look: 'warning' as const }
  return { ...state, message, open: { ...kept, prompt: null, scroll: 0, lines: [] } }
}
