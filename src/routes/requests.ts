// What comes in, in zod, once: requests are validated by it, types are inferred from it, openapi.yaml is written from it.
import { z } from 'zod'
import { eventTypes } from '../audit/event.js'
import { maxExpirySeconds, maxOverlapSeconds } from '../access/key.js'
import { chatIdPatterns, nameForm, nameRule, problemWithName } from '../access/person.js'
import { roles } from '../access/role.js'
import { shorten } from '../core/ambiguity.js'
import { nearTo } from '../core/closest.js'
import { type Status, statuses, verdicts } from '../core/model.js'
import { skeleton } from '../core/skeleton.js'
import { actionPrefix, hookEvents } from '../hooks/claude-code.js'
import { settingBounds, usualSettings } from '../sessions/collect.js'
import { problemWithWhen, maxConditions, maxWhen, comparisonNames } from '../policy/when.js'

export const maxName = 1000
/** A page of 500 reasons of this length is still a few megabytes. */
const maxReason = 10_000
const maxDepth = 64
/** More than a person reads before deciding. Every value costs time and memory, so they are counted before parsing. */
export const maxValues = 10_000
/** How many submissions or decisions one request may hold. */
const maxMany = 100

/** Text that can be stored, hashed and shown: no NUL, no half characters. */
export const wellFormed = (field: string) => (value: string, context: z.RefinementCtx<string>) => {
  if (value.includes('\0') || !value.isWellFormed()) {
    context.addIssue({ code: 'custom', message: `Field '${field}' must be valid Unicode text without null characters` })
  }
}

/** The bound comes first, and what is beyond it is looked at no further. */
export const atMost = (field: string, max: number, schema: z.ZodString) =>
  max === Infinity
    ? schema
    : schema.max(max, { error: `Field '${field}' must have at most ${max} characters`, abort: true })

const trimmed = 'Trimmed; it must not be blank.'

/** Nothing, and null, are missing. */
export const requiredText = (field: string) =>
  z.string({
    error: ({ input }) =>
      input === undefined || input === null ? `Field '${field}' is required` : `Field '${field}' must be a string`,
  })

export const required = (field: string, max = Infinity) =>
  atMost(field, max, requiredText(field).trim().min(1, `Field '${field}' is required`))
    .superRefine(wellFormed(field))
    .meta({ pattern: String.raw`\S`, description: trimmed })

export const optional = (field: string, max = Infinity) =>
  atMost(field, max, z.string(`Field '${field}' must be a string`)).superRefine(wellFormed(field))

const ownNames = ['system', 'whitelist', 'rule'].map(skeleton)
const isOwnName = (value: string) => {
  if (!/[:\u2236\ufe13\ufe55\uff1a]/.test(value)) return false
  const bare = skeleton(value)
  return ownNames.some((one) => bare.startsWith(one))
}

/** Somebody's name. What the service signs with is reserved, so that nobody can pass for it; blank means unnamed. */
const personName = (field: string) =>
  optional(field, maxName).refine((value) => !isOwnName(value), {
    error: `Field '${field}' must not begin with 'system:', 'whitelist:' or 'rule:'; those names are the service's own`,
  })

/** The name that somebody gives on a page. */
export const givenName = personName('name')

/** The approver's name, which counts in open mode. */
const decider = (field: string) =>
  personName(field)
    .optional()
    .meta({ description: "Who does this, 'api' if it is left out; with a key it is the key's owner." })

/** Not a record, which would look at each of thousands of members once more. */
export const jsonObject = (field: string) =>
  z
    .custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
      error: `Field '${field}' must be an object`,
      abort: true,
    })
    .superRefine((value, context) => {
      const problem = problemWithDetails(value)
      if (problem !== null) context.addIssue({ code: 'custom', message: `Field '${field}' ${problem}`, fatal: true })
    })
    .meta({ type: 'object', additionalProperties: {} })

const details = jsonObject('details')
const detailsBounds = `At most ${maxDepth} levels deep; the whole body has at most ${maxValues} values.`

