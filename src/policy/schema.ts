// The rules file, in zod, once: it is read by this schema, and its JSON Schema and the tables of its manual come from it.
import { z } from 'zod'
import { risks } from '../core/model.js'
import { skeleton } from '../core/skeleton.js'
import { visibleLine } from '../core/visible.js'
import { breakerSchema } from './breaker.js'
import { isExact } from './glob.js'
import { isPlain, plainWords } from './name.js'
import { closed, describe, explain, filled, isRecord, mapOf, maxName, names, text, truth, whole } from './parts.js'
import { comparedName } from './policy.js'
import { longestTimeoutSeconds } from './risk.js'
import { sessionsSchema } from './sessions.js'
import { problemWithTarget, problemWithTargets } from './telling.js'
import { whenSchema } from './when.js'

const maxApprovals = 10
const maxSeconds = 31_536_000
/** A rule's name stands in every record that it governs. */
export const maxRuleName = 200
/** Each is compared with each, once, when the file is read. */
const maxRules = 1000

const patterns = names({ missing: 'must say which actions the rule is for' }).superRefine((given, context) => {
  const odd = given.find((one) => !isExact(one) && !isPlain(one.replace(/[*?]/g, '')))
  const twice = secondOf(given, comparedName)
  const say = (message: string) => context.addIssue({ code: 'custom', message })
  if (odd !== undefined) {
    say(`a pattern with * or ? is for names of ${plainWords}; spell out each name that \`${odd}\` is for`)
  } else if (twice !== undefined) {
    const what = twice.first === twice.second ? 'stands twice' : `is the same as \`${twice.first}\``
    say(`\`${twice.second}\` ${what} in \`action\`; remove one`)
  }
})

export const groupSchema = names({ uniqueItems: true }).superRefine((people, context) => {
  const say = (message: string) => context.addIssue({ code: 'custom', message })
  const twice = secondOf(people)?.second
  const alike = twice === undefined ? problemWithNames(people) : null
  const nested = people.find((person) => person.startsWith('group:'))
  if (twice !== undefined) say(`must not name ${twice} twice; remove one`)
  if (alike !== null) say(alike)
  if (nested !== undefined) say(`a group cannot hold ${nested}; name its people`)
})

/** The first that is the same as one before it, with that one. */
function secondOf(given: string[], compared = (name: string) => name): { first: string; second: string } | undefined {
  const known = new Map<string, string>()
  for (const second of given) {
    const first = known.get(compared(second))
    if (first !== undefined) return { first, second }
    known.set(compared(second), second)
  }
  return undefined
}

/** Two names for one: nobody can have the second, so a rule that counts on both waits for ever. */
export function problemWithNames(people: string[]): string | null {
  const alike = secondOf(people, skeleton)
  if (alike === undefined) return null
  const { first, second } = alike
  return `${visibleLine(second)} looks like ${visibleLine(first)}, and only one of them can exist; remove one`
}

const approvalsHint =
  'such as `approvals: 2`, or how many from each group, such as `approvals: { security: 1, ops: 1 }`'
const notApprovals = `must be a whole number from 1 to ${maxApprovals}, ${approvalsHint}`
const approvals = z.union(
  [
    whole(1, maxApprovals, notApprovals),
    mapOf(whole(1, maxApprovals), { error: notApprovals, minProperties: 1 }).refine((counts) => {
      const count = [...counts.values()].reduce((sum, one) => sum + one, 0)
      return count >= 1 && count <= maxApprovals
    }, `must be 1 to ${maxApprovals} together, ${approvalsHint}`),
  ],
  { error: notApprovals },
)

