// What else is known of a confirmation: who asks, what is needed to decide it, and the rest, which changes nothing of what is
// decided and is folded.
import { shortDigest } from '../core/digest.js'
import { type Confirmation, defaultTerms, type Terms } from '../core/model.js'
import { html, type Markup, named, type Part, verbatim, writtenLine } from './html.js'
import { riskWords } from './risk-badge.js'
import { moment } from './time.js'

type Row = [name: string, value: Part]

/** Who asks, for whom, and in which session. The digest covers it, so it is never folded. */
export function asked({ requester, requestedAs, onBehalfOf, sessionKey }: Confirmation): Markup {
  const rows: Row[] = [
    [
      'Requester',
      html`${verbatim(named(requester))}${requestedAs === null ? null : html`<br /><span class="claim">says it acts as ${verbatim(named(requestedAs))}, which is not verified</span>`}`,
    ],
  ]
  if (onBehalfOf !== null) {
    const claim = html`<span class="claim">as the requester says, which is not verified</span>`
    rows.push(['On behalf of', html`${verbatim(named(onBehalfOf))}<br />${claim}`])
  }
  if (sessionKey !== '') rows.push(['Session', verbatim(writtenLine(sessionKey))])
  return list(rows, 'asked')
}

/** How many must approve, and who may; null where any one who may decide is enough. */
export function conditions(terms: Terms): Markup | null {
  if (isUsual(terms)) return null
  return html`<section aria-labelledby="conditions-title">
    <h2 id="conditions-title">Who must decide</h2>
    ${list(conditionRows(terms))}
  </section>`
}

function isUsual({ approvals, seats, deciders, allowsOwn }: Terms): boolean {
  return approvals === 1 && seats.length === 0 && deciders === null && !allowsOwn
}

function conditionRows(terms: Terms): Row[] {
  return [
    ['Approvals needed', approvalsNeeded(terms)],
    ['May decide', mayDecide(terms)],
  ]
}

/** Folded. Where there is a form, with a way back to it. */
export function moreFacts(confirmation: Confirmation, hasForm: boolean): Markup {
  const { id, digest, onBehalfOf, terms, createdAt, deadline, callbackUrl } = confirmation
  const rows: Row[] = [
    [
      'Rule',
      terms.rule === defaultTerms.rule
        ? html`none is about this action, so nobody has assessed its risk`
        : html`${writtenLine(terms.rule)}, ${riskWords[terms.risk].toLowerCase()}`,
    ],
    ...(isUsual(terms) ? conditionRows(terms) : []),
    ['Asked', moment(createdAt)],
    ['Deadline', moment(deadline)],
    ...(callbackUrl === null ? [] : [['Outcome goes to', verbatim(writtenLine(callbackUrl))] satisfies Row]),
    ['ID', html`<code>${writtenLine(id)}</code>`],
    [
      'Digest',
      html`<code class="digest" translate="no"
          ><b>${shortDigest(digest)}</b>${inSixteens(digest.slice(shortDigest(digest).length))}</code
        ><br /><span class="hint"
          >SHA-256 over action, details,${onBehalfOf === null ? '' : ' on whose behalf,'} requester and
          session.${terms.needsDigest ? ' Whoever acts must present it.' : ''} Messages show its first
          ${shortDigest(digest).length} digits.</span
        >`,
    ],
  ]
  return html`<details class="facts" id="facts">
    <summary><h2 id="facts-title">More about this request</h2></summary>
    ${list(rows)} ${hasForm ? html`<p class="to-decision"><a href="#decision">Decide</a></p>` : null}
  </details>`
}

function list(rows: Row[], kind = ''): Markup {
  return html`<dl class="${kind}">
    ${rows.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

function approvalsNeeded({ approvals, seats }: Terms): Markup {
  const people = approvals === 1 ? html`1` : html`${approvals}, from different people`
  if (seats.length === 0) return people
  return html`${people}
    <ul class="seats" role="list">
      ${seats.map(
        ({ group, count, members }) =>
          html`<li>${count} from ${writtenLine(group)} <span class="quiet">(${names(members)})</span></li>`,
      )}
    </ul>`
}

function mayDecide({ deciders, allowsOwn, seats }: Terms): Markup {
  const who = deciders === null ? html`anyone with the right to decide` : names(deciders)
  const groups = seats.map(({ group }, index) => html`${index === 0 ? '' : ', '}${writtenLine(group)}`)
  return html`${who}${allowsOwn ? null : html`, <span class="quiet">but not whoever asked</span>`}${groups.length === 0 ? null : html`; <span class="quiet">approvals come only from</span> ${groups}`}`
}

/** Digits that break between groups, where they must break, and are copied as one. */
function inSixteens(digits: string): Markup[] {
  return (digits.match(/.{1,16}/gsu) ?? []).map((group) => html`<wbr />${group}`)
}

function names(people: string[]): Markup {
  if (people.length === 0) return html`nobody`
  return html`${people.map((one, index) => html`${index === 0 ? '' : ', '}${named(one)}`)}`
}