const reason = optional('reason', maxReason)

/** All that takes fields takes these and no other: one that is misspelt must not pass for one that was left out. */
export const bodyObject = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, { error: (issue) => noSuch(issue, 'field') ?? 'The body must be a JSON object.' })
export const queryObject = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, { error: (issue) => noSuch(issue, 'query parameter') })
function noSuch({ code, keys, inst }: z.core.$ZodRawIssue, word: string): string | undefined {
  if (code !== 'unrecognized_keys') return undefined
  const known = Object.keys((inst as unknown as z.ZodObject).shape)
  const [name] = keys as [string, ...string[]]
  const meant = nearTo(name, known)
  const all = `takes ${known.length === 0 ? 'none' : known.join(', ')}.`
  return `There is no ${word} '${shorten(name)}' here; ${meant === undefined ? 'it' : `did you mean '${meant}'? It`} ${all}`
}

/** For routes that say nothing of a query or a body. */
export const noQuery = queryObject({})
export const noBody = bodyObject({}).optional()

export const submitBody = bodyObject({
  action: required('action', maxName),
  description: required('description'),
  details: details.default({}).meta({ description: detailsBounds }),
  requester: personName('requester')
    .optional()
    .meta({ default: 'agent', description: "With a key it is the key's owner, and this no more than a comment." }),
  on_behalf_of: personName('on_behalf_of')
    .optional()
    // A default would be part of the description, and the answer has null.
    .transform((value) => value?.trim() || undefined)
    .meta({ description: 'For whom the agent says it acts: shown as its word, part of the digest, and no right.' }),
  session_key: optional('session_key', maxName).default(''),
  timeout_seconds: z
    .unknown()
    .optional()
    .transform((value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value))
    .transform((value) => (typeof value === 'number' ? value : null))
    .meta({
      type: 'number',
      description:
        'Clamped to the bounds of the rule, and its default if it is left out or no number: 30..3600 and 300, where the rule ' +
        'says nothing else.',
    }),
  callback_url: optional('callback_url')
    .optional()
    .meta({ format: 'uri', description: 'Where the resolved record is POSTed, signed after Standard Webhooks.' }),
}).meta({
  id: 'Submission',
  description: 'An action that a person is to confirm.',
  examples: [
    {
      action: 'deploy_production',
      description: 'Deploy 4.2.0 to production',
      details: { version: '4.2.0', region: 'eu-west-1' },
      requester: 'release-bot',
      session_key: 'release-4.2',
      timeout_seconds: 600,
    },
  ],
})

/** Ids of the host's own, where it gives one. */
const hostId = (field: string) => optional(field, maxName).nullish()

/** Not closed, as all other bodies are: hosts send more, and what comes with their next version must not deny every call. */
export const hookBody = z
  .object(
    {
      hook_event_name: z
        .enum(hookEvents, { error: `Field 'hook_event_name' must be one of ${hookEvents.join(', ')}` })
        .meta({ description: 'Before a call, after one that went well, or after one that failed.' }),
      session_id: hostId('session_id').meta({
        description: 'Becomes the session key; without one there is no session.',
      }),
      tool_name: optional('tool_name', maxName - actionPrefix.length)
        .regex(/^\S(.*\S)?$/s, "Field 'tool_name' must neither be empty nor begin or end with a space")
        .meta({ description: `The action is \`${actionPrefix}\` and this.` }),
      tool_input: jsonObject('tool_input').meta({
        description: 'Approved as it is, but for the `description` of Bash, which is left out: it does nothing.',
      }),
      cwd: optional('cwd').nullish().meta({ description: 'In which folder; approved with the rest.' }),
      tool_use_id: hostId('tool_use_id').meta({ description: 'By which the outcome is reported afterwards.' }),
      error: z.unknown().optional().meta({ description: 'How a call failed; of a text the beginning is kept.' }),
    },
    { error: 'The body must be a JSON object.' },
  )
  .meta({
    id: 'HookCall',
    description: "What a hook says of a call. Other fields of the host's are not looked at.",
    examples: [
      {
        hook_event_name: 'PreToolUse',
        session_id: '4f6c1b1e-6f5d-4c7e-9d0e-2f4f6a1f0c55',
        tool_name: 'Bash',
        tool_input: { command: 'git push --force', description: 'Publish the branch' },
        cwd: '/home/ann/shop',
        tool_use_id: 'toolu_01A09q90qw90lq917835lq9',
      },
    ],
  })