const notTimeout = `must be a whole number from 1 to ${longestTimeoutSeconds}, or \`{ default, min, max }\``
const seconds = whole(1, longestTimeoutSeconds).optional()
const timeout = z.union(
  [
    whole(1, longestTimeoutSeconds, notTimeout),
    filled(closed('part of `timeout`', { default: seconds, min: seconds, max: seconds }, notTimeout)).superRefine(
      ({ default: usual, min, max }, context) => {
        const say = (message: string) => context.addIssue({ code: 'custom', message })
        if (min !== undefined && max !== undefined && min > max) say('`min` must not be above `max`')
        else if (usual !== undefined && (usual < (min ?? usual) || usual > (max ?? usual))) {
          say('`default` must not be below `min` or above `max`')
        }
      },
    ),
  ],
  { error: notTimeout },
)

const rateLimit = closed(
  'part of `rate_limit`',
  {
    max: whole(1, 1_000_000_000),
    window_seconds: whole(1, maxSeconds),
    per: z.literal('requester', 'must be requester; without it, all requesters have one window').optional(),
  },
  'must have both, such as `{ max: 5, window_seconds: 3600 }`',
)

const targets = names().superRefine((given, context) => {
  for (const problem of [...given.map(problemWithTarget), problemWithTargets(given)]) {
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  }
})

const notPart = 'must be a part of the time, above 0 and below 1, such as 0.5 or 50%'
const part = z.union(
  [
    z.number(notPart).gt(0, notPart).lt(1, notPart),
    z
      .string(notPart)
      .regex(/^(?!0+(\.0+)?%)\d{1,2}(\.\d{1,3})?%$/, notPart)
      .transform((text) => Number(text.slice(0, -1)) / 100),
  ],
  { error: notPart },
)

const reasons = z.union([z.boolean(), z.enum(['approve', 'deny'])], 'must be true, false, approve or deny')

const ruleSchema = closed(
  'setting',
  {
    name: explain(text(maxRuleName).optional(), 'Stands in the record of each request it governs.', {
      takes: 'text, no two the same',
      leftOut: 'the pattern',
    }),
    action: explain(patterns, 'The whole name of the action. `*` is any run of characters, `?` is one.', {
      takes: 'a pattern, or a list of them',
      leftOut: 'must be there',
    }),
    when: explain(whenSchema.optional(), 'All must hold, or the rule does not fit.', {
      takes: 'conditions',
      leftOut: 'none',
    }),
    pass: explain(
      truth.optional(),
      'Nobody is asked: it is approved at once, by `rule:NAME`. Never for high-risk actions; names count as they are written.',
      { takes: '`true`, `false`', leftOut: '`false`' },
    ),
    risk: explain(
      z.enum(risks, `must be one of ${risks.join(', ')}`).optional(),
      'Shown to the approver. What is high is never whitelisted.',
      { takes: '`low`, `normal`, `high`', leftOut: '`normal`; `high` for high-risk ones' },
    ),
    approvals: explain(
      approvals.optional(),
      'How many different people must approve. One denial ends it. Of groups, each person fills one seat.',
      { takes: '1 to 10, or a number for each group', leftOut: '1' },
    ),
    deciders: explain(
      names().optional(),
      'Who may approve or deny. With approvals from groups, only their members may approve.',
      { takes: 'people and `group:NAME`', leftOut: 'every operator' },
    ),
    timeout: explain(
      timeout.optional(),
      'How long a request waits, and what an agent may ask for: 1 to 604800. What is left out moves as far as it must.',
      { takes: 'seconds, or `{ default, min, max }`', leftOut: '300, 30, 3600' },
    ),
    whitelist: explain(
      truth.optional(),
      'Whether a whitelist entry may let it pass. Never with `risk: high`, several approvals or approvals from a group.',
      { takes: '`true`, `false`', leftOut: '`true` if one plain approval will do' },
    ),
    rate_limit: explain(
      rateLimit.optional(),
      'How many of one action may be asked for in any such window: by all together, or with `per: requester` by each.',
      { takes: '`{ max, window_seconds }`, and `per: requester`', leftOut: 'the settings of the service' },
    ),
    reason_required: explain(reasons.optional(), 'Which verdict needs a reason; `true` is both.', {
      takes: '`true`, `false`, `approve`, `deny`',
      leftOut: '`false`',
    }),
    typed_confirmation: explain(truth.optional(), 'The approver types the name of the action.', {
      takes: '`true`, `false`',
      leftOut: '`false`',
    }),
    digest_required: explain(
      truth.optional(),
      'It is claimed only with the digest of what is about to be done. Always so with `risk: high`.',
      { takes: '`true`, `false`', leftOut: '`false`; `true` for `risk: high`' },
    ),
    own_requests: explain(truth.optional(), 'The requester may decide it too.', {
      takes: '`true`, `false`',
      leftOut: '`false`',
    }),
    open_limit: explain(whole(1, 1_000_000).optional(), 'How many pending requests a requester may have at once.', {
      takes: '1 to 1000000',
      leftOut: 'the settings of the service',
    }),
    merge_identical: explain(
      truth.optional(),
      'The same digest and description, while one is pending: that one is the answer.',
      { takes: '`true`, `false`', leftOut: '`false`' },
    ),
    refuse_after_denial: explain(
      whole(1, maxSeconds).optional(),
      'For so long after a denial, the same digest is refused at once.',
      { takes: 'seconds, 1 to 31536000', leftOut: 'not at all' },
    ),
    notify: explain(
      targets.optional(),
      'Who is told: `first`, one chat after the other until one takes it; `all`, every chat; or these, all at once.',
      {
        takes: '`first`, `all`, or chats, `deciders`, people and `group:NAME`',
        leftOut: 'the settings of the service',
      },
    ),
    remind_after: explain(
      part.optional(),
      'After this part of the time, whoever was told is told again, and once more shortly before the end.',
      { takes: 'a part of the time, such as 0.5 or 50%', leftOut: 'never' },
    ),
    escalate_after: explain(
      part.optional(),
      'After this part of the time, `escalate_to` is told, and whoever was told once more shortly before the end.',
      { takes: 'a part of the time, such as 0.75 or 75%', leftOut: 'never' },
    ),
    escalate_to: explain(targets.optional(), 'Who is told then, whether told before or not.', {
      takes: 'as `notify`',
      leftOut: 'nobody',
    }),
    breaker: explain(
      breakerSchema.optional(),
      'What comes of denials and expiries in a row in one session, and of insisting on one action.',
      { takes: '`{ warn, wait, suspend, wait_seconds, fixation }`', leftOut: 'as [it is built in](#the-breaker)' },
    ),
  },
  'must be made of settings, beginning with `- action: ...`',
)

