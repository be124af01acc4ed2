// A card: what a message about a request says and offers, in every chat alike (pure). First what Holdpoint knows, then the
// agent's words, marked as theirs. What is not shown whole cannot be approved from it.
import { sayCaution } from '../core/caution.js'
import { textOf } from '../core/actor.js'
import { cut, cutMiddle, type Looked } from '../core/cut.js'
import { shortDigest } from '../core/digest.js'
import { sayLength } from '../core/length.js'
import { type Confirmation, defaultTerms, type Resolved, type Terms } from '../core/model.js'
import { maskSecrets } from '../core/secrets.js'
import { visible, visibleJson, visibleLine } from '../core/visible.js'
import { approvalsGiven } from '../core/vote.js'
import type { ButtonVerb } from '../access/button.js'

/** How a chat writes texts of others, and how much of them a message may have. */
export interface Dialect {
  /** What is changed in visible text so that it means nothing here, before it is cut. */
  adapt(shown: string): string
  /** In UTF-16 units: no fact can push another out of the message. */
  share: Share
}

export interface Share {
  /** Of the action, and of each other name. */
  name: number
  details: number
  description: number
  /** Whether details and description have what the other leaves. */
  isShared: boolean
}

export interface Card {
  /** Of the confirmation. */
  id: string
  tone: Tone
  /** With a mark, as 🔔 Confirmation needed. */
  title: string
  /** Sentences of ours that come first: warnings, who asks to approve, how it ended. */
  notes: string[]
  facts: Fact[]
  /** Null: none. */
  details: Block | null
  /** In the agent's words. */
  description: Block
  /** Why it cannot be approved here, and where; null if it can, or is over. */
  obstacle: string | null
  /** In rows. */
  buttons: CardButton[][]
  /** Where the page is, where no button leads to it; null: nowhere a reader could reach. */
  url: string | null
  risk: Terms['risk']
}

export type Tone = 'pending' | 'asking' | 'approved' | 'denied' | 'over'

export interface Fact {
  label: string
  /** Written so that it means nothing in the chat, if it is theirs. */
  value: string
  /** Others wrote it, or some of it: it stands in code. */
  isTheirs: boolean
}

export interface Block {
  label: string
  text: string
}

export type CardButton =
  | { kind: 'press'; label: string; style: 'approve' | 'deny' | 'plain'; data: string }
  | { kind: 'link'; label: string; url: string }

/** What a card is made of. */
export interface View {
  /** As of now. */
  confirmation: Confirmation
  /** Why it is sent, where it is not the first that is heard of it. */
  reminder: 'reminder' | 'last_reminder' | 'escalation' | null
  /** Somebody wants to approve and is asked once more; `by` is what the chat knows them by. */
  asking: { verb: 'approve' | 'session'; by: string } | null
  /** What makes a button: what a press of it sends. Null: the chat has no buttons now. */
  press: ((verb: ButtonVerb) => string) | null
  /** The page of this request; null: nowhere a reader of the chat could reach. `isPublic`: a button may lead there. */
  page: { url: string; isPublic: boolean; decides: boolean } | null
}

/** Nobody waits while more of a text is looked through for what would fit: hostile ones take a microsecond a character. */
const mostLooked = 8000
/** Of each: two screens of a phone. */
const mostLines = 60
/** Of a reason or a comment. */
const mostSaid = 300

export function cardOf(view: View, dialect: Dialect): Card {
  const { confirmation, page } = view
  const { terms, status, votes } = confirmation
  const shown = showFacts(confirmation, dialect)
  const isPending = status === 'pending'
  const obstacles = isPending ? obstaclesTo(terms, shown) : []
  const asking = isPending && obstacles.length === 0 ? view.asking : null
  const buttons = isPending ? buttonsOf(view, obstacles.length === 0, asking !== null) : []
  const canPress = view.press !== null
  const link = page === null || !page.isPublic ? [] : [[openButton(page)]]
  return {
    id: confirmation.id,
    tone: asking !== null ? 'asking' : isPending ? 'pending' : toneOf(confirmation),
    title: asking === null ? titleOf(view) : '❓ Are you sure?',
    notes: [
      ...sayCaution(isPending ? confirmation.caution : null).map((one) => `⚠️ ${one}`),
      ...(asking === null ? [] : [questionOf(confirmation, asking, dialect)]),
    ],
    facts: [
      ...(isPending ? [] : outcomeFacts(confirmation, dialect)),
      ...shown.facts,
      ...(terms.approvals === 1 || !isPending
        ? []
        : [{ label: 'Needs', value: sayNeeds(confirmation), isTheirs: false }]),
      ...(votes.length === 0 || !isPending ? [] : [votesSoFar(confirmation, dialect)]),
      ...(isPending
        ? [{ label: 'Expires', value: new Date(confirmation.deadline).toISOString(), isTheirs: false }]
        : []),
    ],
    details: shown.details,
    description: shown.description,
    obstacle: obstacles.length === 0 || !isPending ? null : sayObstacles(obstacles, canPress, page),
    buttons: [...buttons, ...link],
    url: page === null || page.isPublic ? null : page.url,
    risk: terms.risk,
  }
}