/** As long as a host may wait, and how long it does where it does not say. */
const maxHookSeconds = 86_400
const usualHookSeconds = 600
const hookSeconds = `Query parameter 'timeout' must be a whole number of seconds from 1 to ${maxHookSeconds}`

export const hookQuery = queryObject({
  timeout: z
    .string("Query parameter 'timeout' must be given once")
    .regex(/^[1-9]\d{0,5}$/, hookSeconds)
    .transform(Number)
    .refine((seconds) => seconds <= maxHookSeconds, hookSeconds)
    .default(usualHookSeconds)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: maxHookSeconds,
      description: "The hook's own time-out: the answer comes before it, by a tenth of it or ten seconds.",
    }),
})

/** What an Idempotency-Key may be: what a header can carry and a person can read. */
const maxKey = 255
const keyCharacters = `[!-~]{1,${maxKey}}`
const keyPattern = new RegExp(`^${keyCharacters}$`)
const keyForm = `1 to ${maxKey} visible ASCII characters`
export const problemWithKey = (key: string): string | null => (keyPattern.test(key) ? null : `must be ${keyForm}`)

/** One of a batch: the header of a submission has its place inside. */
export const batchItem = submitBody
  .extend({
    idempotency_key: optional('idempotency_key')
      .superRefine((key, context) => {
        const problem = problemWithKey(key)
        if (problem !== null) context.addIssue({ code: 'custom', message: `Field 'idempotency_key' ${problem}` })
      })
      .optional()
      .meta({
        minLength: 1,
        maxLength: maxKey,
        pattern: keyPattern.source,
        description: `As the header \`Idempotency-Key\` of a submission alone, without quotes: ${keyForm}.`,
      }),
  })
  .meta({ id: 'BatchItem', description: 'One submission of a batch.' })

const many = (field: string, item: z.ZodType) => {
  const error = `Field '${field}' must be a list of 1 to ${maxMany}`
  const list = z.array(z.unknown(), { error }).min(1, error).max(maxMany, error)
  // Each item is judged by itself, so that one mistake does not spoil the rest; what it should be is for openapi.yaml.
  return list.meta({ items: item })
}

export const batchBody = bodyObject({ items: many('items', batchItem) }).meta({ id: 'Batch' })

const typedAction = optional('typed_action', maxName)
  .optional()
  .meta({ description: "The action's name, where the rule wants it typed out to approve." })

export const verdict = z
  .enum(verdicts, { error: "Field 'verdict' must be 'approve' or 'deny'" })
  .meta({ id: 'Verdict' })

export const decision = bodyObject({
  id: z.string("Field 'id' is required"),
  verdict,
  reason: reason.optional(),
  typed_action: typedAction,
}).meta({ id: 'Decision', description: 'What is decided on one confirmation.' })

export const decisionsBody = bodyObject({
  decisions: many('decisions', decision),
  decided_by: decider('decided_by'),
}).meta({ id: 'Decisions' })

export const claimBody = bodyObject({
  digest: z
    .string("Field 'digest' must be a string")
    .regex(/^[0-9a-fA-F]{64}$/, "Field 'digest' must be a SHA-256 in 64 hexadecimal digits")
    .toLowerCase()
    .optional()
    .meta({ description: 'What the agent is about to do; compared with what was approved.' }),
})
  .meta({ id: 'Claim' })
  .optional()

const positive = (field: string, max: number) => {
  const error = `Field '${field}' must be a whole number from 1 to ${max}`
  return z.int({ error }).min(1, error).max(max, error)
}

