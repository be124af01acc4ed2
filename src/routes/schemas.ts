// The API in zod, once: requests are validated by it, types are inferred from it, openapi.yaml is written from it.
import { z } from 'zod'
import { eventTypes } from '../audit/event.js'
import { channelNames, deliveryStates, outcomes, statuses } from '../core/model.js'
import { skeleton } from '../core/text.js'
import { timeoutSeconds } from '../policy/risk.js'

// -- what comes in ---------------------------------------------------------------------------------------------------

const maxName = 1000
/** A page of 500 reasons of this length is still a few megabytes. */
const maxReason = 10_000
const maxDepth = 64

/** Text that can be stored, hashed and shown: no NUL, no half characters. */
const wellFormed = (field: string) => (value: string, context: z.RefinementCtx<string>) => {
  if (value.includes('\0') || !value.isWellFormed()) {
    context.addIssue({ code: 'custom', message: `Field '${field}' must be valid Unicode text without null characters` })
  }
}

const required = (field: string) =>
  z
    .string({
      error: ({ input }) =>
        input === undefined || input === null ? `Field '${field}' is required` : `Field '${field}' must be a string`,
    })
    .trim()
    .min(1, `Field '${field}' is required`)
    .superRefine(wellFormed(field))

const optional = (field: string) => z.string(`Field '${field}' must be a string`).superRefine(wellFormed(field))

const short = <T extends z.ZodType<string>>(field: string, schema: T, max = maxName) =>
  schema.refine((value) => value.length <= max, `Field '${field}' must have at most ${max} characters`)

/** Somebody's name. What the service signs with is reserved, so that nobody can pass for it; blank means unnamed. */
const personName = (field: string) =>
  short(
    field,
    optional(field).refine(
      (value) => !/[:\u2236\ufe13\ufe55\uff1a]/.test(value) || !/^(system|whitelist)/.test(skeleton(value)),
      `Field '${field}' must not begin with 'system:' or 'whitelist:'; those names are the service's own`,
    ),
  )

const details = z
  .record(z.string(), z.unknown(), { error: "Field 'details' must be an object" })
  .superRefine((value, context) => {
    const flaw = findFlaw(value)
    if (flaw !== null) context.addIssue({ code: 'custom', message: `Field 'details' ${flaw}` })
  })

const reason = short('reason', optional('reason'), maxReason)

const bodyObject = <T extends z.ZodRawShape>(shape: T) => z.object(shape, { error: 'The body must be a JSON object.' })
/** A body that may be left out altogether. */
const optionalBody = <T extends z.ZodRawShape>(shape: T) => bodyObject(shape).optional()

export const submitBody = bodyObject({
  action: short('action', required('action')),
  description: required('description'),
  details: details.default({}),
  requester: personName('requester').default('agent'),
  session_key: short('session_key', optional('session_key')).default(''),
  timeout_seconds: z
    .unknown()
    .optional()
    .transform(timeoutSeconds)
    .meta({ type: 'number', default: 300, description: 'Clamped to 30..3600; what is no number means 300.' }),
})

export const approveBody = optionalBody({
  approver: personName('approver').optional(),
  reason: reason.optional(),
  remember: z
    .enum(['session', 'global'], { error: "Field 'remember' must be 'session' or 'global'" })
    .optional()
    .meta({ description: 'Also whitelists the action, for this session or for everyone.' }),
})

export const denyBody = optionalBody({ denier: personName('denier').optional(), reason: reason.optional() })

export const cancelBody = optionalBody({
  cancelled_by: personName('cancelled_by').optional(),
  reason: reason.optional(),
})

const positive = (field: string, max: number) => {
  const error = `Field '${field}' must be a whole number from 1 to ${max}`
  return z.int({ error }).min(1, error).max(max, error)
}

export const grantBody = bodyObject({
  action: short('action', required('action')),
  session_key: short(
    'session_key',
    optional('session_key').min(1, "Field 'session_key' must not be empty; leave it out to cover everyone"),
  )
    .optional()
    .meta({ description: 'Leave it out to cover everyone.' }),
  ttl_seconds: positive('ttl_seconds', 315_360_000).optional(),
  max_uses: positive('max_uses', 1_000_000_000).optional(),
  reason: reason.optional(),
  granted_by: personName('granted_by').optional(),
})

export const revokeBody = optionalBody({ revoked_by: personName('revoked_by').optional() })

export const idParams = z.object({ id: z.string() })

const once = (field: string) => z.string(`Query parameter '${field}' must be given once`)

/** 1..500, default 50; out of range is clamped, no number means 50. */
const limit = z
  .unknown()
  .optional()
  .transform((value) => {
    const asked = typeof value === 'string' && value.trim() !== '' ? Number(value) : NaN
    return Number.isNaN(asked) ? 50 : Math.trunc(Math.min(500, Math.max(1, asked)))
  })
  .meta({ type: 'integer', minimum: 1, maximum: 500, default: 50 })

const status = z.enum(statuses, { error: `Query parameter 'status' must be one of ${statuses.join(', ')}` })

/** Epoch seconds or ISO 8601, as milliseconds. */
const time = (field: string) =>
  once(field)
    .transform((value) => (/^-?\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value)))
    .refine(
      (value) => Number.isFinite(value) && Math.abs(value) <= 8.64e15,
      `Query parameter '${field}' must be epoch seconds or an ISO 8601 time`,
    )
    .meta({ type: 'string', description: 'Epoch seconds or an ISO 8601 time.' })

