// What waits for a decision: listed, shown whole, approved and denied.
import type { Confirmation, DecidedConfirmation, FoundConfirmation } from '../client/index.js'
import { ConfigProblems } from '../command.js'
import { shortLine } from '../core/cut.js'
import { inert } from '../core/json.js'
import { visibleLine } from '../core/visible.js'
import { cardOf, type CardLine, isAsItSays, layOutCard } from './card.js'
import { fit } from './columns.js'
import { type Context, wrong } from './key-commands.js'
import { CommandRefused, type Output, type Screen } from './output.js'
import { explain, openOverHttp, withReader } from './reach.js'
import { paint } from './span.js'
import { layOut } from './table.js'
import { lengthOf } from './time-text.js'

type Verdict = 'approve' | 'deny'

// -- pending -------------------------------------------------------------------------------------------------------------

export async function listPending(context: Context): Promise<void> {
  const { output, given } = context
  const { action, session, json } = given.options as Partial<Record<string, string>>
  await withReader(context, async (operator) => {
    const found = await operator.pending({ action, sessionKey: session })
    if (json !== undefined) return output.print(inert(JSON.stringify(found, null, 2)))
    if (found.length === 0) return output.tell('Nothing waits for a decision.')
    output.print(pendingText(found, Date.now(), output.screen?.('print') ?? null))
  })
}

const maxName = 60
const maxDescription = 120

/** For a program that reads it, ids are whole and nothing is cut to a width. */
function pendingText(found: Confirmation[], now: number, screen: Screen | null): string {
  const ends = screen === null ? found.map(({ id }) => id) : endsOf(found.map(({ id }) => id))
  const rows = found.map((one, index) => [
    visibleLine(ends[index]!),
    lengthOf(one.expires_at * 1000 - now),
    one.risk === 'high' ? 'HIGH' : one.risk,
    shortLine(one.action, maxName),
    shortLine(one.requester, maxName),
    one.approvals_needed === 1 ? '' : `${one.approvals_given} of ${one.approvals_needed}`,
    shortLine(one.description, maxDescription),
  ])
  const text = layOut([['ID', 'LEFT', 'RISK', 'ACTION', 'REQUESTER', 'VOTES', 'DESCRIPTION'], ...rows])
  if (screen === null) return text
  return text
    .split('\n')
    .map((line) => fit(line, screen.columns))
    .join('\n')
}

const fewestOfEnd = 8

/** As much of the ends of ids as tells these apart. */
export function endsOf(ids: string[]): string[] {
  for (let length = fewestOfEnd; length < 36; length++) {
    const ends = ids.map((id) => id.slice(-length))
    if (new Set(ends).size === ids.length) return ends
  }
  return ids
}

// -- show ----------------------------------------------------------------------------------------------------------------

export async function showRequest(context: Context): Promise<void> {
  const { output, given } = context
  const { argument, options } = given
  await withReader(context, async (operator) => {
    const found = await operator.show(argument.trim())
    if (options.json === true) return output.print(inert(JSON.stringify(found, null, 2)))
    const screen = output.screen?.('print') ?? null
    output.print(textOf(cardLines(found, screen), screen))
  })
}

function cardLines(found: FoundConfirmation, screen: Screen | null): CardLine[] {
  return layOutCard(cardOf(found), screen === null ? Infinity : screen.columns)
}

function textOf(lines: CardLine[], screen: Screen | null): string {
  return lines.map(({ line }) => paint(line, screen?.hasColours === true).trimEnd()).join('\n')
}

// -- approve, deny -------------------------------------------------------------------------------------------------------

/** False: it was shown, and the answer is no. */
export function approveRequest(context: Context): Promise<boolean> {
  return decide(context, 'approve')
}

export function denyRequest(context: Context): Promise<boolean> {
  return decide(context, 'deny')
}

async function decide(context: Context, verdict: Verdict): Promise<boolean> {
  const { output, given } = context
  const { argument, options } = given
  const digest = readDigest(options.digest)
  const remember = readRemember(options.remember)
  const isWhole = wholeId.test(argument.trim())
  const canAsk = output.ask !== undefined
  // To say no to what was not shown does no harm, where it is sure which one it is.
  const needsShowing = digest === null && !(verdict === 'deny' && isWhole)
  if (needsShowing && !canAsk) throw new CommandRefused(sayUnseen(verdict))
  const operator = openOverHttp(context)
  const found = await operator.show(argument.trim()).catch((error: unknown) => {
    throw explain(error, false)
  })
  if (digest !== null && !found.digest.startsWith(digest)) {
    throw new CommandRefused(
      `The digest of ${found.id} is another, ${found.digest}: nothing was decided. Look at it again.`,
    )
  }
  if (found.status !== 'pending') throw new CommandRefused(sayOver(found))
  if (verdict === 'approve' && !isAsItSays(found)) {
    throw new CommandRefused('Its digest is not that of what is shown: it was changed on the way. Nothing was decided.')
  }
  const said = needsShowing ? await askFor(verdict, found, context) : saidBy(options)
  if (said === null) {
    output.tell('Nothing was decided.')
    return false
  }
  const by = options.by as string | undefined
  const done = await operator[verdict](found.id, { by, ...said, remember })
  if (options.json === true) output.print(inert(JSON.stringify(done, null, 2)))
  else output.tell(sayDone(done))
  return true
}