export const reportedOutcome = z
  .enum(['succeeded', 'failed'], { error: "Field 'outcome' must be 'succeeded' or 'failed'" })
  .meta({ id: 'ReportedOutcome', description: 'How the act went.' })

export const reportBody = bodyObject({
  outcome: reportedOutcome,
  message: optional('message', maxReason).optional(),
}).meta({ id: 'Report', description: 'How the act went.' })

/** Ten years: longer is for ever. */
const maxTtlSeconds = 315_360_000

const scope = (field: string) =>
  z.enum(['session', 'global'], { error: `Field '${field}' must be 'session' or 'global'` })

const rememberFields = z
  .strictObject(
    {
      scope: scope('remember.scope'),
      ttl_seconds: positive('remember.ttl_seconds', maxTtlSeconds)
        .optional()
        .meta({ description: 'Left out: until it is revoked.' }),
      for: z
        .enum(['requester', 'anyone'], { error: "Field 'remember.for' must be 'requester' or 'anyone'" })
        .optional()
        .meta({ description: 'Left out: anyone; for a session and with keys, the requester.' }),
      details: z
        .enum(['exact', 'any'], { error: "Field 'remember.details' must be 'exact' or 'any'" })
        .optional()
        .meta({ default: 'any', description: 'Exact: only for details that are equal to these as a whole.' }),
    },
    {
      error: (issue) =>
        noSuch(issue, 'field') ??
        "Field 'remember' must be 'session', 'global' or an object with one of them as 'scope'",
    },
  )
  .meta({ id: 'Remember', description: 'The whitelist entry that goes with an approval.' })

/** In one word, or with all that an entry can be bound to. */
const remember = z
  .union([scope('remember'), rememberFields], {
    error: ({ input }) => rememberFields.safeParse(input).error!.issues[0]!.message,
  })
  .transform(
    (asked) => (typeof asked === 'string' ? { scope: asked } : asked) satisfies z.output<typeof rememberFields>,
  )

export const approveBody = bodyObject({
  approver: decider('approver'),
  reason: reason.optional(),
  remember: remember.optional().meta({
    description: 'Also whitelists the action, for this session or for all. In one word: until it is revoked.',
  }),
  typed_action: typedAction,
})
  .meta({ id: 'Approval' })
  .optional()

export const denyBody = bodyObject({ denier: decider('denier'), reason: reason.optional() })
  .meta({ id: 'Denial' })
  .optional()

export const cancelBody = bodyObject({
  cancelled_by: personName('cancelled_by')
    .optional()
    .meta({ description: 'While there is no key; left out: the requester.' }),
  reason: reason.optional(),
})
  .meta({ id: 'Cancellation' })
  .optional()

const when = jsonObject('when').superRefine((value, context) => {
  const problem = problemWithWhen(value)
  if (problem !== null) context.addIssue({ code: 'custom', message: `Field 'when': ${problem}` })
})

