// The risk of a confirmation, in words and as a chip.
import { defaultTerms, type Terms } from '../core/model.js'
import { html, type Markup } from './html.js'

export function riskChip({ rule, risk }: Terms): Markup {
  if (rule === defaultTerms.rule) return html`<span class="chip">Risk not assessed: no rule</span>`
  return html`<span class="chip risk-${risk}"
    >${risk === 'high' ? html`<span class="mark" aria-hidden="true">▲</span> ` : null}${riskWords[risk]}</span
  >`
}

export const riskWords: Record<Terms['risk'], string> = { low: 'Low risk', normal: 'Normal risk', high: 'High risk' }
