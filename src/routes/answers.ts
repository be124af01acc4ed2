// What goes out, in zod, once: openapi.yaml is written from it, and the tests hold every answer against it.
import { z } from 'zod'
import { eventTypes } from '../audit/event.js'
import { channelNames, deliveryStates, executionStates, risks, shownOccasions } from '../core/model.js'
import { shareNames } from '../policy/share.js'
import { collectRules } from '../sessions/collect.js'
import { chatTypes } from '../sessions/key.js'
import { rotationReasons } from '../sessions/session.js'
import { extrasOf, type ProblemCode, problemCodes, problems } from './errors.js'
// What goes both ways is named once.
import { reportedOutcome, role, status, verdict } from './requests.js'

const epoch = z.number().meta({ id: 'EpochSeconds', description: 'Seconds since 1970, with a fraction.' })
const isoTime = z.iso.datetime().meta({ id: 'IsoTime', description: 'The same time as ISO 8601, in UTC.' })
const count = z.int().meta({ description: 'How many there are in this answer.' })
const cursor = z.string().nullable().meta({ description: 'Where the next page begins; null on the last.' })
const freeForm = z.record(z.string(), z.unknown())

export const digest = z.string().meta({
  id: 'Digest',
  description:
    'SHA-256 over the RFC 8785 form of action, details, on_behalf_of (where it is given), requester and session_key, ' +
    'in 64 hexadecimal digits.',
})

const rotationReason = z
  .enum(rotationReasons)
  .meta({ id: 'RotationReason', description: 'Why a session got a new id.' })
const risk = z.enum(risks).meta({ id: 'Risk', description: '`high` always needs a person.' })
const executionState = z.enum(executionStates).meta({
  id: 'ExecutionState',
  description:
    'What became of an approval. `unclaimed` may still be claimed; `lapsed` was not claimed in time. `claimed`: the agent ' +
    'acts; `unreported`: it has not said in time how that went, which it still may.',
})
const channel = z.enum(channelNames).meta({ id: 'Channel' })
export const eventType = z.enum(eventTypes).meta({ id: 'EventType' })

export const grant = z
  .object({
    id: z.string(),
    action: z.string(),
    scope: z.enum(['global', 'session']),
    session_key: z.string().nullable(),
    requester: z.string().nullable(),
    when: freeForm.nullable().meta({ description: 'Conditions on the details, as in the rules.' }),
    details: freeForm.nullable().meta({ description: 'The details it is for, equal as a whole.' }),
    granted_by: z.string(),
    reason: z.string().nullable(),
    uses: z.int(),
    max_uses: z.int().nullable(),
    created_at: epoch,
    created_at_iso: isoTime,
    expires_at: epoch.nullable(),
    expires_at_iso: isoTime.nullable(),
    revoked_at: epoch.nullable(),
  })
  .meta({ id: 'Grant', description: 'A whitelist entry.' })

const remembered = z
  .object({
    scope: z.enum(['session', 'global']),
    requester: z.string().nullable().meta({ description: 'For whom; null: whoever asks.' }),
    expires_at: epoch.nullable(),
    expires_at_iso: isoTime.nullable(),
    details: z.enum(['exact', 'any']),
  })
  .meta({ id: 'Remembered', description: 'For what it was whitelisted too.' })

const vote = z
  .object({
    verdict,
    by: z.string(),
    at: epoch,
    at_iso: isoTime,
    via: z.string(),
    reason: z.string().nullable(),
    comment: z.string().nullable().meta({ description: 'The name that was given beside the proven one.' }),
    proven: z.boolean().meta({ description: 'Whether a key, a link or a chat proves the name.' }),
    remember: remembered.nullable(),
  })
  .meta({ id: 'Vote', description: "One person's word on a confirmation." })

const comment = z
  .object({ by: z.string(), text: z.string(), at: epoch, at_iso: isoTime, via: z.string() })
  .meta({ id: 'Comment', description: 'What somebody who decided said of it afterwards.' })

const voting = {
  approvals_needed: z.int().meta({ description: 'How many different people must approve.' }),
  approvals_given: z.int(),
  votes: z.array(vote),
}