export const grantBody = bodyObject({
  action: required('action', maxName),
  session_key: optional('session_key', maxName)
    .min(1, "Field 'session_key' must not be empty; leave it out to cover everyone")
    .optional()
    .meta({ description: 'Leave it out to cover everyone.' }),
  requester: required('requester', maxName)
    .optional()
    .meta({ description: `Leave it out to cover whoever asks. ${trimmed}` }),
  when: when.optional().meta({
    minProperties: 1,
    maxProperties: maxConditions,
    description:
      'Conditions on the details, as in the rules: by the path to a value, what it is to equal, or an object of ' +
      `${comparisonNames.map((name) => `\`${name}\``).join(', ')}. At most ${maxWhen} characters. Leave it out to cover ` +
      'whatever the details are; beside `details`, both must fit.',
  }),
  details: details.optional().meta({
    description: `Covers only requests whose details are equal to these as a whole. ${detailsBounds}`,
  }),
  ttl_seconds: positive('ttl_seconds', maxTtlSeconds).optional(),
  max_uses: positive('max_uses', 1_000_000_000).optional(),
  reason: reason.optional(),
  granted_by: decider('granted_by'),
}).meta({ id: 'GrantTerms', description: 'What may pass without asking, for whom and how long.' })

export const revokeBody = bodyObject({ revoked_by: decider('revoked_by') })
  .meta({ id: 'Revocation' })
  .optional()

/** As a submission takes it; the empty one belongs to no session. */
export const sessionParams = z.object({
  key: optional('session_key', maxName)
    .min(1, 'Say which session: /sessions/KEY, with the session key percent-encoded')
    .meta({ minLength: 1, description: 'The session key, percent-encoded.' }),
})

export const messagesBody = bodyObject({
  count: positive('count', 100).optional().meta({ default: 1, description: 'How many messages there were.' }),
})
  .meta({ id: 'Messages', description: 'That the conversation went on.' })
  .optional()

export const resetBody = bodyObject({ reset_by: decider('reset_by') })
  .meta({ id: 'SessionReset' })
  .optional()

export const suspendBody = bodyObject({
  reason: reason.optional().meta({ description: 'The agent is told.' }),
  suspended_by: decider('suspended_by'),
})
  .meta({ id: 'SessionSuspension' })
  .optional()

export const resumeBody = bodyObject({ reason: reason.optional(), resumed_by: decider('resumed_by') })
  .meta({ id: 'SessionResumption' })
  .optional()

export const switchBody = bodyObject({
  session_id: required('session_id', maxName),
  switched_by: decider('switched_by'),
}).meta({ id: 'SessionSwitch' })

/** Nobody is held longer than this: what stands between client and service would give up first. */
export const maxWaitSeconds = 300

export const waitQuery = queryObject({
  wait: z
    .string("Query parameter 'wait' must be given once")
    .regex(/^\d+(\.\d+)?$/, "Query parameter 'wait' must be a number of seconds")
    .transform((value) => Math.min(maxWaitSeconds, Number(value)))
    .optional()
    .meta({
      type: 'number',
      minimum: 0,
      description:
        'Hold the request until the confirmation is resolved or this many seconds are over; what is more than ' +
        `${maxWaitSeconds} is clamped to that.`,
    }),
})

export const waitHeaders = z.object({
  Prefer: z.string().optional().meta({ description: '`wait=SECONDS`, as the query parameter (RFC 7240).' }),
})

export const keyHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .meta({
      pattern: `^(${keyCharacters}|"${keyCharacters}")$`,
      description: `The same requester, key and payload get the first answer again. ${keyForm}, with or without quotes around.`,
    }),
})

export const submitHeaders = waitHeaders.extend(keyHeaders.shape)

export const streamHeaders = z.object({
  'Last-Event-ID': z.string().optional().meta({ description: 'Go on after the event with this number.' }),
})

/** What somebody can be called. */
export const nameIn = (field: string) =>
  required(field)
    .superRefine((name, context) => {
      const problem = problemWithName(name)
      if (problem !== null) context.addIssue({ code: 'custom', message: `Field '${field}' ${problem}` })
    })
    .meta({ ...nameForm, description: `Trimmed, it ${nameRule}. Names of the service itself are reserved.` })

const ownerName = nameIn('name')

const digitId = (field: string, pattern: RegExp) => {
  // A group's id has a minus, and a group is nobody. A number may have more digits than it can hold.
  const error = `Field '${field}' must be a person's id, a text of 1 to 32 digits, or null`
  const text = z.string().meta({ pattern: pattern.source })
  const number = z.number().refine(Number.isSafeInteger, error)
  return z
    .union([text, number.meta({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })], { error })
    .transform(String)
    .pipe(z.string().regex(pattern, error))
    .nullable()
    .optional()
    .meta({ description: 'Best sent as text: a number is refused where it has more digits than it can hold.' })
}

const slackId = z
  .string()
  .regex(chatIdPatterns.slack, "Field 'slack_id' must be a member's id as U012AB3CD, or null")
  .nullable()
  .optional()
  .meta({ description: 'Of somebody from another workspace with the id of that in front: T012AB3CD:U012AB3CD.' })

const personFields = {
  telegram_id: digitId('telegram_id', chatIdPatterns.telegram),
  discord_id: digitId('discord_id', chatIdPatterns.discord),
  slack_id: slackId,
}

export const role = z
  .enum(roles, { error: `Field 'role' must be one of ${roles.join(', ')}` })
  .meta({ id: 'Role', description: 'What a key may do.' })

export const keyBody = bodyObject({
  name: ownerName,
  role,
  expires_in_seconds: positive('expires_in_seconds', maxExpirySeconds)
    .optional()
    .meta({ description: 'Left out: until it is revoked.' }),
  ...personFields,
}).meta({ id: 'KeyTerms', description: 'Whose key it is to be, and what it may do.' })

/** A day, to carry the new key to where the old one is. */
export const usualOverlapSeconds = 86_400

const noOverlap = `Field 'overlap_seconds' must be a whole number from 0 to ${maxOverlapSeconds}`

export const rotateBody = bodyObject({
  overlap_seconds: z
    .int({ error: noOverlap })
    .min(0, noOverlap)
    .max(maxOverlapSeconds, noOverlap)
    .optional()
    .meta({ default: usualOverlapSeconds, description: 'How long the old key stays good.' }),
})
  .meta({ id: 'Rotation' })
  .optional()

export const personBody = bodyObject(personFields)
  .meta({ id: 'PersonIds', description: 'By which ids the chats know somebody. Left out: as it was; null: by none.' })
  .optional()

const within = (field: string, { min, max }: { min: number; max: number }) => {
  const error = `Field '${field}' must be a whole number from ${min} to ${max}`
  return z.int({ error }).min(min, error).max(max, error)
}

export const collectBody = bodyObject({
  empty_hours: within('empty_hours', settingBounds.emptyHours)
    .default(usualSettings.emptyHours)
    .meta({ description: 'Without any message, and begun and last active so long ago.' }),
  trivial_max: within('trivial_max', settingBounds.trivialMax)
    .default(usualSettings.trivialMax)
    .meta({ description: 'With at most so many messages ...' }),
  trivial_days: within('trivial_days', settingBounds.trivialDays)
    .default(usualSettings.trivialDays)
    .meta({ description: '... and last active so long ago.' }),
  max_age_days: within('max_age_days', settingBounds.maxAgeDays)
    .nullable()
    .default(null)
    .meta({ description: 'Last active so long ago, whatever it has; null: that is no reason.' }),
  source: optional('source', maxName)
    .nullable()
    .default(null)
    .meta({ description: 'Of this platform alone; null: of any, and of none.' }),
  dry_run: z
    .boolean({ error: "Field 'dry_run' must be true or false" })
    .default(false)
    .meta({ description: 'Only tell what would go.' }),
  cursor: optional('cursor')
    .optional()
    .meta({ description: 'With `dry_run`, go on there: the `next_cursor` of the last answer.' }),
})
  .refine((body) => body.cursor === undefined || body.dry_run, {
    error: "Field 'cursor' goes with 'dry_run' alone",
    path: ['cursor'],
  })
  .meta({ id: 'Collection', description: 'Which sessions nobody needs.' })

export const nameParams = z.object({ name: ownerName })

export const idParams = z.object({ id: z.string() })

export const shortIdParams = z.object({
  short_id: z.string().meta({ description: 'The last six characters of the id or more, or the whole id.' }),
})

const once = (field: string) => z.string(`Query parameter '${field}' must be given once`)

/** 1..500, default 50; out of range is clamped, no number means 50. */
const limit = once('limit')
  .optional()
  .transform((value = '') => {
    const asked = /^\s*[-+]?[\d.]+(e\+?\d+)?\s*$/i.test(value) ? Number(value) : NaN
    return Number.isNaN(asked) ? 50 : Math.trunc(Math.min(500, Math.max(1, asked)))
  })
  .meta({ type: 'integer', minimum: 1, maximum: 500, default: 50, description: 'What is out of range is clamped.' })

export const status = z
  .enum(statuses, { error: `Query parameter 'status' must be one of ${statuses.join(', ')}` })
  .meta({
    id: 'Status',
    description:
      'The state of a confirmation. `pending` waits for a person; `approved` and `auto_approved` may be claimed; the rest ' +
      'are a no.',
  })

/** Epoch seconds or ISO 8601, as milliseconds. */
const time = (field: string) =>
  once(field)
    .transform(readTime)
    .refine(
      (value) => !Number.isNaN(value),
      `Query parameter '${field}' must be epoch seconds, an ISO 8601 date, or a time with its zone, such as ` +
        `2026-01-31T14:00:00Z or 2026-01-31T15:00:00%2B01:00 (in a URL, + is written %2B)`,
    )
    .meta({ type: 'string', description: 'Epoch seconds, an ISO 8601 date (in UTC), or a time with its zone.' })

/** A day or a moment. A time without its zone is none: whose would it be? */
const isoForm = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/
/** In the year 5138; more are milliseconds. */
const maxEpochSeconds = 1e11

/** Epoch milliseconds; NaN where it is no time. */
function readTime(value: string): number {
  if (/^-?\d+(\.\d+)?$/.test(value)) return Math.abs(Number(value)) <= maxEpochSeconds ? Number(value) * 1000 : NaN
  const day = isoForm.exec(value)?.[1]
  // 30 February is read as 2 March.
  const isDay = day !== undefined && !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day)
  return isDay ? Date.parse(value) : NaN
}

