// What else is known of a confirmation: who asked, under which rule, who may decide, until when, and its digest.
import { shortDigest } from '../core/digest.js'
import { type Confirmation, defaultTerms, type Terms } from '../core/model.js'
import { html, type Markup, named, type Part, verbatim, writtenLine } from './html.js'
import { riskWords } from './risk.js'
import { moment } from './time.js'

export function facts({
  id,
  digest,
  requester,
  requestedAs,
  onBehalfOf,
  sessionKey,
  terms,
  createdAt,
  deadline,
  callbackUrl,
}: Confirmation) {
  const rows: [string, Part][] = [
    [
      'Requester',
      html`${verbatim(named(requester))}${requestedAs === null ? null : html`<br /><span class="claim">says it acts as ${verbatim(named(requestedAs))}, which is not verified</span>`}`,
    ],
    ...(onBehalfOf === null
      ? []
      : [
          [
            'On behalf of',
            html`${verbatim(named(onBehalfOf))}<br /><span class="claim"
                >as the requester says, which is not verified</span
              >`,
          ] as [string, Part],
        ]),
    ['Session', sessionKey === '' ? html`<span class="quiet">none</span>` : verbatim(writtenLine(sessionKey))],
    [
      'Rule',
      terms.rule === defaultTerms.rule
        ? html`none is about this action, so nobody has assessed its risk`
        : html`${writtenLine(terms.rule)}, ${riskWords[terms.risk].toLowerCase()}`,
    ],
    ['Approvals needed', approvalsNeeded(terms)],
    ['May decide', mayDecide(terms)],
    ['Asked', moment(createdAt)],
    ['Deadline', moment(deadline)],
    ...(callbackUrl === null ? [] : [['Outcome goes to', verbatim(writtenLine(callbackUrl))] as [string, Part]]),
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
  return html`<section aria-labelledby="facts-title">
    <h2 id="facts-title">Request</h2>
    <dl>
      ${rows.map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
  </section>`
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
