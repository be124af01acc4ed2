// The form in which a person decides. Nothing in it is chosen beforehand: sent as it stands, it decides nothing.
import { isVerified, type Voter } from '../core/actor.js'
import { shortDigest } from '../core/digest.js'
import type { Confirmation, Verdict } from '../core/model.js'
import { approvalsGiven } from '../core/vote.js'
import { alwaysFields, anyBehalf, covered, questionsOf } from './always.js'
import { bringsFurther, stillNeeded } from './approvals.js'
import { html, type Markup, written, writtenLine } from './html.js'
import { problemBeside, noticeToRead } from './notice.js'
import { countdown } from './time.js'

export interface DecisionForm {
  /** Where it is posted to: the page's own address, so that a GET of it shows the page again. */
  action: string
  csrf: string
  /** Whose decision it would be. */
  by: Voter
  /** A sentence, where they may deny and no more. */
  whyNotApprove: string | null
  /** What was entered, when it is shown again. */
  verdict?: string
  name?: string
  reason?: string
  typed?: string
  duration?: string
  whom?: string
  details?: string
}

type Field = 'typed' | 'reason' | 'your-name'

/** Why a decision was not taken, and which field of the form that is about, if one. */
export interface FormProblem {
  kind: 'problem'
  text: string
  field?: Field
}

/** What the fields are called when the form is gone and what was written into them is left. */
export const keptAs = { reason: 'The reason you had written', typed: 'The name you had typed' }

interface Choice {
  verdict: string
  title: string
  effect: Markup
}

/** `otherWay` is how somebody who may only deny here could come to approve. */
export function decisionForm(
  confirmation: Confirmation,
  form: DecisionForm,
  now: number,
  otherWay: Markup | null,
  problem: FormProblem | null,
): Markup {
  const { terms, action, digest, deadline } = confirmation
  const { whyNotApprove } = form
  const general = problem !== null && problem.field === undefined ? problem : null
  const problemOf = (field: Field) => (problem?.field === field ? problem.text : null)
  const mayApprove = whyNotApprove === null
  const reasonFor = terms.reasonFor.filter((verdict) => mayApprove || verdict === 'deny')
  const choices = choicesFor(confirmation, form)
  return html`<section class="decision" id="decision" tabindex="-1" aria-labelledby="decision-title">
    <h2 id="decision-title">Your decision</h2>
    ${general === null ? null : noticeToRead(general.text)}
    <p class="subject">
      On <code>${writtenLine(action)}</code> with the digest <code class="digest"><b>${shortDigest(digest)}</b></code
      >${terms.needsDigest ? ', which whoever acts must present' : ''}. ${countdown(deadline, now)}.
    </p>
    ${
      mayApprove
        ? null
        : html`<p class="only-deny">${written(whyNotApprove)} You can deny it.</p>
            ${otherWay}`
    }
    <form method="post" action="${form.action}" id="decision-form" autocomplete="off">
      <input type="hidden" name="csrf" value="${form.csrf}" />
      <fieldset>
        <legend class="spoken">What do you decide?</legend>
        ${choices.map((choice) => radio(choice, form.verdict))}
      </fieldset>
      ${choices.some(({ verdict }) => verdict === 'approve_always') ? alwaysFields(confirmation, asEntered(form)) : null}
      ${terms.mustType && mayApprove ? typedField(action, form.typed ?? '', problemOf('typed')) : null}
      ${form.by.kind === 'anyone' ? nameField(form.name ?? '', problemOf('your-name')) : null}
      ${reasonField(reasonFor, !mayApprove, form.reason ?? '', problemOf('reason'))}
      <button type="submit" id="send">Send decision</button>
    </form>
  </section>`
}

function asEntered({ verdict = '', duration = '', whom = '', details = '' }: DecisionForm) {
  return { verdict, duration, whom, details }
}

function choicesFor(confirmation: Confirmation, form: DecisionForm): Choice[] {
  const deny = { verdict: 'deny', title: 'Deny', effect: html`It must not be done. One denial is enough.` }
  return form.whyNotApprove === null ? [...approvalsFor(confirmation, form), deny] : [deny]
}

