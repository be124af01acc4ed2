// What Holdpoint keeps: a confirmation, how it was resolved, what was done with that, alarms, and the deliveries that told of
// either.

import type { Actor, Voter } from './actor.js'
import type { Caution } from './caution.js'

export const outcomes = ['approved', 'denied', 'expired', 'cancelled', 'auto_approved'] as const
export type Outcome = (typeof outcomes)[number]

export function isOutcome(name: string): name is Outcome {
  return (outcomes as readonly string[]).includes(name)
}

export const statuses = ['pending', ...outcomes] as const
export type Status = (typeof statuses)[number]

/** Where an event came from: the channel a person, an agent or the service itself acted through. */
export type Via = 'http' | 'aap' | 'page' | 'link' | 'local' | 'whitelist' | 'rule' | 'system' | ChannelName

/** What an agent asks for. */
export interface Submission {
  action: string
  description: string
  /** JSON text of an object. */
  details: string
  requester: string
  sessionKey: string
  timeoutSeconds: number
  /** Where the resolved record is sent. */
  callbackUrl: string | null
  /** The name in the request, where it is not the requester's own: no more than a comment. */
  requestedAs: string | null
  /** For whom the requester says it acts: its word, which nobody has verified and which gives no right. */
  onBehalfOf: string | null
  /** How it was put in the Agent Approval Protocol, as JSON text: see aap/request.ts. Null: it did not come by that. */
  aap: string | null
}

/**
 * What governs the decision on one confirmation: the rule as it was when the confirmation was submitted, with its groups
 * spelled out. Kept with the confirmation, so that changing the rules changes nothing that is pending.
 */
export interface Terms {
  /** The rule's name. */
  rule: string
  risk: Risk
  /** How many different people must approve. */
  approvals: number
  /** If given, how many of them from each group; together they are `approvals`. A person takes one seat. */
  seats: Seat[]
  /** Who may decide, by name; null: everyone who has the role. */
  deciders: string[] | null
  mayWhitelist: boolean
  /** Which verdicts need a reason. */
  reasonFor: Verdict[]
  /** Approving needs the name of the action typed out. */
  mustType: boolean
  /** The requester may decide it too. */
  allowsOwn: boolean
  /** It is claimed only with the digest of what the requester is about to do. */
  needsDigest: boolean
  /** Who is told, and again while nobody answers; null: as the settings say, once. */
  telling: Telling | null
}

export interface Telling {
  /** Null: as the settings say. */
  notify: Audience | null
  /** After which part of the time, between 0 and 1, whoever was told is told again; null: never. */
  remindAfter: number | null
  /** After which part others are told; null: none. */
  escalation: { after: number; to: Audience } | null
}

/** `first`: one chat after the other until one takes it. `all`: every chat at once. Else all of these at once. */
export type Audience = 'first' | 'all' | Named

export interface Named {
  chats: ChatName[]
  /** Each by themselves. */
  people: string[]
  /** Each of those whom the terms name. */
  deciders: boolean
}

export const risks = ['low', 'normal', 'high'] as const
export type Risk = (typeof risks)[number]

export interface Seat {
  group: string
  count: number
  members: string[]
}

export const verdicts = ['approve', 'deny'] as const
export type Verdict = (typeof verdicts)[number]

/** Where no rule says anything else: one person of those who have the role. */
export const defaultTerms: Terms = {
  rule: 'default',
  risk: 'normal',
  approvals: 1,
  seats: [],
  deciders: null,
  mayWhitelist: true,
  reasonFor: [],
  mustType: false,
  allowsOwn: false,
  needsDigest: false,
  telling: null,
}

/** One person's word. */
export interface Vote {
  verdict: Verdict
  by: Voter
  at: number
  via: Via
  reason: string | null
  /** The name that was given beside a verified one. */
  comment: string | null
  /** What else it lets pass from now on, without asking. */
  remember: Remembered | null
}

/** The whitelist entry that went with an approval: the same action, in this session or in any. */
export interface Remembered {
  scope: 'session' | 'global'
  /** For which requester; null: for all. */
  requester: string | null
  /** null: until it is revoked. */
  expiresAt: number | null
  /** Only for exactly the details of this confirmation. */
  isExact: boolean
}

/** How it ended; `status` on the confirmation says with what. */
export interface Resolution {
  by: Actor
  at: number
  via: Via
  reason: string | null
}

/**
 * What became of an approval. `unclaimed` may still be claimed; `lapsed` was not claimed in time. `claimed` means that the
 * agent acts; `unreported` that it has not said in time how that went, which it still may.
 */
export type Execution =
  | { state: 'unclaimed'; claimBy: number }
  | { state: 'lapsed'; claimBy: number }
  | { state: 'claimed' | 'unreported'; claimBy: number; claimedAt: number; reportBy: number }
  | {
      state: 'succeeded' | 'failed'
      claimBy: number
      claimedAt: number
      reportBy: number
      reportedAt: number
      message: string | null
    }

export type ExecutionState = Execution['state']
export const executionStates = [
  'unclaimed',
  'lapsed',
  'claimed',
  'unreported',
  'succeeded',
  'failed',
] as const satisfies ExecutionState[]

/** What was asked for, and the votes on it. */
interface ConfirmationFields extends Submission {
  id: string
  version: number
  createdAt: number
  deadline: number
  /** What an approval is bound to; see digest.ts. */
  digest: string
  /** In whose share its messages and its callback are; see `shareOf`. */
  share: string
  /** The run of its session; null without one. */
  sessionId: string | null
  caution: Caution | null
  /** The same again, while it is pending, is answered with this one. */
  joins: boolean
  terms: Terms
  votes: Vote[]
  comments: Comment[]
  /** When a person was first told, in a chat or the log, before it ended; null: nobody was. The deliveries say it. */
  toldAt: number | null
}

