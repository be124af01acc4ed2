// What "always" means: for how long, for whom and with which details an action passes without asking. Asked in the form, and
// said on the page.
import type { Confirmation, Remembered } from '../core/model.js'
import { html, type Markup, named, verbatim, writtenLine } from './html.js'
import { moment } from './time.js'

/** In seconds; null: until it is revoked. */
export const durations: ReadonlyMap<string, number | null> = new Map([
  ['hour', 3600],
  ['day', 86_400],
  ['week', 604_800],
  ['revoked', null],
])

const durationWords: Record<string, string> = {
  hour: 'An hour',
  day: 'A day',
  week: 'A week',
  revoked: 'Until somebody revokes it',
}

/** One question that goes with "always": the name of its field, and what may be chosen. */
export interface Question {
  field: 'duration' | 'whom' | 'details'
  /** As it follows "choose". */
  topic: string
  options: { value: string; label: Markup }[]
}

export function questionsOf({ requester, details }: Confirmation): Question[] {
  const durationOptions = [...durations.keys()].map((value) => ({ value, label: html`${durationWords[value]!}` }))
  const questions: Question[] = [
    { field: 'duration', topic: 'for how long', options: durationOptions },
    {
      field: 'whom',
      topic: 'for whom',
      options: [
        { value: 'requester', label: html`Only when ${verbatim(named(requester))} asks` },
        { value: 'anyone', label: html`Whoever asks` },
      ],
    },
  ]
  if (!hasDetails(details)) return questions
  const options = [
    { value: 'exact', label: html`Only exactly these details, equal as a whole` },
    { value: 'any', label: html`Whatever the details` },
  ]
  return [...questions, { field: 'details', topic: 'with which details', options }]
}

function hasDetails(details: string): boolean {
  return Object.keys(JSON.parse(details) as object).length > 0
}

/** The questions that were not answered, or not with what may be chosen. */
export function unanswered(confirmation: Confirmation, entered: Partial<Record<string, string>>): Question[] {
  return questionsOf(confirmation).filter(
    ({ field, options }) => !options.some(({ value }) => value === entered[field]),
  )
}

/** Shown with the choice that they belong to; where that cannot be, always. */
export function alwaysFields(confirmation: Confirmation, entered: Partial<Record<string, string>>): Markup {
  const open = entered.verdict === 'approve_always' ? unanswered(confirmation, entered) : []
  return html`<div class="always">
    ${questionsOf(confirmation).map((question) => {
      const isOpen = open.some(({ field }) => field === question.field)
      return fieldsOf(question, entered[question.field], isOpen)
    })}
  </div>`
}

function fieldsOf({ field, topic, options }: Question, entered: string | undefined, isOpen: boolean): Markup {
  return html`<fieldset ${isOpen ? html`aria-describedby="${field}-problem"` : null}>
    <legend>Always: ${topic}?</legend>
    ${isOpen ? html`<p class="field-problem" id="${field}-problem"><span class="mark" aria-hidden="true">!</span> Choose one of these.</p>` : null}
    ${options.map(
      ({ value, label }) =>
        html`<label class="option">
          <input
            type="radio"
            id="${field}-${value}"
            name="${field}"
            value="${value}"
            data-needed-for="approve_always"
            ${value === entered ? html` checked` : null}
          />
          <span>${label}</span>
        </label>`,
    )}
  </fieldset>`
}

/** An entry does not look at it. Said where somebody is named. */
export const anyBehalf = 'on whosever behalf'

/** What an entry covers that goes with an approval. */
export function covered({ action, onBehalfOf, sessionKey }: Confirmation, remembered: Remembered): Markup {
  const { scope, requester, expiresAt, isExact } = remembered
  const isSession = scope === 'session'
  const whose = requester === null ? null : html` that ${verbatim(named(requester))} asks for`
  const where = isSession ? html` in session <code>${writtenLine(sessionKey)}</code>` : null
  const bounds = [
    ...(requester === null ? ['whoever asks'] : []),
    ...(onBehalfOf === null ? [] : [anyBehalf]),
    ...(isSession ? [] : ['in whichever session']),
    isExact ? 'with exactly these details' : 'whatever its details',
  ].join(', ')
  const until = expiresAt === null ? html`until it is revoked` : html`until ${moment(expiresAt)}`
  return html`every <code>${writtenLine(action)}</code>${whose}${where}, ${bounds}, ${until}`
}