interface Shown {
  facts: Fact[]
  details: Block | null
  description: Block
  /** Everything that the digest covers, and the description, stands there to its last character. */
  isWhole: boolean
  isMasked: boolean
}

function showFacts(confirmation: Confirmation, { adapt, share }: Dialect): Shown {
  const { id, action, requester, onBehalfOf, sessionKey, details, description, digest, terms } = confirmation
  let isWhole = true
  let isMasked = false
  /** Made safe to show, and to the length that there is. */
  const fit = (text: string, limit: number, show: (text: string) => string, lines = mostLines): string => {
    const looked = look(text)
    const masked = { ...looked, beginning: maskSecrets(looked.beginning), end: maskSecrets(looked.end) }
    isMasked ||= masked.beginning !== looked.beginning || masked.end !== looked.end
    const fitted = cutMiddle(masked, limit, lines, (part) => adapt(show(part)))
    isWhole &&= fitted.isWhole
    return fitted.text
  }
  const name = (label: string, text: string): Fact => ({
    label,
    value: fit(text, share.name, visibleLine),
    isTheirs: true,
  })
  const facts = [
    name('Action', action),
    { label: 'Risk', value: riskWords[terms.risk], isTheirs: false },
    terms.rule === defaultTerms.rule
      ? { label: 'Rule', value: 'none is about this action', isTheirs: false }
      : { label: 'Rule', value: cut(adapt(visibleLine(terms.rule)), share.name), isTheirs: true },
    name('Requester', requester),
    ...(onBehalfOf === null ? [] : [name('On behalf of (not verified)', onBehalfOf)]),
    ...(sessionKey === '' ? [] : [name('Session', sessionKey)]),
    { label: 'ID', value: id, isTheirs: true },
    { label: 'Digest', value: shortDigest(digest), isTheirs: true },
  ]
  const hasDetails = details !== '{}'
  const layOut = (text: string) => (text.length <= mostLooked && isJson(text) ? visibleJson(text, 1) : visible(text))
  const leftBy = (text: string, limit: number) =>
    share.isShared ? Math.max(0, limit - adapt(visible(text.slice(0, limit))).length) : 0
  const roomForDetails = share.details + leftBy(description, share.description)
  const roomForDescription = share.description + (hasDetails ? leftBy(layOut(details), share.details) : share.details)
  return {
    facts,
    details: hasDetails ? { label: `Details${inBrackets(details)}`, text: fit(details, roomForDetails, layOut) } : null,
    description: {
      label: `In the words of whoever asks${inBrackets(description)}`,
      text: fit(description, share.isShared ? roomForDescription : share.description, visible),
    },
    isWhole,
    isMasked,
  }
}