const cursor = once('cursor').optional().meta({ description: 'Go on there: the `next_cursor` of the last answer.' })

/** Several values separated by commas. One that is named again is no other, however often: each costs a look. */
const eachOnce = (value: string): string[] => [...new Set(value.split(','))]

const statusFilter = once('status')
  .transform(eachOnce)
  .refine(
    (values): values is Status[] => values.every((value) => (statuses as readonly string[]).includes(value)),
    `Query parameter 'status' must be one or more of ${statuses.join(', ')}, separated by commas`,
  )
  .optional()
  .meta({ type: 'string', description: 'One status, or several separated by commas.' })

export const listQuery = queryObject({
  status: statusFilter,
  action: once('action').optional(),
  session_key: once('session_key').optional(),
  limit,
  cursor,
})

export const auditQuery = listQuery.extend({
  requester: once('requester').optional(),
  resolved_by: once('resolved_by').optional(),
  voted_by: once('voted_by')
    .optional()
    .meta({ description: 'Who approved or denied it, as `by` of the votes says it: also with one vote of several.' }),
  since: time('since').optional(),
  until: time('until').optional(),
  resolved_since: time('resolved_since').optional(),
  resolved_until: time('resolved_until').optional(),
})

const after = once('after')
  .regex(/^\d{1,15}$/, "Query parameter 'after' must be a sequence number")
  .transform(Number)
  .optional()

