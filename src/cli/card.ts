// One request as a terminal shows it, whole. Ours begins at the edge; what others wrote stands behind a label or a bar, on
// every line, so that no text can play a line of ours.
import type { FoundConfirmation } from '../client/index.js'
import { digestOf } from '../core/digest.js'
import { sayLength } from '../core/length.js'
import type { Status } from '../core/model.js'
import { visible, visibleJson, visibleLine } from '../core/visible.js'
import { columnsOf, padEnd, wrap, wrapWords } from './columns.js'
import { type Line, type Look, type Span, span } from './span.js'
import { momentOf } from './time-text.js'

/** A part of a card, with how it begins and how it goes on where it is wrapped. */
export interface Part {
  text: string
  look?: Look
  lead: Span[]
  goesOn: Span[]
}

/** A line of a card, laid out. `end` is where its text ends in all that the card says, however wide it is. */
export interface CardLine {
  line: Line
  end: number
}

export const statusWords: Record<Status, { word: string; look: Look }> = {
  pending: { word: 'WAITS FOR A DECISION', look: 'bold' },
  approved: { word: 'APPROVED', look: 'good' },
  denied: { word: 'DENIED', look: 'bad' },
  expired: { word: 'EXPIRED', look: 'warning' },
  cancelled: { word: 'CANCELLED', look: 'warning' },
  auto_approved: { word: 'APPROVED AUTOMATICALLY', look: 'good' },
}

const labelWidth = 14
/** Each line has its own. */
const isolates = /[\u2067\u2069]/g

/** Everything there is to it, in the order in which it is read. */
export function cardOf(found: FoundConfirmation): Part[] {
  const { action, risk, rule, requester, requested_as, on_behalf_of, session_key, description, digest } = found
  const { word, look } = statusWords[found.status]
  const details = JSON.stringify(found.details)
  return [
    ours(word, look),
    ...outcomeOf(found),
    ...found.warnings.map((one) => ours(`Warning: ${one}`, 'warning')),
    ours(''),
    fact('Action', visibleLine(action), 'bold'),
    fact(
      'Risk',
      rule === 'default' ? `${risk}; no rule is about this action` : risk,
      risk === 'high' ? 'bad' : undefined,
    ),
    ...(rule === 'default' ? [] : [fact('Rule', visibleLine(rule))]),
    fact('Requester', visibleLine(requester) || '(none)'),
    ...(requested_as === null ? [] : [fact('says it is', `${visibleLine(requested_as)} (not verified)`)]),
    ...(on_behalf_of === null ? [] : [fact('On behalf of', `${visibleLine(on_behalf_of)} (not verified)`)]),
    ...(session_key === '' ? [] : [fact('Session', visibleLine(session_key))]),
    ours(''),
    ours(`Description${inBrackets(description)}, in the words of whoever asks:`, 'quiet'),
    ...theirs(visible(description)),
    ours(''),
    ...(details === '{}'
      ? [ours('Details: none', 'quiet')]
      : [
          ours(`Details${inBrackets(details)}, which are approved with the action:`, 'quiet'),
          ...theirs(visibleJson(details, 2)),
        ]),
    ...whoDecides(found),
    ours(''),
    fact('Asked', momentOf(found.created_at_iso)),
    fact('Deadline', momentOf(found.expires_at_iso)),
    ...(found.callback_url === null ? [] : [fact('Outcome to', visibleLine(found.callback_url))]),
    fact('ID', visibleLine(found.id)),
    fact('Digest', visibleLine(digest)),
    ...votesOf(found),
  ]
}

/** Whether its digest is that of what is shown. */
export function isAsItSays(found: FoundConfirmation): boolean {
  const { action, details, on_behalf_of, requester, session_key, digest } = found
  const of = { action, onBehalfOf: on_behalf_of, requester, sessionKey: session_key }
  return digestOf({ ...of, details: JSON.stringify(details) }) === digest
}