/** The answers of the examples are all about one confirmation. */
const sample = {
  id: '019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e',
  action: 'deploy_production',
  requester: 'release-bot',
  digest: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
  expires_at: 1767226200,
  expires_at_iso: '2026-01-01T00:10:00.000Z',
} as const

export const sessionState = z
  .object({
    id: z.string().meta({ description: 'The session id, which changes with each rotation.' }),
    count: z.int().meta({ description: 'Messages so far, submissions among them.' }),
    max: z.int().nullable().meta({ description: 'How many there may be; null: any number.' }),
    remaining: z.int().nullable(),
    near_limit: z.boolean().meta({ description: 'From 85 % on.' }),
    at_limit: z.boolean().meta({ description: 'It rotates with its next use.' }),
    notice: z.string().optional().meta({ description: "What to do about that, for the agent's prompt." }),
    warning: z.string().optional().meta({ description: 'What is odd about the requests of this session.' }),
    was_reset: z.literal(true).optional().meta({ description: 'It rotated since the last answer; said once.' }),
    reset_reason: rotationReason.optional(),
    previous_id: z.string().optional(),
  })
  .meta({ id: 'SessionState', description: 'How the session stands, with this submission or message.' })

export const held = z
  .object({
    id: z.string(),
    action: z.string(),
    status: z.literal('pending'),
    timeout_seconds: z.number(),
    message: z.string(),
    approve_url: z.string(),
    deny_url: z.string(),
    requester: z.string(),
    digest,
    expires_at: epoch,
    expires_at_iso: isoTime,
    session: sessionState.optional(),
  })
  .meta({
    id: 'HeldConfirmation',
    description: 'Held; a person has been asked. With `wait`: still no answer.',
    examples: [
      {
        ...sample,
        status: 'pending',
        timeout_seconds: 600,
        message: 'Waiting for a person to approve or deny this; it expires in 600 s.',
        approve_url: `/confirm/${sample.id}/approve`,
        deny_url: `/confirm/${sample.id}/deny`,
      },
    ],
  })

export const hookAnswer = z
  .object({
    hookSpecificOutput: z
      .object({
        hookEventName: z.literal('PreToolUse'),
        permissionDecision: z.enum(['allow', 'deny']),
        permissionDecisionReason: z
          .string()
          .meta({ description: 'For whoever looks on, or for the model: what to do next.' }),
      })
      .optional()
      .meta({
        description: 'Before a call, and where anything is wrong: always there. After a call: nothing is to be said.',
      }),
  })
  .meta({
    id: 'HookAnswer',
    description: 'The decision. Whatever goes wrong is a `deny` as well, with its code and its sentence.',
  })

export const decided = z
  .object({
    id: z.string(),
    action: z.string(),
    status,
    resolved_by: z.string(),
    resolved_at: epoch.nullable(),
    resolved_at_iso: isoTime.nullable(),
    reason: z.string().optional(),
    grant: grant.optional().meta({ description: 'The whitelist entry that came with the approval.' }),
    ...voting,
  })
  .meta({
    id: 'DecidedConfirmation',
    description: 'Resolved, and that stands; or pending, while more people must approve.',
  })