export const streamQuery = queryObject({
  after: after.meta({ type: 'integer', minimum: 0, description: 'Go on after this event; the header wins.' }),
})

const eventFilters = {
  type: once('type')
    .transform(eachOnce)
    .refine(
      (types) => types.every((type) => (eventTypes as readonly string[]).includes(type)),
      `Query parameter 'type' must be one or more of ${eventTypes.join(', ')}, separated by commas`,
    )
    .optional()
    .meta({ type: 'string', description: 'One type of event, or several separated by commas.' }),
  confirmation_id: once('confirmation_id').optional(),
  actor: once('actor').optional(),
  channel: once('channel').optional(),
  action: once('action').optional(),
  requester: once('requester').optional(),
  session_key: once('session_key').optional(),
  since: time('since').optional(),
}

export const eventsQuery = queryObject({
  after: after.meta({ type: 'integer', minimum: 0, default: 0 }),
  limit,
  ...eventFilters,
  until: time('until').optional(),
})

const exportForm = {
  format: z
    .enum(['jsonl', 'csv'], { error: "Query parameter 'format' must be 'jsonl' or 'csv'" })
    .default('jsonl')
    .meta({ description: 'JSON Lines, or CSV for a spreadsheet.' }),
  header: once('header')
    .regex(/^(true|false)$/, "Query parameter 'header' must be 'true' or 'false'")
    .transform((value) => value === 'true')
    .optional()
    .meta({
      type: 'boolean',
      description: 'Whether CSV begins with the names of its columns; left out: without `after`, so that files add up.',
    }),
}

