// What the Agent Approval Protocol sends and is answered, in zod, and a request in the service's words.
import { z } from 'zod'
import { describe, problemWithNames, type Proposed } from '../aap/request.js'
import { durationPattern, readDuration } from '../aap/duration.js'
import { errorTypes } from '../aap/problem.js'
import { actorOf, type Caller } from '../access/role.js'
import { textOf } from '../core/actor.js'
import type { Asked } from '../service/asked.js'
import { authorityOf } from '../service/settle.js'
import {
  atMost,
  bodyObject,
  jsonObject,
  maxName,
  nameIn,
  optional,
  queryObject,
  requiredText,
  wellFormed,
} from './requests.js'

const maxToolName = maxName

/** Repeated as it came, so nothing of it is trimmed. */
const toolName = (field: string) =>
  atMost(field, maxToolName, requiredText(field))
    .regex(/^\S(?:.*\S)?$/su, `Field '${field}' must be a name: not empty, and without blanks at its ends`)
    .superRefine(wellFormed(field))

/** `text` has been found to be one; of what is longer than any nothing more is looked at. */
function duration(name: string, text: z.ZodString): z.ZodString {
  const error = `${name} must be a positive whole number and s, m or h, such as 30m`
  return text.max(30, { error, abort: true }).regex(durationPattern, error)
}

export const aapRequestBody = bodyObject({
  tool: toolName('tool'),
  server: toolName('server').optional().meta({
    description:
      'The MCP server that has the tool, by the name that the runtime gives it. The action is then `tool:mcp__SERVER__TOOL`.',
  }),
  arguments: jsonObject('arguments').meta({ description: 'What the tool is called with, whole.' }),
  timeout: duration("Field 'timeout'", requiredText('timeout')).meta({
    description:
      'How long people may take, as `30s`, `30m` or `24h`. The rule may shorten it: `deadline_at` says what counts.',
  }),
  agent_reasoning: optional('agent_reasoning').optional().meta({ description: "The agent's word, shown as such." }),
  context: jsonObject('context')
    .optional()
    .meta({ description: 'What the runtime says. `session_id` is the session, and `cwd` stands in the details.' }),
})
  .superRefine((body, context) => {
    const problem = problemWithNames(body)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem, path: ['tool'] })
  })
  .meta({ id: 'AapProposal', description: 'One call of a tool, that may be made once it is approved.' })

const maxWaitSeconds = 30

export const aapWaitQuery = queryObject({
  wait: duration("Query parameter 'wait'", z.string("Query parameter 'wait' must be given once"))
    .transform((text) => Math.min(maxWaitSeconds, readDuration(text)!) * 1000)
    .optional()
    .meta({ type: 'string', pattern: durationPattern.source, description: 'As `30s`, which is the most.' }),
})

export const aapKeyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .meta({ minLength: 1, description: 'Which attempt this is. The same again is the same request.' }),
})

const delivery = z.unknown().optional()

export const instanceBody = bodyObject({
  instance_name: nameIn('instance_name').optional(),
  delivery: delivery.meta({ type: 'object', description: 'Refused: adapters poll.' }),
}).meta({ id: 'AapInstanceTerms' })

export const instanceChange = bodyObject({
  instance_name: nameIn('instance_name').optional(),
  delivery: delivery.meta({ type: ['object', 'null'], description: 'Refused, but for null: there is none.' }),
})
  .refine((body) => Object.keys(body).length > 0, {
    error: "Field 'instance_name' is required, where there is nothing else to change",
    path: ['instance_name'],
  })
  .meta({ id: 'AapInstanceChange', minProperties: 1 })

// -- answers

const uuid = z.string().meta({ format: 'uuid' })
const time = z.iso.datetime()
const free = z.record(z.string(), z.unknown())
const outcomes = ['approved', 'denied', 'expired', 'cancelled'] as const

export const aapRequest = z
  .object({
    id: uuid,
    tool: z.string(),
    server: z.string().optional(),
    arguments: free,
    timeout: z.string().meta({ description: 'What was asked for.' }),
    agent_reasoning: z.string().optional(),
    context: free.optional(),
    status: z.enum(['pending', ...outcomes]),
    created_at: time,
    deadline_at: time.meta({ description: 'Until when it can be approved.' }),
    decision: z
      .object({
        status: z.enum(outcomes),
        note: z.string().optional(),
        decided_at: time,
        expires_at: time.optional().meta({ description: 'Of an approval: until when the call may begin.' }),
      })
      .optional(),
  })
  .meta({ id: 'AapRequest', description: 'The request as it stands.' })

export const aapInstance = z
  .object({ id: uuid, name: z.string() })
  .meta({ id: 'AapInstance', description: 'The instance.' })

export const aapProvisioned = z
  .object({ instance: aapInstance, credential: z.object({ token: z.string() }) })
  .meta({ id: 'AapProvisioned', description: 'The instance, and the key with which it makes requests.' })

export const aapDeleted = z.null().meta({ description: 'It is deleted, now or before.' })

export const aapError = z
  .object({
    error: z.object({
      type: z.enum(errorTypes),
      code: z.string(),
      message: z.string(),
      param: z.string().optional().meta({ description: 'The field that is wrong.' }),
      request_id: uuid.meta({ description: 'The header `X-Request-ID` and the log have it too.' }),
    }),
  })
  .meta({
    id: 'AapError',
    description: 'What went wrong, as the Agent Approval Protocol says it. It is never an approval.',
  })

// -- a request

/** In the words of a submission. */
export function toAskedByAap(body: Proposed, key: string | null, caller: Caller): Asked {
  const by = actorOf(caller, '')
  const requester = textOf(by)
  const submission = { ...describe(body), requester, callbackUrl: null, onBehalfOf: null, requestedAs: null }
  return { submission, key, by, authority: authorityOf(caller), computed: null }
}
