// What goes out, in zod, once: openapi.yaml is written from it, and the tests hold every answer against it.
import { z } from 'zod'
import { eventTypes } from '../audit/event.js'
import { roles } from '../access/role.js'
import { channelNames, deliveryStates, executionStates, risks, statuses, verdicts } from '../core/model.js'

const epoch = z.number().meta({ description: 'Epoch seconds.' })
const isoTime = z.iso.datetime()
const digest = z.string().meta({
  description:
    'SHA-256 over the RFC 8785 form of action, details, on_behalf_of (where it is given), requester and session_key.',
})
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
    requester: z.string(),
    digest,
    expires_at: epoch,
    expires_at_iso: isoTime,
  })
  .meta({ description: 'Held; a person has been asked. With `wait`: still no answer.' })

const grantFields = z.object({
  id: z.string(),
  action: z.string(),
  scope: z.enum(['global', 'session']),
  session_key: z.string().nullable(),
  requester: z.string().nullable(),
  when: z
    .record(z.string(), z.unknown())
    .nullable()
    .meta({ description: 'Conditions on the details, as in the rules.' }),
  details: z
    .record(z.string(), z.unknown())
    .nullable()
    .meta({ description: 'The details it is for, equal as a whole.' }),
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

const voting = {
  approvals_needed: z.int().meta({ description: 'How many different people must approve.' }),
  approvals_given: z.int(),
  votes: z.array(
    z.object({
      verdict: z.enum(verdicts),
      by: z.string(),
      at: epoch,
      at_iso: isoTime,
      via: z.string(),
      reason: z.string().nullable(),
      comment: z.string().nullable().meta({ description: 'The name that was given beside the proven one.' }),
      proven: z.boolean().meta({ description: 'Whether a key, a link or a chat proves the name.' }),
      remember: z
        .object({
          scope: z.enum(['session', 'global']),
          requester: z.string().nullable().meta({ description: 'For whom; null: whoever asks.' }),
          expires_at: epoch.nullable(),
          expires_at_iso: isoTime.nullable(),
          details: z.enum(['exact', 'any']),
        })
        .nullable()
        .meta({ description: 'For what it was whitelisted too.' }),
    }),
  ),
}

export const decided = z
  .object({
    id: z.string(),
    action: z.string(),
    status: z.enum(statuses),
    resolved_by: z.string(),
    resolved_at: epoch.nullable(),
    resolved_at_iso: isoTime.nullable(),
    reason: z.string().optional(),
    grant: grantFields.optional(),
    ...voting,
  })
  .meta({ description: 'Resolved, and that stands; or pending, while more people must approve.' })

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
  risk: z.enum(risks),
  rule: z.string().meta({ description: 'The rule that governs it.' }),
  digest_required: z.boolean().meta({ description: 'Whether it is claimed only with its digest.' }),
  ...voting,
  execution: z.enum(executionStates).nullable().meta({ description: 'What became of an approval; null without one.' }),
  claim_expires_at: epoch.nullable().meta({ description: 'Until when an approval may be claimed.' }),
  claim_expires_at_iso: isoTime.nullable(),
  claimed_at: epoch.nullable(),
  claimed_at_iso: isoTime.nullable(),
  reported_at: epoch.nullable(),
  reported_at_iso: isoTime.nullable(),
  outcome: z.enum(['succeeded', 'failed']).nullable(),
  report_message: z.string().nullable(),
})

export const executed = confirmationFields.meta({ description: 'Done, once; this is what was approved.' })

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

export const settled = confirmationFields
  .extend({ message: z.string() })
  .meta({ description: 'Resolved: by a whitelist entry at once, or, with `wait`, meanwhile.' })

export const confirmationPage = z
  .object({ count: z.int(), confirmations: z.array(confirmationFields), next_cursor: cursor })
  .meta({ description: 'Pending ones with the next deadline first; everything else with the newest first.' })

export const auditPage = z
  .object({ count: z.int(), entries: z.array(confirmationFields), next_cursor: cursor })
  .meta({ description: 'One entry per confirmation in its latest state, the newest first.' })

export const grantPage = z
  .object({ count: z.int(), entries: z.array(grantFields), next_cursor: cursor })
  .meta({ description: 'The whitelist entries that stand.' })

export const event = z.object({
  seq: z.int(),
  type: z.enum(eventTypes),
  time: epoch,
  time_iso: isoTime,
  actor: z.string(),
  channel: z.string(),
  confirmation_id: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
})

export const eventStream = z.string().meta({
  description:
    'Server-sent events: `id` is the sequence number, `event` the type, `data` the event as JSON. ' +
    'For an agent the numbers are those within its confirmation.',
  contentMediaType: 'text/event-stream',
})

export const noMore = z.null().meta({ description: 'It is resolved, and after Last-Event-ID nothing happened.' })

/** Each with the answer it would have had alone. */
export const results = z
  .object({
    count: z.int(),
    results: z.array(
      z.object({
        id: z.string().optional(),
        status_code: z.int(),
        body: z.record(z.string(), z.unknown()),
        replayed: z.boolean().optional().meta({ description: 'Asked before, with the same key.' }),
      }),
    ),
  })
  .meta({
    description: 'One result for each, in the order of the request, with the status code it would have had alone.',
  })

export const eventPage = z
  .object({
    count: z.int(),
    events: z.array(event),
    next_after: z.int().meta({ description: "The 'after' of the next call." }),
    more: z.boolean().meta({ description: 'There is more behind that already.' }),
  })
  .meta({ description: 'The history, oldest first.' })

export const health = z
  .object({
    status: z.literal('ok'),
    pending_count: z.int(),
    timestamp: epoch,
    timestamp_iso: isoTime,
    version: z.string(),
    auth: z.enum(['open', 'keys']).meta({ description: 'Open: there is no key yet, and everyone here is let in.' }),
  })
  .meta({ description: 'The process answers.' })

export const ready = z.object({ status: z.literal('ready') }).meta({ description: 'The database takes writes.' })

const keyFields = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(roles),
  state: z.enum(['live', 'expired', 'revoked']),
  created_by: z.string(),
  created_at: epoch,
  created_at_iso: isoTime,
  expires_at: epoch.nullable(),
  expires_at_iso: isoTime.nullable(),
  revoked_at: epoch.nullable(),
  revoked_at_iso: isoTime.nullable(),
  replaced_by: z.string().nullable().meta({ description: 'The key in its place, where it was rotated.' }),
})
export const key = keyFields.meta({ description: 'A key, without its secret.' })

export const madeKey = keyFields
  .extend({ key: z.string().meta({ description: 'The key itself: shown this once.' }), replaces: keyFields.optional() })
  .meta({ description: 'A new key. Keep it now: only its hash is stored.' })

export const keyList = z
  .object({ count: z.int(), keys: z.array(keyFields) })
  .meta({ description: 'Every key there ever was.' })

const personFields = z.object({
  name: z.string(),
  telegram_id: z.string().nullable(),
  discord_id: z.string().nullable(),
  created_at: epoch,
  created_at_iso: isoTime,
})
export const person = personFields.meta({ description: 'Whoever asks and votes under one name, by whatever channel.' })

export const personList = z
  .object({ count: z.int(), people: z.array(personFields) })
  .meta({ description: 'Everyone who ever had a key or is known by a chat.' })

export type MadeKey = z.output<typeof madeKey>
export type KeyList = z.output<typeof keyList>
export type Person = z.output<typeof person>
export type PersonList = z.output<typeof personList>

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
