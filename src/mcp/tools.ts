// The tools: what each is for, in the words that a model reads, and what it takes. None of them approves anything.
import { z } from 'zod'

const id = z.string().min(1).max(200).describe('The id that request_approval answered.')
const action = z.string().min(1).describe('What kind of action, as `deploy_production`.')
/** Kept as it came: zod's record would leave out the name `__proto__`, and nobody would be shown what is in it. */
const object = z.custom<Record<string, unknown>>(isObject, 'expected an object').meta({ type: 'object' })
const details = object
  .default({})
  .describe('All that must not change between the approval and the act: commands, paths, amounts, recipients.')
const sessionKey = z.string().optional().describe('Which session it belongs to, if any.')
const onBehalfOf = z.string().optional().describe('For whom you act, if for somebody in particular.')

/** What is about to be done: what an approval is bound to. */
const act = { action, details, session_key: sessionKey, on_behalf_of: onBehalfOf }

export interface Tool {
  title: string
  description: string
  input: z.ZodObject
  /** What to do next where it fails: what others say of the act would be wrong here. */
  failing?: string
  /** For hosts; they decide nothing. */
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean }
}

const changes = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }

export const tools = {
  request_approval: {
    title: 'Request an approval',
    description:
      'Ask a person before you do what cannot be undone, and wait for the answer. It is final: do not act on anything but ' +
      'an approval, claimed with claim_approval, and do not look for another way.',
    input: z.strictObject({
      ...act,
      description: z.string().min(1).describe('What the person reads to decide: plain, whole and honest.'),
      timeout_seconds: z.number().optional().describe('How long the person has. Usual: 300; 30 to 3600.'),
      idempotency_key: z.string().optional().describe('Asked again with the same key, it is the same request.'),
    }),
    annotations: changes,
  },
  wait_for_decision: {
    title: 'Wait for the decision',
    description:
      "Wait on for the person's answer to a request that is pending. Pending is no yes, and the answer is final.",
    input: z.strictObject({ id }),
    annotations: { ...changes, readOnlyHint: true, idempotentHint: true },
  },
  claim_approval: {
    title: 'Claim an approval',
    description:
      'Call this right before you act, with exactly what you are about to do. Act, once, only if it answers `may_act: true`. ' +
      "It approves nothing: the person's answer is final.",
    input: z.strictObject({ id, ...act }),
    annotations: changes,
  },
  report_outcome: {
    title: 'Report the outcome',
    description:
      "After you have acted on a claimed approval: put on record how it went. The person's answer is final, and was for this " +
      'one act.',
    input: z.strictObject({
      id,
      outcome: z.enum(['succeeded', 'failed']),
      message: z.string().optional().describe('One sentence for the record.'),
    }),
    failing:
      'Nothing was put on record by this. Do not act again. If the service could not be reached, call report_outcome once ' +
      'more later; else tell the person you work for.',
    annotations: changes,
  },
  cancel_request: {
    title: 'Cancel a request',
    description:
      "Withdraw a pending request that is no longer needed. It approves nothing, and a person's answer is final: what is " +
      'answered stays.',
    input: z.strictObject({ id, reason: z.string().optional() }),
    failing:
      'It may stand as it stood. Call wait_for_decision with this id to see, and act on nothing but an accepted claim.',
    annotations: changes,
  },
  permission_prompt: {
    title: 'Permission prompt',
    description:
      "For hosts, as Claude Code's --permission-prompt-tool: asks a person whether a tool may be used. The answer is final. " +
      'Not for models to call.',
    input: z.strictObject({
      tool_name: z.string().min(1).max(200),
      input: object,
      tool_use_id: z.string().min(1).optional(),
    }),
    failing:
      'So this was not done. Do not work around it: make exactly this call again later, or tell the person you work for.',
    annotations: changes,
  },
} as const satisfies Record<string, Tool>
export type ToolName = keyof typeof tools
export type Arguments<N extends ToolName> = z.output<(typeof tools)[N]['input']>

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isTool(name: string): name is ToolName {
  return Object.hasOwn(tools, name)
}

/** As `tools/list` answers it. */
export const listed = Object.entries<Tool>(tools).map(([name, { title, description, input, annotations }]) => {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, {
    io: 'input',
    // What `object` is, it says itself.
    unrepresentable: 'any',
  })
  return { name, title, description, inputSchema: inputSchema as { type: 'object' }, annotations }
})

/** For the model's prompt. */
export const instructions =
  'Holdpoint stands between you and what cannot be undone. Before such an action call request_approval; while the answer is ' +
  '`pending`, call wait_for_decision. Once it is approved, call claim_approval right before you act, with exactly what you ' +
  'are about to do; act, once, only on `may_act: true`, and then call report_outcome. Only a person approves, and that ' +
  'answer is final. On any other answer, an error or none at all, do not act.'

/** What is wrong with the arguments, in a sentence. */
export function problemWith(name: ToolName, { issues }: z.ZodError): string {
  const [issue] = issues
  const place = issue!.path.map(String).join('.')
  const takes = `${name} takes ${Object.keys(tools[name].input.shape).join(', ')}`
  if (issue!.code === 'unrecognized_keys')
    return `There is no argument ${issue.keys.join(', ').slice(0, 200)}: ${takes}.`
  return `The argument ${place.slice(0, 200)} cannot be used: ${issue!.message}. ${takes}.`
}