export const confirmation = z
  .object({
    id: z.string(),
    action: z.string(),
    description: z.string(),
    details: freeForm,
    requester: z.string(),
    session_key: z.string(),
    session_id: z.string().nullable().meta({ description: 'The id that the session had then; null without one.' }),
    warnings: z.array(z.string()).meta({ description: 'What was odd about it in its session.' }),
    status,
    resolved_by: z.string().meta({ description: 'Empty while it is pending.' }),
    resolved_at: epoch.nullable(),
    created_at: epoch,
    timeout_seconds: z.number(),
    created_at_iso: isoTime,
    resolved_at_iso: isoTime.nullable(),
    expires_at: epoch,
    expires_at_iso: isoTime,
    resolved_via: z.string().nullable(),
    reason: z.string().nullable(),
    digest,
    callback_url: z.string().nullable(),
    requested_as: z
      .string()
      .nullable()
      .meta({ description: "The name in the request, where it is not the key's owner." }),
    on_behalf_of: z
      .string()
      .nullable()
      .meta({ description: 'For whom the requester says it acts, which nobody has verified.' }),
    risk,
    rule: z.string().meta({ description: 'The rule that governs it.' }),
    digest_required: z.boolean().meta({ description: 'Whether it is claimed only with its digest.' }),
    ...voting,
    comments: z.array(comment),
    told_at: epoch
      .nullable()
      .meta({ description: 'When a person was first told of it; null: nobody was, before it ended.' }),
    told_at_iso: isoTime.nullable(),
    execution: executionState.nullable().meta({ description: 'What became of an approval; null without one.' }),
    claim_expires_at: epoch.nullable().meta({ description: 'Until when an approval may be claimed.' }),
    claim_expires_at_iso: isoTime.nullable(),
    claimed_at: epoch.nullable(),
    claimed_at_iso: isoTime.nullable(),
    reported_at: epoch.nullable(),
    reported_at_iso: isoTime.nullable(),
    outcome: reportedOutcome.nullable(),
    report_message: z.string().nullable(),
  })
  .meta({
    id: 'Confirmation',
    description: 'A confirmation in its latest state.',
    examples: [
      {
        id: sample.id,
        action: sample.action,
        description: 'Deploy 4.2.0 to production',
        details: { version: '4.2.0', region: 'eu-west-1' },
        requester: sample.requester,
        session_key: 'release-4.2',
        session_id: '019b7765-1c7f-7b14-8f0e-2a51c6f6d1e3',
        warnings: [],
        status: 'approved',
        resolved_by: 'alice',
        resolved_at: 1767225660,
        created_at: 1767225600,
        timeout_seconds: 600,
        created_at_iso: '2026-01-01T00:00:00.000Z',
        resolved_at_iso: '2026-01-01T00:01:00.000Z',
        expires_at: sample.expires_at,
        expires_at_iso: sample.expires_at_iso,
        resolved_via: 'http',
        reason: null,
        digest: sample.digest,
        callback_url: null,
        requested_as: null,
        on_behalf_of: null,
        risk: 'high',
        rule: 'default',
        digest_required: false,
        approvals_needed: 1,
        approvals_given: 1,
        votes: [
          {
            verdict: 'approve',
            by: 'alice',
            at: 1767225660,
            at_iso: '2026-01-01T00:01:00.000Z',
            via: 'http',
            reason: null,
            comment: null,
            proven: true,
            remember: null,
          },
        ],
        comments: [],
        told_at: 1767225601,
        told_at_iso: '2026-01-01T00:00:01.000Z',
        execution: 'unclaimed',
        claim_expires_at: 1767229260,
        claim_expires_at_iso: '2026-01-01T01:01:00.000Z',
        claimed_at: null,
        claimed_at_iso: null,
        reported_at: null,
        reported_at_iso: null,
        outcome: null,
        report_message: null,
      },
    ],
  })

export const claimed = confirmation.meta({ description: 'Go ahead, once; this is what was approved.' })
export const closed = confirmation.meta({ description: 'On record; nothing more is to be done.' })

const delivery = z
  .object({
    channel,
    occasion: z.enum(shownOccasions).meta({
      description:
        'What for: `notice` is the first that somebody is told, `asked` what somebody asked a chat for; a callback is a `notice`.',
    }),
    status: z.enum(deliveryStates),
    attempts: z.int(),
    updated_at: epoch,
    updated_at_iso: isoTime,
    next_attempt_at: epoch.nullable(),
    error: z.string().nullable(),
  })
  .meta({
    id: 'Delivery',
    description: 'How telling a person, or calling the agent back, went by one channel.',
  })

const deciding = z
  .object({
    deciders: z.array(z.string()).nullable().meta({ description: 'Who may decide, by name; null: any operator.' }),
    groups: z
      .array(z.object({ group: z.string(), count: z.int(), members: z.array(z.string()) }))
      .meta({ description: 'How many of the approvals must come from each group, if any.' }),
    own_allowed: z.boolean().meta({ description: 'Whether the requester may decide it too.' }),
    typing_required: z.boolean().meta({ description: "Whether approving needs the action's name typed out." }),
    reason_required: z.array(verdict).meta({ description: 'Which verdicts need a reason.' }),
  })
  .meta({ id: 'Deciding', description: 'What its rule wants of whoever decides.' })