/** Every setting of a rule, in the order of the manual. */
export const ruleSettings = ruleSchema.shape
export type Setting = keyof typeof ruleSettings
export type RuleSettings = z.output<typeof ruleSchema>

const groupName = text(maxName)
const groupsSchema = mapOf(groupSchema, {
  error: 'must have one line for each group, such as `security: [alice, bob]`',
  propertyNames: describe(groupName),
  problemWithName: (name) => (groupName.safeParse(name).success ? null : 'must have a name that can be read'),
})

const notRules = 'must be a list, each rule beginning with `- action: ...`'

export const rulesFileSchema = closed(
  'part of the file',
  {
    groups: groupsSchema.optional().meta({ description: 'People by the name of their group.' }),
    rules: z
      .array(ruleSchema, notRules)
      .max(maxRules, `must have at most ${maxRules} rules`)
      .optional()
      .meta({ description: 'The first rule that fits an action and its details applies, whole.' }),
    sessions: sessionsSchema.optional().meta({ description: 'When sessions are reset.' }),
  },
  'must hold `rules:` and below it a list of rules, each beginning with `- action: ...`',
)
  .refine((file) => !isRecord(file) || file.rules !== undefined || file.sessions !== undefined, {
    path: ['rules'],
    error: notRules,
    // Whatever else is wrong with the file.
    when: () => true,
  })
  .meta({ anyOf: [{ required: ['rules'] }, { required: ['sessions'] }] })

/** For editors: what the file may hold. How its parts fit together, `policy check` alone can say. */
export function rulesJsonSchema(): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Rules of Holdpoint',
    ...describe(rulesFileSchema),
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}