function outcomeOf(found: FoundConfirmation): Part[] {
  const { status, resolved_by, resolved_at_iso, reason, execution, report_message, comments } = found
  if (status === 'pending' || resolved_at_iso === null) return []
  return [
    fact('By', visibleLine(resolved_by)),
    fact('At', momentOf(resolved_at_iso)),
    ...(reason === null ? [] : [fact('Reason', visibleLine(reason))]),
    ...comments.map(({ by, text }) => fact('Comment', `${visibleLine(by)}: ${visibleLine(text)}`)),
    ...(execution === null ? [] : [fact('Act', execution)]),
    ...(report_message === null ? [] : [fact('Report', visibleLine(report_message))]),
  ]
}

/** Where it is not just any one person with the right to decide. */
function whoDecides({ approvals_needed, deciding }: FoundConfirmation): Part[] {
  if (deciding === null) return []
  const { deciders, groups, own_allowed, typing_required, reason_required } = deciding
  const rows = [
    ...(approvals_needed === 1 ? [] : [fact('Needs', `${approvals_needed} different people; one denial ends it`)]),
    ...groups.map(({ group, count, members }) =>
      fact('', `${count} from ${visibleLine(group)}: ${members.map(visibleLine).join(', ') || 'nobody'}`),
    ),
    ...(deciders === null ? [] : [fact('May decide', deciders.map(visibleLine).join(', ') || 'nobody')]),
    ...(own_allowed ? [fact('May decide', 'also whoever asked')] : []),
    ...(typing_required ? [fact('To approve', "type the action's name")] : []),
    ...reason_required.map((verdict) => fact(`To ${verdict}`, 'give a reason')),
  ]
  return rows.length === 0 ? [] : [ours(''), ours('Who must decide:', 'quiet'), ...rows]
}

/** Last: what comes is then below all that was seen. */
function votesOf({ votes, approvals_given, approvals_needed, status }: FoundConfirmation): Part[] {
  if (votes.length === 0 || (status !== 'pending' && approvals_needed === 1)) return []
  return [
    ours(''),
    ours(`Votes, ${approvals_given} of ${approvals_needed} approvals:`, 'quiet'),
    ...votes.map(({ by, verdict, reason }) =>
      fact(
        verdict === 'approve' ? 'approved by' : 'denied by',
        `${visibleLine(by)}${reason === null ? '' : `: ${visibleLine(reason)}`}`,
      ),
    ),
  ]
}

function inBrackets(text: string): string {
  const words = sayLength(text)
  return words === null ? '' : ` (${words})`
}

function ours(text: string, look?: Look): Part {
  return { text, ...(look === undefined ? {} : { look }), lead: [], goesOn: [] }
}

function fact(label: string, value: string, look?: Look): Part {
  const lead = [span(padEnd(label, labelWidth), 'quiet')]
  return { text: value, ...(look === undefined ? {} : { look }), lead, goesOn: [span(' '.repeat(labelWidth))] }
}

function theirs(text: string): Part[] {
  return text.split('\n').map((line) => ({ text: line, lead: [span('│ ', 'quiet')], goesOn: [span('┆ ', 'quiet')] }))
}

/** In lines of at most so many columns. */
export function layOutCard(parts: Part[], width: number): CardLine[] {
  const lines: CardLine[] = []
  let end = 0
  for (const { text, look, lead, goesOn } of parts) {
    // Where a label leaves no room, the text gets a line of its own.
    const isNarrow = leadWidth(lead) * 2 > width && leadWidth(lead) > 2
    const indent = isNarrow ? [span('  ')] : goesOn
    if (isNarrow) lines.push({ line: lead, end })
    const rows = lead.length === 0 ? wrapWords : wrap
    for (const [index, row] of rows(text, Math.max(2, width - leadWidth(isNarrow ? indent : lead))).entries()) {
      end += lengthOfPart(row)
      lines.push({
        line: [...(index === 0 && !isNarrow ? lead : indent), span(lead.length === 0 ? row.trimEnd() : row, look)],
        end,
      })
    }
  }
  return lines
}

/** Whether it is wrapped or not. */
export function lengthOfPart(text: string): number {
  return text.replaceAll(isolates, '').length
}

function leadWidth(lead: Span[]): number {
  return lead.reduce((sum, { text }) => sum + columnsOf(text), 0)
}