export const found = z
  .intersection(
    confirmation,
    z.object({
      deciding: deciding.nullable().meta({ description: "Null with an agent's key." }),
      deliveries: z.array(delivery),
    }),
  )
  .meta({ id: 'FoundConfirmation', description: 'The confirmation in its latest state, with who was told of it.' })

export const settled = z
  .intersection(
    confirmation,
    z.object({
      message: z.string().meta({ description: 'Whether to go ahead.' }),
      session: sessionState.optional(),
    }),
  )
  .meta({
    id: 'SettledConfirmation',
    description: 'Resolved: by a whitelist entry or a rule at once, or, with `wait`, meanwhile.',
  })

export const confirmationPage = z.object({ count, confirmations: z.array(confirmation), next_cursor: cursor }).meta({
  id: 'ConfirmationPage',
  description: 'Pending ones with the next deadline first; everything else with the newest first.',
})

export const auditPage = z
  .object({ count, entries: z.array(confirmation), next_cursor: cursor })
  .meta({ id: 'AuditPage', description: 'One entry per confirmation in its latest state, the newest first.' })

export const grantPage = z
  .object({ count, entries: z.array(grant), next_cursor: cursor })
  .meta({ id: 'GrantPage', description: 'The whitelist entries that stand.' })

const reason = z.string().nullable()

const sessionFields = {
  session_key: z.string(),
  requester: z.string().meta({ description: "The key's owner; empty for what was asked in open mode." }),
  session_id: z.string().meta({ description: 'It changes with each rotation.' }),
  platform: z.string().nullable().meta({ description: 'Of a session key in the usual form; else null.' }),
  chat_type: z.enum(chatTypes).nullable(),
  created_at: epoch.meta({ description: 'When this session id began.' }),
  created_at_iso: isoTime,
  last_active_at: epoch,
  last_active_at_iso: isoTime,
  messages: z.int().meta({ description: 'Under this session id, submissions among them.' }),
  submissions: z.int(),
  max_messages: z.int().nullable().meta({ description: 'How many there may be; null: any number.' }),
  remaining: z.int().nullable(),
  near_limit: z.boolean().meta({ description: 'From 85 % on.' }),
  at_limit: z.boolean().meta({ description: 'It rotates with its next use.' }),
  streak: z.int().meta({ description: 'Denials and expiries in a row, since a person last approved something.' }),
  fixation: z
    .object({ action: z.string(), repeats: z.int() })
    .nullable()
    .meta({ description: 'What was asked for last, and how many times in a row with other details.' }),
  waits_until: epoch.nullable().meta({ description: 'Until then nothing is taken from it; null: it need not wait.' }),
  waits_until_iso: isoTime.nullable(),
  suspended: z.boolean().meta({ description: 'Nothing is taken from it until it is resumed or reset.' }),
  suspended_at: epoch.nullable(),
  suspended_at_iso: isoTime.nullable(),
  suspended_by: z.string().nullable(),
  suspended_reason: reason,
  rotated_at: epoch.nullable().meta({ description: 'When it last got another session id.' }),
  rotated_at_iso: isoTime.nullable(),
  rotation_reason: rotationReason.nullable(),
  previous_id: z.string().nullable(),
  resets_at: epoch.nullable().meta({ description: 'When it is due if nothing more happens; null: never by time.' }),
  resets_at_iso: isoTime.nullable(),
  due_since: epoch.nullable().meta({
    description:
      'Since when it has to rotate. Its grants cover nothing any more; its session id stays until what was pending or ' +
      'claimed then is over.',
  }),
  due_since_iso: isoTime.nullable(),
  due_reason: rotationReason.nullable(),
  switches_to: z
    .string()
    .nullable()
    .meta({ description: 'The earlier session id that comes back then; null: a new one.' }),
}

export const session = z
  .object(sessionFields)
  .meta({ id: 'Session', description: 'What one requester does under one session key.' })

const pendingInSession = z
  .object({
    id: z.string(),
    action: z.string(),
    description: z.string().meta({ description: 'Empty where it is long; the confirmation has it.' }),
    session_id: z.string().nullable(),
    created_at: epoch,
    created_at_iso: isoTime,
    expires_at: epoch,
    expires_at_iso: isoTime,
  })
  .meta({ id: 'PendingInSession' })