export interface Pending extends ConfirmationFields {
  status: 'pending'
  resolution: null
  execution: null
}

/** Ended without a yes. */
export interface Refused extends ConfirmationFields {
  status: 'denied' | 'expired' | 'cancelled'
  resolution: Resolution
  execution: null
}

export interface Approved extends ConfirmationFields {
  status: 'approved' | 'auto_approved'
  resolution: Resolution
  execution: Execution
}

/** Something was done with the approval, or nothing in time. */
export interface Executed extends Approved {
  execution: Exclude<Execution, { state: 'unclaimed' }>
}

export type Resolved = Refused | Approved
export type Confirmation = Pending | Resolved

/** What people are told that is about no confirmation. It never changes, and time does not end it. */
export interface Alarm {
  /** A UUID as those of confirmations, so that no two subjects of deliveries have the same. */
  id: string
  kind: AlarmKind
  /** In whose share its messages are; see `shareOf`. */
  share: string
  /** What it is about: a session, and whose. */
  requester: string
  sessionKey: string
  /** Why, in words of which some may be others'. */
  reason: string
  /** What to do next, on the command line and over HTTP. People copy it: what others wrote is quoted in it, or encoded. */
  command: string
  request: string
  createdAt: number
}

export type AlarmKind = 'session_suspended'

/** What a delivery tells of. */
export type Subject = Confirmation | Alarm

export function isAlarm(subject: Subject): subject is Alarm {
  return 'kind' in subject
}

/** Chats and the log tell a person that something is pending, and of alarms; a callback tells the agent how it ended. */
export const chatNames = ['telegram', 'discord', 'slack', 'ntfy'] as const
export type ChatName = (typeof chatNames)[number]
/** As people write them. */
export const chatTitles: Record<ChatName, string> = {
  telegram: 'Telegram',
  discord: 'Discord',
  slack: 'Slack',
  ntfy: 'ntfy',
}
/** Those that say by an id of their own who presses and writes there. */
export const personalChats = ['telegram', 'discord', 'slack'] as const
export type PersonalChat = (typeof personalChats)[number]
export const channelNames = [...chatNames, 'log', 'callback'] as const
export type ChannelName = (typeof channelNames)[number]

/** Who sent what with this Idempotency-Key, and which confirmation it made or was about. */
export interface IdempotencyRecord {
  caller: Actor
  key: string
  fingerprint: string
  /** Or of what else it made or was about. */
  confirmationId: string
  /** What was answered, where reading it again may tell something else. */
  result: string | null
  at: number
}

/** What is read back of it. */
export type SentBefore = Pick<IdempotencyRecord, 'fingerprint' | 'confirmationId' | 'result'>

/**
 * Which confirmation was claimed for an act that its requester knows by a name of its own. Of several with one name it is the
 * latest.
 */
export interface NamedAct {
  requester: Actor
  name: string
  version: number
  confirmationId: string
  at: number
}

/**
 * One subject's way through one channel. `queued` and `retrying` have a `nextAt`; the rest are final:
 * `sent`, `failed` (the channel refused for good, or was given up), `superseded` (another channel took it),
 * `dropped` (the confirmation was resolved first, or a backup was restored). `collected` has a `nextAt` too: a person was told
 * in one message with others, and it still gets its own.
 */
export const deliveryStates = ['queued', 'retrying', 'collected', 'sent', 'failed', 'superseded', 'dropped'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export interface Delivery {
  /** Of a confirmation, or of an alarm. */
  subjectId: string
  channel: ChannelName
  /** Where to: the host of a callback; in a chat somebody's own address, or '' for the chat of the settings. */
  destination: string
  /** What for: several messages may go to one place. */
  occasion: Occasion
  /** In whose share of the channel it is: deliveries take turns between these. */
  share: string
  version: number
  state: DeliveryState
  attempts: number
  nextAt: number | null
  updatedAt: number
  /** When somebody was told, in a message of its own or in one with others. */
  toldAt: number | null
  /** The message that went out, where the chat says which it is. */
  message: MessageRef | null
  /**
   * Which version of the confirmation the message shows; below 0: it also asks something, of whoever pressed. Null: it shows the
   * end, or does not follow.
   */
  shown: number | null
  error: string | null
}

/** A message in a chat, by the chat's own ids. */
export interface MessageRef {
  chat: string
  id: string
}

/**
 * The notice itself, to those who are told first or, while nobody answers, later; a reminder of it; or a card that somebody
 * asked for, once each: `asked:show:NAME`, and with the question whether they mean it `asked:approve:ID:NAME`, the id
 * percent-encoded; or the question why they denied, `asked:why:ID:OCCASION` with that of the message that they pressed.
 * `schedule` tells nobody: it says when the next of these is due.
 */
export type Occasion = 'notice' | 'escalation' | 'reminder' | 'last_reminder' | 'schedule' | `asked:${string}`

/** As the API shows them. */
export const shownOccasions = ['notice', 'escalation', 'reminder', 'last_reminder', 'asked'] as const
export type ShownOccasion = (typeof shownOccasions)[number]

/** Which delivery. */
export type DeliveryKey = Pick<Delivery, 'subjectId' | 'channel' | 'destination' | 'occasion'>

/** What somebody said of a confirmation once it was decided. */
export interface Comment {
  by: Voter
  text: string
  at: number
  via: Via
}
