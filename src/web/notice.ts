// What just happened, said where it matters: above a part of the page, or beside the field that it is about.
import { html, type Markup, written } from './html.js'

export function notice(kind: 'problem' | 'done', text: string): Markup {
  const role = kind === 'problem' ? 'alert' : 'status'
  return html`<div class="notice ${kind}" role="${role}">
    <p><span class="mark" aria-hidden="true">${kind === 'problem' ? '!' : '✓'}</span> ${written(text)}</p>
  </div>`
}

/** A problem on a page that was asked for something else: the reader is led there. */
export function noticeToRead(text: string): Markup {
  return html`<div id="problem" tabindex="-1" autofocus>${notice('problem', text)}</div>`
}

/** What is wrong with a field, and what the field says of itself then: that it is, where that is told, and look here. */
export function problemBeside(field: string, text: string | null): { told: Markup | null; attributes: Markup } {
  const hint = `${field}-hint`
  if (text === null) return { told: null, attributes: html` aria-describedby="${hint}"` }
  return {
    told: html`<p class="field-problem" id="${field}-problem">
      <span class="mark" aria-hidden="true">!</span> ${written(text)}
    </p>`,
    attributes: html` aria-invalid="true" aria-describedby="${field}-problem ${hint}" autofocus`,
  }
}