const outcomeInSession = z
  .object({
    id: z.string(),
    action: z.string(),
    description: z.string().meta({ description: 'Empty where it is long; the confirmation has it.' }),
    session_id: z.string().nullable(),
    status,
    resolved_by: z.string(),
    resolved_at: epoch,
    resolved_at_iso: isoTime,
    reason,
    execution: executionState.nullable(),
  })
  .meta({ id: 'OutcomeInSession' })

const earlierId = z
  .object({
    session_id: z.string(),
    created_at: epoch,
    created_at_iso: isoTime,
    last_active_at: epoch,
    last_active_at_iso: isoTime,
    ended_at: epoch,
    ended_at_iso: isoTime,
    reason: rotationReason,
    messages: z.int(),
    submissions: z.int(),
  })
  .meta({ id: 'EarlierSessionId', description: 'One that was rotated away; the session can be switched back to it.' })

export const wholeSession = z
  .object({
    ...sessionFields,
    requester_waits_until: epoch
      .nullable()
      .meta({ description: 'Until then nothing is taken from its requester, in whichever session.' }),
    requester_waits_until_iso: isoTime.nullable(),
    grants: z.array(grant).meta({ description: 'The whitelist entries for this session that cover something now.' }),
    pending: z.array(pendingInSession).meta({ description: 'At most 100.' }),
    outcomes: z.array(outcomeInSession).meta({ description: 'The last ten, the latest first.' }),
    earlier: z.array(earlierId).meta({ description: 'The last 20 session ids before this one, the latest first.' }),
  })
  .meta({ id: 'WholeSession', description: 'A session, with what belongs to it.' })

export const sessionText = z.string().meta({
  description: "The same in words, for the agent's prompt; what came from outside stands in quotes, on one line.",
})

export const sessionPage = z
  .object({ count, sessions: z.array(session), next_cursor: cursor })
  .meta({ id: 'SessionPage', description: 'The latest active first.' })

export const countedMessages = z
  .object({ session: sessionState })
  .meta({ id: 'CountedMessages', description: 'The messages are counted.' })

export const event = z
  .object({
    seq: z.int(),
    type: eventType,
    time: epoch,
    time_iso: isoTime,
    actor: z.string(),
    channel: z.string(),
    confirmation_id: z.string().nullable(),
    data: freeForm,
  })
  .meta({ id: 'Event', description: 'Something that happened, as the append-only history keeps it.' })

export const eventStream = z.string().meta({
  description:
    'Server-sent events: `id` is the sequence number, `event` the type, `data` an `Event` as JSON. ' +
    'For an agent the numbers are those within its confirmation.',
  contentMediaType: 'text/event-stream',
})

const whole =
  'It comes in chunks, and its end is the end of all there is: what is cut off before that ends as a broken connection does. ' +
  'The trailer `Export-Count` then has the number of rows.'

export const jsonLines = z.string().meta({
  description: `One JSON object a line, the oldest first, as the listing beside it has them. ${whole}`,
  contentMediaType: 'application/jsonl',
})

export const csvRows = z.string().meta({
  description: `One row a line, the oldest first, in UTF-8 with a byte order mark; safe to open in a spreadsheet. ${whole}`,
})

export const mcpAnswer = z
  .looseObject({ jsonrpc: z.literal('2.0') })
  .meta({ description: 'The answer, a message of JSON-RPC 2.0; as a stream if there is more to say before.' })
export const mcpStream = z.string().meta({ description: 'Messages of JSON-RPC 2.0, the answer last.' })
export const mcpTaken = z.null().meta({ description: 'A notification was taken.' })

export const noMore = z.null().meta({ description: 'It is resolved, and after Last-Event-ID nothing happened.' })

export const eventPage = z
  .object({
    count,
    events: z.array(event),
    next_after: z.int().meta({ description: "The 'after' of the next call." }),
    more: z.boolean().meta({ description: 'There is more behind that already.' }),
  })
  .meta({ id: 'EventPage', description: 'The history, oldest first.' })

export const health = z
  .object({
    status: z.literal('ok'),
    pending_count: z.int(),
    timestamp: epoch,
    timestamp_iso: isoTime,
    version: z.string(),
    auth: z.enum(['open', 'keys']).meta({ description: 'Open: there is no key yet, and everyone here is let in.' }),
  })
  .meta({ id: 'Health', description: 'The process answers.' })

