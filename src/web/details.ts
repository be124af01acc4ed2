// The details of a confirmation: JSON as nested lists that can be folded and that begin unfolded.
import { html, type Markup, newRoom, quoted, type Room } from './html.js'

/** Below this level nothing is indented further, so that what is deep still has room on a phone. */
const deepest = 6

/** `details` is JSON text of an object. */
export function detailsTree(details: string): Markup {
  const value = JSON.parse(details) as object
  const members = Object.entries(value)
  if (members.length === 0)
    return html`<p class="json"><span class="literal">{}</span> <span class="quiet">empty</span></p>`
  return html`<div class="json" translate="no">${membersOf(members, 1, newRoom())}</div>`
}

function membersOf(members: [string, unknown][], level: number, room: Room): Markup {
  return html`<ul>
    ${members.map(([key, value]) => node(quoted(key, 'key', room), value, level, room))}
  </ul>`
}

function itemsOf(items: unknown[], level: number, room: Room): Markup {
  return html`<ul>
    ${items.map((value, index) => node(html`<span class="index">${index}</span>`, value, level, room))}
  </ul>`
}

function node(label: Markup, value: unknown, level: number, room: Room): Markup {
  if (typeof value === 'object' && value !== null) {
    const isList = Array.isArray(value)
    const members = isList ? [] : Object.entries(value)
    const count = isList ? value.length : members.length
    if (count === 0) return html`<li>${label} <span class="literal">${isList ? '[]' : '{}'}</span></li>`
    const kind = isList ? `list of ${count}` : `object of ${count}`
    const depth = level > deepest ? `, level ${level + 1}` : ''
    const inside = isList ? itemsOf(value, level + 1, room) : membersOf(members, level + 1, room)
    const isDeep = level > deepest ? 'deep' : 'nested'
    return html`<li>
      <details open class="${isDeep}">
        <summary>${label} <span class="kind">${kind}${depth}</span></summary>
        ${inside}
      </details>
    </li>`
  }
  if (typeof value === 'string') return html`<li>${label} ${quoted(value, 'string', room)}</li>`
  return html`<li>${label} <span class="literal">${JSON.stringify(value)}</span></li>`
}
