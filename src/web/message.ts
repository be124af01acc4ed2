// A page that says one thing: mostly what went wrong.
import { cut } from '../core/cut.js'
import { visibleLine } from '../core/visible.js'
import { type Frame, page } from './frame.js'
import { html, written, writtenLine } from './html.js'

export interface MessagePage extends Frame {
  title: string
  text: string
  /** Where to go on from here. */
  link?: { url: string; text: string }
}

export function messagePage(view: MessagePage): string {
  const { title, text, link } = view
  const main = html`<h1>${writtenLine(title)}</h1>
    <p>${written(text)}</p>
    ${link === undefined ? null : html`<nav class="more" aria-label="Go on"><a href="${link.url}">${link.text}</a></nav>`}`
  return page(view, cut(visibleLine(title), 80), main, null)
}