export const ready = z
  .object({ status: z.literal('ready') })
  .meta({ id: 'Readiness', description: 'The database takes writes.' })

export const metricsText = z.string().meta({ description: 'In the text format of Prometheus.' })

export const apiDescription = z
  .string()
  .meta({ description: 'OpenAPI 3.1, in YAML.', contentMediaType: 'application/yaml' })

export const key = z
  .object({
    id: z.string(),
    name: z.string(),
    role,
    state: z.enum(['live', 'expired', 'revoked']),
    created_by: z.string(),
    created_at: epoch,
    created_at_iso: isoTime,
    expires_at: epoch.nullable(),
    expires_at_iso: isoTime.nullable(),
    revoked_at: epoch.nullable(),
    revoked_at_iso: isoTime.nullable(),
    replaced_by: z.string().nullable().meta({ description: 'The key in its place, where it was rotated.' }),
    last_used_at: epoch
      .nullable()
      .meta({ description: 'When it was last used; a crash forgets the last minute. Null: never.' }),
    last_used_at_iso: isoTime.nullable(),
  })
  .meta({ id: 'Key', description: 'A key, without its secret.' })

export const madeKey = z
  .intersection(
    key,
    z.object({
      key: z.string().meta({ description: 'The key itself: shown this once.' }),
      replaces: key.optional().meta({ description: 'The key in whose place it is, which stays good for a while.' }),
    }),
  )
  .meta({ id: 'MadeKey', description: 'A new key. Keep it now: only its hash is stored.' })

export const signInLink = z
  .object({
    url: z.string().meta({ description: 'Where its recipient signs in, once, by pressing a button: shown this once.' }),
    key_id: z.string(),
    name: z.string(),
    role: key.shape.role,
    expires_at: epoch,
    expires_at_iso: isoTime,
  })
  .meta({ id: 'SignInLink', description: 'A link to sign in with a key. Only its hash is stored.' })

export const keyList = z
  .object({ count, keys: z.array(key) })
  .meta({ id: 'KeyList', description: 'Every key there ever was.' })

export const person = z
  .object({
    name: z.string(),
    telegram_id: z.string().nullable(),
    discord_id: z.string().nullable(),
    slack_id: z.string().nullable(),
    created_at: epoch,
    created_at_iso: isoTime,
  })
  .meta({ id: 'Person', description: 'Whoever asks and votes under one name, by whatever channel.' })

export const personList = z
  .object({ count, people: z.array(person) })
  .meta({ id: 'PersonList', description: 'Everyone who ever had a key or is known by a chat.' })

const collectRule = z.enum(collectRules).meta({
  id: 'CollectRule',
  description: 'Why a session goes: it is `empty`, it is `trivial`, or it `aged`. The first that fits is the one.',
})
const byRule = z
  .object({ empty: z.int(), trivial: z.int(), aged: z.int() })
  .meta({ id: 'ByRule', description: 'How many by each rule.' })

const doomedSession = z
  .object({
    id: z.string().meta({ description: 'The session id.' }),
    session_key: z.string(),
    requester: z.string().meta({ description: 'Empty: from open mode.' }),
    platform: z.string().nullable(),
    is_current: z.boolean().meta({ description: 'Whether the session goes on with it; else it was rotated away.' }),
    rule: collectRule,
    messages: z.int(),
    created_at: epoch,
    created_at_iso: isoTime,
    last_active_at: epoch,
    last_active_at_iso: isoTime,
  })
  .meta({ id: 'DoomedSession', description: 'A session id that would go.' })

export const collected = z
  .object({
    dry_run: z.boolean(),
    total: z.int().nullable().meta({ description: 'How many went, or would; null on further pages.' }),
    by_rule: byRule.nullable(),
    sessions: z.array(doomedSession).optional().meta({ description: 'What would go, if that was the question.' }),
    next_cursor: cursor.optional(),
  })
  .meta({ id: 'Collected', description: 'What went, or what would go.' })

export const collecting = z
  .object({
    under_way: z
      .object({ planned: z.int(), gone: z.int() })
      .nullable()
      .meta({ description: 'How many are to go, and how many have gone; null: none is being removed.' }),
  })
  .meta({ id: 'Collecting', description: 'How far it is.' })