export const listQuery = z.object({
  status: status.optional(),
  action: once('action').optional(),
  session_key: once('session_key').optional(),
  limit,
  cursor: once('cursor').optional(),
})

export const auditQuery = listQuery.extend({
  requester: once('requester').optional(),
  resolved_by: once('resolved_by').optional(),
  since: time('since').optional(),
  until: time('until').optional(),
})

export const eventsQuery = z.object({
  after: once('after')
    .regex(/^\d{1,15}$/, "Query parameter 'after' must be a sequence number")
    .transform(Number)
    .optional()
    .meta({ type: 'integer', minimum: 0, default: 0 }),
  limit,
})

export const pageQuery = z.object({ limit, cursor: once('cursor').optional() })

// -- what goes out ---------------------------------------------------------------------------------------------------

const epoch = z.number().meta({ description: 'Epoch seconds.' })
const isoTime = z.iso.datetime()
const cursor = z.string().nullable().meta({ description: 'Where the next page begins; null on the last.' })

export const submitted = z
  .object({
    id: z.string(),
    action: z.string(),
    status: z.literal('pending'),
    timeout_seconds: z.number(),
    message: z.string(),
    approve_url: z.string(),
    deny_url: z.string(),
    expires_at: epoch,
    expires_at_iso: isoTime,
  })
  .meta({ description: 'Held; a person has been asked.' })

export const autoApproved = z
  .object({ id: z.string(), action: z.string(), status: z.literal('auto_approved'), message: z.string() })
  .meta({ description: 'A whitelist entry covers it.' })

const grantFields = z.object({
  id: z.string(),
  action: z.string(),
  scope: z.enum(['global', 'session']),
  session_key: z.string().nullable(),
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
export const grant = grantFields.meta({ description: 'A whitelist entry.' })

export const resolved = z
  .object({
    id: z.string(),
    action: z.string(),
    status: z.enum(outcomes),
    resolved_by: z.string(),
    resolved_at: epoch,
    resolved_at_iso: isoTime,
    reason: z.string().optional(),
    grant: grantFields.optional(),
  })
  .meta({ description: 'Resolved, and that stands.' })

const confirmationFields = z.object({
  id: z.string(),
  action: z.string(),
  description: z.string(),
  details: z.record(z.string(), z.unknown()),
  requester: z.string(),
  session_key: z.string(),
  status: z.enum(statuses),
  resolved_by: z.string(),
  resolved_at: epoch.nullable(),
  created_at: epoch,
  timeout_seconds: z.number(),
  created_at_iso: isoTime,
  resolved_at_iso: isoTime.nullable(),
  expires_at: epoch,
  expires_at_iso: isoTime,
  resolved_via: z.string().nullable(),
  reason: z.string().nullable(),
})

export const confirmation = confirmationFields
  .extend({
    deliveries: z.array(
      z.object({
        channel: z.enum(channelNames),
        status: z.enum(deliveryStates),
        attempts: z.int(),
        updated_at: epoch,
        updated_at_iso: isoTime,
        next_attempt_at: epoch.nullable(),
        error: z.string().nullable(),
      }),
    ),
  })
  .meta({ description: 'The confirmation in its latest state.' })

export const confirmationPage = z
  .object({ count: z.int(), confirmations: z.array(confirmationFields), next_cursor: cursor })
  .meta({ description: 'Pending ones with the next deadline first; everything else with the newest first.' })

export const auditPage = z
  .object({ count: z.int(), entries: z.array(confirmationFields), next_cursor: cursor })
  .meta({ description: 'One entry per confirmation in its latest state, the newest first.' })

export const grantPage = z
  .object({ count: z.int(), entries: z.array(grantFields), next_cursor: cursor })
  .meta({ description: 'The whitelist entries that stand.' })

export const eventPage = z
  .object({
    count: z.int(),
    events: z.array(
      z.object({
        seq: z.int(),
        type: z.enum(eventTypes),
        time: epoch,
        time_iso: isoTime,
        actor: z.string(),
        channel: z.string(),
        confirmation_id: z.string().nullable(),
        data: z.record(z.string(), z.unknown()),
      }),
    ),
    next_after: z.int().meta({ description: "The 'after' of the next call." }),
  })
  .meta({ description: 'The history, oldest first.' })

export const health = z
  .object({
    status: z.literal('ok'),
    pending_count: z.int(),
    timestamp: epoch,
    timestamp_iso: isoTime,
    version: z.string(),
  })
  .meta({ description: 'The process answers.' })

export const ready = z.object({ status: z.literal('ready') }).meta({ description: 'The database takes writes.' })

export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.union([z.int(), z.enum(statuses)]).meta({
      description: 'The HTTP status; in a 409 the state of the confirmation that stands.',
    }),
    detail: z.string(),
    error: z.string(),
    code: z.string(),
    request_id: z.string(),
  })
  .loose()
  .meta({ description: 'What went wrong, as RFC 9457 problem details.' })

/** Why these details cannot be kept, or null. Walks without recursion: the nesting is the sender's choice. */
function findFlaw(root: Record<string, unknown>): string | null {
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return `must not be nested deeper than ${maxDepth} levels`
    const below: unknown[] = []
    for (const value of level) {
      if (typeof value === 'string' && !value.isWellFormed()) return 'must be valid Unicode text'
      if (typeof value === 'number' && !Number.isFinite(value)) return 'must not hold numbers that are too large'
      if (typeof value !== 'object' || value === null) continue
      for (const [key, inner] of Object.entries(value)) {
        if (!key.isWellFormed()) return 'must be valid Unicode text'
        below.push(inner)
      }
    }
    level = below
  }
  return null
}
