// A text as Discord's client takes it apart, in an embed or in a message.

export interface Part {
  kind:
    | 'text'
    | 'bold'
    | 'italic'
    | 'underline'
    | 'strike'
    | 'spoiler'
    | 'code'
    | 'block'
    | 'mention'
    | 'emoji'
    | 'time'
    | 'link'
    | 'address'
    | 'heading'
    | 'small'
    | 'quote'
    | 'item'
  text: string
}

/** Those that hold at the beginning of a line alone. */
const ofLines: [Part['kind'], RegExp][] = [
  ['heading', /^#{1,3} +([^\n]+)/],
  ['small', /^-# +([^\n]+)/],
  ['quote', /^>>> ([^]+)/],
  ['quote', /^> ([^\n]*)/],
  ['item', /^ *(?:[-*]|\d{1,10}\.) +([^\n]+)/],
]
const anywhere: [Part['kind'], RegExp][] = [
  ['text', /^\\([^0-9A-Za-z\s])/],
  ['block', /^```(?:[a-z0-9_+\-.#]+?\n)?\n*([^\n][^]*?)\n*```/i],
  ['code', /^(`+)([^]*?[^`])\1(?!`)/],
  ['mention', /^<(@[!&]?\d+|#\d+|\/[^>\n]{1,64}:\d+|id:\w+)>/],
  ['mention', /^(@everyone|@here)/],
  ['emoji', /^<(a?:\w{2,32}:\d+)>/],
  ['emoji', /^(:[a-z0-9_+-]+:)/i],
  ['time', /^<(t:-?\d+(?::[tTdDfFR])?)>/],
  ['link', /^(\[[^\]\n]+\]\(<?[a-z]+:[^)\n]+\))/i],
  ['address', /^<([a-z][a-z0-9+.-]*:\/\/[^>\s]+)>/i],
  ['address', /^((?:https?|discord|steam):\/\/[^\s<]+)/i],
  ['bold', /^\*\*(?=\S)([^]+?)\*\*(?!\*)/],
  ['underline', /^__([^]+?)__(?!_)/],
  ['italic', /^\*(?=[^\s*])([^*]+?)\*(?!\*)/],
  ['italic', /^_(?=\S)([^_]+?)_(?![_\w])/],
  ['strike', /^~~([^]+?)~~/],
  ['spoiler', /^\|\|([^]+?)\|\|/],
]

/** Where anything of it could begin; all else is text. */
const beginning = /[\\`<@:[*_~|]|(?:https?|discord|steam):\/\/|(?<=\n)/gi

export function parseMarkdown(markdown: string): Part[] {
  const parts: Part[] = []
  const put = (kind: Part['kind'], text: string) => {
    const last = parts.at(-1)
    if (kind === 'text' && last?.kind === 'text') last.text += text
    else parts.push({ kind, text })
  }
  for (let at = 0; at < markdown.length;) {
    beginning.lastIndex = at
    const next = beginning.exec(markdown)?.index ?? markdown.length
    if (at > 0 && next > at) {
      put('text', markdown.slice(at, next))
      at = next
      continue
    }
    const here = markdown.slice(at)
    const isLineStart = at === 0 || markdown[at - 1] === '\n'
    const patterns = isLineStart ? [...ofLines, ...anywhere] : anywhere
    const found = patterns.map(([kind, pattern]) => ({ kind, match: pattern.exec(here) })).find(({ match }) => match)
    if (found === undefined) {
      put('text', markdown[at]!)
      at += 1
    } else {
      const match = found.match!
      // What is bold may hold what is escaped.
      const inner = match.at(-1)!
      put(found.kind, found.kind === 'bold' ? inner.replace(/\\([^0-9A-Za-z\s])/g, '$1') : inner)
      at += match[0].length
    }
  }
  return parts
}