export type Collected = z.output<typeof collected>
export type Collecting = z.output<typeof collecting>
export type MadeKey = z.output<typeof madeKey>
export type SignInLink = z.output<typeof signInLink>
export type KeyList = z.output<typeof keyList>
export type Person = z.output<typeof person>
export type PersonList = z.output<typeof personList>
export type Session = z.output<typeof session>
export type WholeSession = z.output<typeof wholeSession>
export type SessionPage = z.output<typeof sessionPage>

// -- problems ----------------------------------------------------------------------------------------------------------

const problemCode = z.enum(problemCodes).meta({
  id: 'ProblemCode',
  description: [
    'What went wrong. Decide by this; it is stable.',
    '',
    ...problemCodes.map((code) => `- \`${code}\` (${problems[code].status}): ${problems[code].meaning}`),
  ].join('\n'),
})

/** Those whose `status` is the state of the confirmation, wherever or only where a confirmation is decided. */
const stateCodes = problemCodes.filter((code) => extrasOf(code).some(({ name }) => name === 'status'))
const numberCodes = problemCodes.filter(
  (code) => !extrasOf(code).some(({ name, isSure }) => name === 'status' && isSure),
)

/** `isOnConfirmation`: of a route about one confirmation, by its id. */
export function hasState(code: ProblemCode, isOnConfirmation: boolean): boolean {
  return extrasOf(code).some(({ name, isSure }) => name === 'status' && (isSure || isOnConfirmation))
}

const problemFields = {
  type: z.string().meta({ description: '`urn:holdpoint:problem:` and the code.' }),
  title: z.string(),
  status: z.int().meta({ description: 'The HTTP status.' }),
  detail: z.string(),
  error: z.string().meta({ description: 'One sentence: what is wrong and what to do next.' }),
  code: problemCode,
  request_id: z.string().meta({ description: 'The log has it too.' }),
}

/** What problems hold beside that, each with some codes. */
export const extraFields = {
  id: z.string().meta({ description: 'The confirmation that is meant.' }),
  reason: z.string().nullable().meta({ description: 'Why it was denied.' }),
  resolved_by: z.string(),
  resolved_at: epoch,
  claim_expires_at: epoch,
  claimed_at: epoch,
  outcome: reportedOutcome.meta({ description: 'What was reported.' }),
  digest: digest.meta({ description: 'The digest of what was approved.' }),
  share: z.enum(shareNames).meta({ id: 'Share', description: 'Which share was used up.' }),
  max: z.int().meta({ description: 'Confirmations of this action in one window.' }),
  remaining: z.int().meta({ description: 'How many are left in this window.' }),
  window_seconds: z.number(),
  retry_after_seconds: z.int().meta({ description: 'As in `Retry-After`.' }),
  requesters: z.array(z.string()),
  ids: z.array(z.string()),
  open_limit: z.int().meta({ description: 'How many the requester may have open.' }),
}