function look(text: string): Looked {
  if (text.length <= mostLooked) return { beginning: text, end: text, between: 0 }
  const each = mostLooked / 2
  return { beginning: text.slice(0, each), end: text.slice(-each), between: text.length - mostLooked }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function inBrackets(text: string): string {
  const words = sayLength(text)
  return words === null ? '' : ` (${words})`
}

const riskWords: Record<Terms['risk'], string> = { low: 'low', normal: 'normal', high: 'HIGH' }

type Obstacle = 'cut' | 'masked' | 'typed' | 'reason'

function obstaclesTo({ mustType, reasonFor }: Terms, { isWhole, isMasked }: Shown): Obstacle[] {
  return [
    ...(isWhole ? [] : (['cut'] as const)),
    ...(isMasked ? (['masked'] as const) : []),
    ...(mustType ? (['typed'] as const) : []),
    ...(reasonFor.includes('approve') ? (['reason'] as const) : []),
  ]
}

const obstacleWords: Record<Obstacle, string> = {
  cut: 'it is too long to be shown whole',
  masked: 'it holds what looks like a secret, which is not shown',
  typed: "its rule wants the action's name typed out",
  reason: 'its rule wants a reason',
}

function sayObstacles(obstacles: Obstacle[], canPress: boolean, page: View['page']): string {
  const why = obstacles.map((one) => obstacleWords[one]).join(', and ')
  const where = page === null ? 'on its page' : page.isPublic ? 'on its page, behind the button' : 'on its page'
  return `Not to be approved from here: ${why}. See it whole and decide ${where}${canPress ? '; it can be denied here' : ''}.`
}

function buttonsOf({ press, confirmation, asking }: View, canApprove: boolean, isAsking: boolean): CardButton[][] {
  if (press === null) return []
  const button = (verb: ButtonVerb, label: string, style: 'approve' | 'deny' | 'plain'): CardButton => ({
    kind: 'press',
    label,
    style,
    data: press(verb),
  })
  if (isAsking) {
    const yes = asking?.verb === 'session' ? 'yes_session' : 'yes'
    return [[button(yes, 'Yes, approve', 'approve'), button('back', 'Back', 'plain')]]
  }
  const { terms, sessionKey } = confirmation
  const forSession = canApprove && terms.mayWhitelist && sessionKey !== ''
  return [
    [...(canApprove ? [button('approve', 'Approve', 'approve')] : []), button('deny', 'Deny', 'deny')],
    ...(forSession ? [[button('session', 'Approve for this session', 'plain')]] : []),
  ]
}

function openButton({ url, decides }: NonNullable<View['page']>): CardButton {
  return { kind: 'link', label: decides ? 'Open and decide' : 'Open', url }
}

const titles: Record<Confirmation['status'], string> = {
  pending: '🔔 Confirmation needed',
  approved: '✅ Approved',
  auto_approved: '✅ Approved automatically',
  denied: '❌ Denied',
  expired: '⌛ Expired: nobody answered in time',
  cancelled: '🚫 Cancelled',
}

const reminders: Record<NonNullable<View['reminder']>, string> = {
  reminder: '🔔 Still waiting: confirmation needed',
  last_reminder: '⏰ About to expire: confirmation needed',
  escalation: '🔔 Nobody has answered yet: confirmation needed',
}

function titleOf({ confirmation: { status }, reminder }: View): string {
  return status === 'pending' && reminder !== null ? reminders[reminder] : titles[status]
}

/** Of what is asked once more, as Approve deploy_production, digest 873eb741? */
function questionOf({ action, digest }: Confirmation, asking: NonNullable<View['asking']>, dialect: Dialect): string {
  // It stands outside of code, where others' words could be a link, markup or part of our sentence. Below it stands whole.
  const what = /^[\w-]{1,80}$/.test(action) ? dialect.adapt(action) : 'this'
  const whole = asking.verb === 'session' ? ', and whatever follows of it in this session' : ''
  return `Approve ${what}${whole}, digest ${digest.slice(0, 8)}? Only ${cut(dialect.adapt(visibleLine(asking.by)), 80)} can say yes.`
}

function toneOf({ status }: Resolved): Tone {
  if (status === 'approved' || status === 'auto_approved') return 'approved'
  return status === 'denied' ? 'denied' : 'over'
}

/** By whom, when and why. */
function outcomeFacts({ resolution, comments }: Resolved, { adapt }: Dialect): Fact[] {
  const said = (label: string, text: string) => ({
    label,
    value: cut(
      adapt(visibleLine(maskSecrets(text.slice(0, mostLooked)))),
      mostSaid,
      Infinity,
      Math.max(0, text.length - mostLooked),
    ),
    isTheirs: true,
  })
  const { by, at, reason } = resolution
  return [
    said('By', textOf(by)),
    { label: 'At', value: new Date(at).toISOString(), isTheirs: false },
    ...(reason === null ? [] : [said('Reason', reason)]),
    ...comments.slice(-1).map(({ text }) => said('Comment', text)),
  ]
}

function sayNeeds({ terms: { approvals, seats } }: Confirmation): string {
  const groups = seats.map(({ count, group }) => `${count} from ${cut(visibleLine(group), 40)}`).join(', ')
  return cut(`${approvals} different people${groups === '' ? '' : ` (${groups})`}; one denial ends it`, mostSaid)
}

function votesSoFar(confirmation: Confirmation, { adapt }: Dialect): Fact {
  const names = confirmation.votes.map(
    ({ by, verdict }) => `${textOf(by)} ${verdict === 'approve' ? 'approved' : 'denied'}`,
  )
  const count = `${approvalsGiven(confirmation)} of ${confirmation.terms.approvals}`
  return { label: `Votes (${count})`, value: cut(adapt(visibleLine(names.join(', '))), mostSaid), isTheirs: true }
}