function approvalsFor(confirmation: Confirmation, { by }: DecisionForm): Choice[] {
  const { terms, sessionKey, requester } = confirmation
  const choices: Choice[] = [{ verdict: 'approve', title: 'Approve', effect: onceEffect(confirmation, by) }]
  if (terms.mayWhitelist && terms.approvals === 1) {
    if (sessionKey !== '') {
      const whose = isVerified(by) ? requester : null
      const remembered = { scope: 'session', requester: whose, expiresAt: null, isExact: false } as const
      choices.push({
        verdict: 'approve_session',
        title: 'Approve for this session',
        effect: html`This one, and from now on ${covered(confirmation, remembered)}, without asking.`,
      })
    }
    choices.push({
      verdict: 'approve_always',
      title: 'Approve always',
      effect: alwaysEffect(confirmation),
    })
  }
  return choices
}

function alwaysEffect(confirmation: Confirmation): Markup {
  const questions = questionsOf(confirmation)
  const bounds = [
    ...(confirmation.onBehalfOf === null ? [] : [anyBehalf]),
    ...(questions.some(({ field }) => field === 'details') ? [] : ['whatever its details']),
  ]
  return html`This one, and from now on every
    <code>${writtenLine(confirmation.action)}</code>${bounds.map((bound) => `, ${bound}`)}, without asking. You choose
    ${questions.map(({ topic }) => topic).join(', and ')}.`
}

function onceEffect(confirmation: Confirmation, by: Voter): Markup {
  const { approvals } = confirmation.terms
  if (approvals === 1) return html`This once, exactly as shown here.`
  if (!bringsFurther(confirmation, by)) {
    return html`Yours would be recorded, but would not bring this further: your groups have given what is needed of
    them. ${written(stillNeeded(confirmation) ?? '')}`
  }
  const given = approvalsGiven(confirmation)
  return html`This once, exactly as shown here. Yours is one of ${approvals} approvals that are needed; ${given} so far.`
}

function radio({ verdict, title, effect }: Choice, entered: string | undefined): Markup {
  const isDenial = verdict === 'deny'
  const checked = verdict === entered ? html` checked` : null
  return html`<label class="choice ${isDenial ? 'deny' : 'approve'}">
    <input
      type="radio"
      id="choice-${verdict}"
      name="verdict"
      value="${verdict}"
      required${checked}
      aria-labelledby="title-${verdict}"
      aria-describedby="effect-${verdict}"
    />
    <span
      ><span class="mark" aria-hidden="true">${isDenial ? '✕' : '✓'}</span> <b id="title-${verdict}">${title}</b>
      <span class="effect" id="effect-${verdict}">${effect}</span></span
    >
  </label>`
}

function typedField(action: string, entered: string, problem: string | null): Markup {
  const { told, attributes } = problemBeside('typed', problem)
  return html`<div class="field">
    <label for="typed">To approve, type the name of the action</label>
    <p class="hint" id="typed-hint">It is <code>${writtenLine(action)}</code>. Leave this empty to deny.</p>
    ${told}
    <input
      type="text"
      id="typed"
      name="typed"
      value="${entered}"
      data-needed-for="approve"
      data-kept-as="${keptAs.typed}"
      ${attributes}
      autocomplete="off"
      autocapitalize="none"
      autocorrect="off"
      spellcheck="false"
    />
  </div>`
}

/** While the service is open nobody shows who they are. The script remembers what was given. */
function nameField(entered: string, problem: string | null): Markup {
  const { told, attributes } = problemBeside('your-name', problem)
  return html`<div class="field">
    <label for="your-name">Your name <span class="need">(optional)</span></label>
    <p class="hint" id="your-name-hint">Kept in the record as you give it. Nobody checks it.</p>
    ${told}
    <input
      type="text"
      id="your-name"
      name="name"
      value="${entered}"
      maxlength="1000"
      ${attributes}
      autocomplete="name"
      spellcheck="false"
    />
  </div>`
}

function reasonField(reasonFor: Verdict[], isDenyOnly: boolean, entered: string, problem: string | null): Markup {
  const { told, attributes } = problemBeside('reason', problem)
  const isAlways = reasonFor.includes('deny') && (isDenyOnly || reasonFor.includes('approve'))
  const need = isAlways ? 'required' : reasonFor.length > 0 ? `required to ${reasonFor[0]!}` : 'optional'
  // The parser drops a line break right after the tag, so one is given to it.
  return html`<div class="field">
    <label for="reason">Reason <span class="need">(${need})</span></label>
    <p class="hint" id="reason-hint">Kept in the record, and told to whoever asked.</p>
    ${told}
    <textarea
      id="reason"
      name="reason"
      rows="2"
      data-needed-for="${reasonFor.join(' ')}"
      data-kept-as="${keptAs.reason}"
      ${isAlways ? html` required` : null}${attributes}
    >
${entered}</textarea>
  </div>`
}