const hasHeaderInCsvAlone = ({ format, header }: { format: string; header?: boolean | undefined }) =>
  format === 'csv' || header === undefined
const headerAlone = { error: "Query parameter 'header' goes with 'format=csv' alone", path: ['header'] }

export const auditExportQuery = auditQuery
  .omit({ limit: true, cursor: true })
  .extend({
    ...exportForm,
    after: once('after')
      .optional()
      .meta({ description: 'Go on after the request with this id: that of the last row.' }),
  })
  .refine(hasHeaderInCsvAlone, headerAlone)

export const eventsExportQuery = eventsQuery
  .omit({ limit: true })
  .extend({
    ...exportForm,
    after: after.meta({ type: 'integer', minimum: 0, description: 'Go on after this event: that of the last row.' }),
  })
  .refine(hasHeaderInCsvAlone, headerAlone)

export const followQuery = queryObject({
  after: after.meta({
    type: 'integer',
    minimum: 0,
    description:
      'Begin after this event, 0 with the first; left out, with the first from `since` on, or the next that happens. The ' +
      'header wins.',
  }),
  ...eventFilters,
})

export const pageQuery = queryObject({ limit, cursor })

const minutes = "Query parameter 'active_minutes' must be a whole number of minutes, from 1"

export const sessionsQuery = queryObject({
  active_minutes: once('active_minutes')
    .regex(/^[1-9]\d{0,8}$/, minutes)
    .transform(Number)
    .optional()
    .meta({ type: 'integer', minimum: 1, description: 'Active within so many minutes.' }),
  platform: once('platform').optional(),
  suspended: once('suspended')
    .regex(/^(true|false)$/, "Query parameter 'suspended' must be 'true' or 'false'")
    .transform((value) => value === 'true')
    .optional()
    .meta({ type: 'boolean', description: 'Suspended or not.' }),
  requester: once('requester').optional(),
  limit,
  cursor,
})

export const sessionQuery = queryObject({
  requester: once('requester')
    .optional()
    .meta({ description: 'Whose session it is; needed where several requesters have one with this key.' }),
})

/** Why these details cannot be kept, or null. Walks without recursion: the nesting is the sender's choice. */
export function problemWithDetails(root: object): string | null {
  let level: object[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    const below: object[] = []
    let isTooDeep = false
    for (const value of level) {
      const isList = Array.isArray(value)
      for (const key of Object.keys(value)) {
        if (!isList && !key.isWellFormed()) return 'must be valid Unicode text'
        const inner = (value as Record<string, unknown>)[key]
        isTooDeep = depth === maxDepth
        if (typeof inner === 'string') {
          if (!inner.isWellFormed()) return 'must be valid Unicode text'
        } else if (typeof inner === 'object' && inner !== null) below.push(inner)
      }
    }
    if (isTooDeep) return `must not be nested deeper than ${maxDepth} levels`
    level = below
  }
  return null
}

/** What is in it is MCP's own: a notification has no id, and what a host answers no method. */
export const mcpBody = bodyObject({
  jsonrpc: z.literal('2.0', { error: "Field 'jsonrpc' must be '2.0': this speaks MCP" }),
  id: z.union([z.string(), z.int()], { error: "Field 'id' must be a string or a whole number" }).optional(),
  method: optional('method', maxName).optional(),
  params: jsonObject('params').optional(),
  result: jsonObject('result').optional(),
  error: jsonObject('error').optional(),
})
