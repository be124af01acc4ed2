// How many columns a text takes on a terminal, and the text cut, filled up or wrapped to as many. Where terminals differ the
// larger number counts: what they draw narrower leaves a gap, and nothing is pushed past the edge.

/** Drawn with what is before it: marks, joiners, selectors, tags. Spacing marks take a column in some terminals. */
const attached = /^(?:[\p{Mn}\p{Me}\u200c\u200d\ufe00-\ufe0f]|[\u{e0020}-\u{e007f}])$/u

/** East Asian wide and full-width characters, and pictures. */
const wide =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f1e6}-\u{1f1ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji_Modifier})$/u

/** What is drawn as one, so that no line ends inside of it. */
const drawnAsOne =
  /\p{RI}{2}|[^](?:[\p{M}\u200c\ufe00-\ufe0f\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]|\u200d\p{Emoji}?)*/gu
const ascii = /^[ -~]*$/

const openIsolate = '\u2067'
const closeIsolate = '\u2069'

export function columnsOf(text: string): number {
  if (ascii.test(text)) return text.length
  let columns = 0
  for (const one of text.matchAll(drawnAsOne)) columns += columnsOfOne(one[0])
  return columns
}

function columnsOfOne(drawn: string): number {
  let columns = 0
  for (const character of drawn) {
    if (character === '\ufe0f') columns = Math.max(columns, 2)
    else if (!attached.test(character)) columns += wide.test(character) ? 2 : 1
  }
  return columns
}

/** On one line of so many columns; what does not fit is cut, with a mark. */
export function fit(text: string, room: number): string {
  if (columnsOf(text) <= room) return text
  return room < 1 ? '' : `${wrap(text, room - 1)[0]!}…`
}

export function padEnd(text: string, room: number): string {
  return text + ' '.repeat(Math.max(0, room - columnsOf(text)))
}

/**
 * One line as several of at most so many columns, each filled to its end: so a space is seen where it is. What is turned is
 * isolated on each of them.
 */
export function wrap(line: string, room: number): string[] {
  if (line.length <= room && ascii.test(line)) return [line]
  if (ascii.test(line)) return room < 1 ? [line] : (line.match(new RegExp(`.{1,${room}}`, 'g')) ?? [''])
  const lines: string[] = []
  let current = ''
  let columns = 0
  let isTurned = false
  for (const [one] of line.matchAll(drawnAsOne)) {
    const more = columnsOfOne(one)
    // One alone may take more than there is.
    if (columns > 0 && columns + more > room && one !== closeIsolate) {
      lines.push(isTurned ? current + closeIsolate : current)
      current = isTurned ? openIsolate : ''
      columns = 0
    }
    if (one === openIsolate) isTurned = true
    if (one === closeIsolate) isTurned = false
    current += one
    columns += more
  }
  lines.push(current)
  return lines
}

/** The same for words of ours, between which a line ends where it can. The space stays with the word before it. */
export function wrapWords(line: string, room: number): string[] {
  const lines = ['']
  for (const [word] of line.matchAll(/\S+\s*|^\s+/g)) {
    const last = lines.length - 1
    if (columnsOf(`${lines[last]!}${word.trimEnd()}`) <= room) lines[last] += word
    else if (columnsOf(word.trimEnd()) <= room && lines[last] !== '') lines.push(word)
    else lines.splice(last, 1, ...wrap(`${lines[last]!}${word}`, room))
  }
  return lines
}