/** The extras of these codes, none of which every one of them has, and each told with its codes. */
function extrasWith(codes: ProblemCode[]) {
  return Object.fromEntries(
    Object.entries(extraFields).flatMap(([name, field]) => {
      const having = codes.filter((code) => extrasOf(code).some((extra) => extra.name === name))
      if (having.length === 0) return []
      const { description } = (z.globalRegistry.get(field) ?? {}) as { description?: string }
      const withCodes = `With ${having.map((code) => `\`${code}\``).join(', ')}.`
      const said = [description, withCodes].filter((one) => one !== undefined).join(' ')
      return [[name, field.optional().meta({ description: said })]]
    }),
  )
}

export const problem = z.object({ ...problemFields, ...extrasWith(numberCodes) }).meta({
  id: 'Problem',
  description: 'What went wrong, as RFC 9457 problem details.',
  examples: [
    {
      type: 'urn:holdpoint:problem:not_found',
      title: 'Not found',
      status: 404,
      detail: `There is no confirmation ${sample.id}.`,
      error: `There is no confirmation ${sample.id}.`,
      code: 'not_found',
      request_id: '8f14e45fceea167a',
    },
  ],
})

export const stateProblem = z
  .object({
    ...problemFields,
    status: status.meta({ description: 'The state of the confirmation that stands, and not the HTTP status.' }),
    code: z.enum(stateCodes),
    ...extrasWith(stateCodes),
  })
  .meta({
    id: 'StateProblem',
    description: 'A 409 about the state of a confirmation: `status` is that state.',
    examples: [
      {
        type: 'urn:holdpoint:problem:already_resolved',
        title: 'Already resolved',
        status: 'denied',
        detail: `Confirmation ${sample.id} was already denied by bob. That stands; nothing was changed.`,
        error: `Confirmation ${sample.id} was already denied by bob. That stands; nothing was changed.`,
        code: 'already_resolved',
        request_id: '8f14e45fceea167a',
        resolved_by: 'bob',
        resolved_at: 1767225660,
      },
    ],
  })

type AnyProblem = z.ZodType<Record<string, unknown>, Record<string, unknown>>

/** A problem that has one of these codes, which all have a state or all have none. */
function narrowed(codes: ProblemCode[], isState: boolean): AnyProblem {
  return z.intersection(isState ? stateProblem : problem, z.object({ code: z.enum(codes) }))
}

/** A problem that has one of these codes. */
export function problemWith(codes: ProblemCode[], isOnConfirmation: boolean): AnyProblem {
  const kinds = [true, false].flatMap((isState) => {
    const some = codes.filter((code) => hasState(code, isOnConfirmation) === isState)
    return some.length === 0 ? [] : [narrowed(some, isState)]
  })
  return kinds.length === 1 ? kinds[0]! : z.union(kinds)
}

// -- many at once ------------------------------------------------------------------------------------------------------

/** What a submission may be refused with, alone or among many. */
export const submissionProblems = [
  'callback_refused',
  'unclear_action',
  'denied_before',
  'key_reused',
  'rate_limited',
  'too_many_open',
  'disk_limited',
  'session_suspended',
  'circuit_open',
] as const satisfies ProblemCode[]

/** The same of a decision. */
export const decisionProblems = [
  'reason_required',
  'own_request',
  'not_a_decider',
  'already_resolved',
  'already_voted',
] as const satisfies ProblemCode[]

/** And of one that approves. */
export const approvalProblems = ['typing_required'] as const satisfies ProblemCode[]

/** What else can be wrong with one item. */
const itemProblems = ['not_json', 'unknown_field', 'invalid_request'] as const satisfies ProblemCode[]

/** A result with a number for its status and one with a state, by the status that it would have had alone. */
function problemResults<T extends z.ZodRawShape>(codes: ProblemCode[], shape: T) {
  const resultWith = (isState: boolean) => {
    const some = codes.filter((code) => hasState(code, true) === isState)
    const numbers = [...new Set(some.map((code) => problems[code].status as number))].sort()
    return z.object({ ...shape, status_code: z.literal(numbers), body: narrowed(some, isState) })
  }
  return [resultWith(false), resultWith(true)] as const
}

const replayed = z.boolean().optional().meta({ description: 'Asked before, with the same key.' })

const submissionResult = z
  .discriminatedUnion('status_code', [
    z.object({ status_code: z.literal(202), body: held, replayed }),
    z.object({ status_code: z.literal(200), body: settled, replayed }),
    ...problemResults([...itemProblems, ...submissionProblems], {}),
  ])
  .meta({ id: 'SubmissionResult', description: 'The answer that one submission would have had alone.' })

const decisionResult = z
  .discriminatedUnion('status_code', [
    z.object({ id: z.string(), status_code: z.literal(200), body: decided }),
    ...problemResults(
      [
        ...itemProblems,
        ...decisionProblems,
        ...approvalProblems,
        'unauthorized',
        'not_found',
        'internal_error',
        'contended',
        'outcome_unknown',
        'storage_unavailable',
      ],
      { id: z.string().optional() },
    ),
  ])
  .meta({ id: 'DecisionResult', description: 'The answer that one decision would have had alone.' })

export const submissionResults = z
  .object({ count, results: z.array(submissionResult) })
  .meta({ id: 'SubmissionResults', description: 'One result for each, in the order of the request.' })

export const decisionResults = z
  .object({ count, results: z.array(decisionResult) })
  .meta({ id: 'DecisionResults', description: 'One result for each, in the order of the request.' })