const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function readDigest(text: string | true | undefined): string | null {
  if (text === undefined) return null
  if (!/^[0-9a-f]{16,64}$/i.test(String(text))) {
    throw wrong('digest', 'must be the digest that show prints, or its first 16 digits or more')
  }
  return String(text).toLowerCase()
}

function readRemember(text: string | true | undefined): 'session' | 'global' | undefined {
  if (text === undefined || text === 'session' || text === 'global') return text
  throw wrong('remember', 'must be session or global')
}

function sayUnseen(verdict: Verdict): string {
  const how = 'say with --digest which one you have seen: show prints it'
  return verdict === 'approve'
    ? `Nothing is approved that was not shown, and here nobody can be asked: ${how}.`
    : `By the end of its id it would be shown first, and here nobody can be asked: say the whole id, or ${how}.`
}

const lasting: Partial<Record<string, string>> = { session: 'in its session', global: 'in any session' }

interface Said {
  reason?: string
  typedAction?: string
}

function saidBy({ reason, typed }: Context['given']['options']): Said {
  return {
    ...(reason === undefined ? {} : { reason: String(reason) }),
    ...(typed === undefined ? {} : { typedAction: String(typed) }),
  }
}

/** Shows it whole, and asks for what its rule wants. Null: no. */
async function askFor(verdict: Verdict, found: FoundConfirmation, { output, given }: Context): Promise<Said | null> {
  if (!(await showWhole(output, cardLines(found, output.screen?.('tell') ?? null)))) return null
  const { deciding } = found
  const said = saidBy(given.options)
  if (verdict === 'approve' && deciding?.typing_required === true && said.typedAction === undefined) {
    const typed = await output.ask!("To approve it, type the action's name: ")
    if (typed === null || typed.trim() === '') return null
    said.typedAction = typed
  }
  if (deciding?.reason_required.includes(verdict) === true && said.reason === undefined) {
    const reason = await output.ask!(`A reason is needed to ${verdict} it: `)
    if (reason === null || reason.trim() === '') return null
    said.reason = reason
  }
  const which = `${shortLine(found.action, maxName)}, digest ${visibleLine(found.digest.slice(0, 16))}`
  const { remember } = given.options
  const more =
    remember === undefined ? '' : `, and let it pass without asking ${lasting[String(remember)]!} from now on`
  const answer = await output.ask!(`${verdict === 'approve' ? 'Approve' : 'Deny'} ${which}${more}? [y/N] `)
  return answer !== null && /^\s*y(es)?\s*$/i.test(answer) ? said : null
}

/** A screen at a time, where it has more lines: what ran past was not seen. False: somebody had enough of it. */
async function showWhole(output: Output, lines: CardLine[]): Promise<boolean> {
  const screen = output.screen?.('tell') ?? null
  const size = screen === null ? Infinity : Math.max(2, screen.rows - 2)
  for (let at = 0; at < lines.length; at += size) {
    output.tell(textOf(lines.slice(at, at + size), screen))
    const left = lines.length - at - size
    if (left <= 0) break
    const answer = await output.ask!(`-- ${left} more ${left === 1 ? 'line' : 'lines'}: Enter goes on, q ends -- `)
    if (answer === null || answer.trim() !== '') return false
  }
  output.tell('')
  return true
}

function sayOver({ id, status, resolved_by }: FoundConfirmation): string {
  const who = status === 'expired' ? 'nobody decided in time' : `by ${visibleLine(resolved_by)}`
  return `${visibleLine(id)} is ${status.replace('_', ' ')} already: ${who}. That stands.`
}

function sayDone({ id, status, action, approvals_given, approvals_needed, grant }: DecidedConfirmation): string {
  const which = `${shortLine(action, maxName)}, ${visibleLine(id)}`
  if (status === 'pending') {
    const left = approvals_needed - approvals_given
    return `Recorded: ${approvals_given} of ${approvals_needed} approvals of ${which}; ${left} more ${left === 1 ? 'is' : 'are'} needed.`
  }
  const back = grant === undefined ? '' : ` To ask again from now on: whitelist revoke ${visibleLine(grant.id)}`
  return `${status === 'approved' ? 'Approved' : 'Denied'}: ${which}.${back}`
}

export function readJsonOption(option: string, text: string | true): unknown {
  try {
    const value = JSON.parse(String(text)) as unknown
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Said below.
  }
  throw new ConfigProblems([`--${option}: must be a JSON object`])
}
