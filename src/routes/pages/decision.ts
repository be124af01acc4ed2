// The decision form as it was sent: from its fields to a decision, and from a refusal to words beside a field.
import type { Confirmation, Via } from '../../core/model.js'
import { type Refusal, refuse } from '../../core/refusal.js'
import type { Voter } from '../../core/actor.js'
import type { Decision, Remember } from '../../service/decide.js'
import type { Authority } from '../../service/settle.js'
import { durations, unanswered } from '../../web/always.js'
import type { FormProblem } from '../../web/decision-form.js'
import { givenName } from '../requests.js'
import { nameOr, textOrNull } from '../voter.js'
import type { Fields } from './form.js'

const maxReason = 10_000

export function readDecision(
  fields: Fields,
  confirmation: Confirmation,
  by: Voter,
  authority: Authority,
  via: Via,
): Decision | Refusal {
  const { verdict: choice = '', typed } = fields
  // Browsers send line breaks as two characters.
  const reason = (fields.reason ?? '').replaceAll('\r\n', '\n')
  const forSession = { scope: 'session', ttlSeconds: null, for: null, isExact: false } as const
  const choices: Partial<Record<string, Pick<Decision, 'verdict' | 'remember'>>> = {
    approve: { verdict: 'approve', remember: null },
    approve_session: { verdict: 'approve', remember: forSession },
    approve_always: { verdict: 'approve', remember: readAlways(fields) },
    deny: { verdict: 'deny', remember: null },
  }
  const chosen = Object.hasOwn(choices, choice) ? choices[choice] : undefined
  if (chosen === undefined)
    return refuse('invalid_choice', 'Choose whether to approve or to deny. Nothing was decided.')
  const open = choice === 'approve_always' ? unanswered(confirmation, fields) : []
  if (open.length > 0) {
    const topics = open.map(({ topic }) => topic).join(', and ')
    return refuse('invalid_choice', `To approve always, choose ${topics}. Nothing was decided.`)
  }
  if (reason.length > maxReason || reason.includes('\0') || !reason.isWellFormed()) {
    const sentence = `The reason must be text of at most ${maxReason} characters. Nothing was decided.`
    return refuse('invalid_choice', sentence, { field: 'reason' })
  }
  const name = givenName.safeParse(fields.name ?? '')
  if (!name.success) {
    const sentence = `${name.error.issues[0]!.message}. Nothing was decided.`
    return refuse('invalid_choice', sentence, { field: 'your-name' })
  }
  // Where nobody has to show who they are, they say it; everyone else is known.
  const approver = { by: by.kind === 'anyone' ? { ...by, name: nameOr(name.data, by.name) } : by, comment: null }
  return { ...chosen, reason: textOrNull(reason), typed: typed ?? null, approver, authority, via }
}

/** What an entry is bound to that goes with "always"; whether all was answered is looked at elsewhere. */
function readAlways({ duration = '', whom, details }: Fields): Remember {
  return {
    scope: 'global',
    ttlSeconds: durations.get(duration) ?? null,
    for: whom === 'anyone' ? 'anyone' : 'requester',
    isExact: details === 'exact',
  }
}

/** What is wrong with one field of the form is told beside it, in words for the person who fills it in. */
export function problemWith({ refused, sentence, extra }: Refusal, typed: string): FormProblem {
  const kind = 'problem'
  if (refused === 'typing_required') {
    const what = typed.trim() === '' ? 'The name is missing' : 'This is not the name of the action'
    return { kind, field: 'typed', text: `${what}. Type it exactly; nothing was decided.` }
  }
  if (refused === 'reason_required') {
    return { kind, field: 'reason', text: 'The reason is missing, and the rule wants one. Nothing was decided.' }
  }
  const { field } = extra
  return { kind, text: sentence, ...(field === 'reason' || field === 'your-name' ? { field } : {}) }
}
