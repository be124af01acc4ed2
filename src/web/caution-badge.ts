// What is odd about a request: in sentences above the form, and as chips where there is little room.
import { type Caution, nameCaution, sayCaution } from '../core/caution.js'
import { html, type Markup } from './html.js'

const mark = html`<span class="mark" aria-hidden="true">!</span>`

export function cautionNotice(caution: Caution | null): Markup | null {
  const sentences = sayCaution(caution)
  if (sentences.length === 0) return null
  return html`<div class="notice caution">${sentences.map((one) => html`<p>${mark} <b>Warning:</b> ${one}</p>`)}</div>`
}

export function cautionChips(caution: Caution | null): Markup[] {
  return nameCaution(caution).map((one) => html`<span class="chip caution">${mark} ${one}</span> `)
}
