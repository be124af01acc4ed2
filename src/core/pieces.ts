// Text that others wrote, taken apart for people to see. The pages, the chats, the log and the terminal each put the pieces
// together in their own way, and nowhere do two different texts look the same.
import {
  digit,
  drawn,
  hidden,
  isJoinerAt,
  isLetter,
  kindOf,
  lineBreak,
  mark,
  pictureAt,
  pictured,
  space,
  turned,
  unnormalized,
} from './character.js'

export type Piece =
  /** Drawn as it stands, from left to right. */
  | { kind: 'text'; text: string }
  /** Letters or digits that turn what is around them, so they are isolated from it. */
  | { kind: 'turned'; text: string }
  /** Characters that cannot be seen, or not be told from others, so many times in a row. */
  | { kind: 'hidden'; characters: string[]; count: number }
  /** Spaces at the beginning or the end, or more than anybody counts. */
  | { kind: 'spaces'; count: number }
  | { kind: 'break' }
  /** Lines on which nothing is drawn: what stands between the breaks, and how often in a row. */
  | { kind: 'gap'; breaks: number; blanks: { items: string[]; count: number }[] }

/** A phone's line: with more of them what follows would be out of sight. */
const mostSpaces = 40
/** More line breaks in a row, with nothing drawn between them, are a gap. */
const mostBreaks = 3
/** Marks on one letter, as UTS #39 bounds them: more are drawn over the lines around. */
const mostMarks = 4

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  const unusual = unnormalized(text)
  let start = 0
  let isTurned = false
  // What the next mark would stand on, and how many stand there; 0: nothing.
  let base = 0
  let marks = 0

  /** Ends the run of text that is under way; the next begins after the piece. */
  function endRun(end: number, next: number, piece?: Piece): number {
    if (end > start) pieces.push({ kind: isTurned ? 'turned' : 'text', text: text.slice(start, end) })
    if (piece !== undefined) pieces.push(piece)
    start = next
    isTurned = false
    return next
  }

  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!
    const next = at + (code > 0xffff ? 2 : 1)
    const kind = unusual.has(at) ? hidden : kindOf(code)
    const isRoom = base !== 0 && marks < mostMarks && text.codePointAt(at - (next - at)) !== code
    if (kind === mark && isRoom && (marks > 0 || isLetter(base))) {
      marks += 1
      at = next
      continue
    }
    if (kind === hidden && base !== 0 && !unusual.has(next) && isJoinerAt(text, at)) {
      at = next
      continue
    }
    const picture = kind === pictured || text.charCodeAt(next) === 0xfe0f ? pictureAt(text, at) : 0
    base = kind === drawn || kind === turned ? code : 0
    marks = 0
    if (picture > 0) {
      if (isTurned) endRun(at, at)
      base = 0
      at += picture
    } else if (code === space) {
      const end = endOf(text, at, (one) => one === space)
      if (end - at > mostSpaces || at === 0 || end === text.length) {
        endRun(at, end, { kind: 'spaces', count: end - at })
      } else if (isTurned && (unusual.has(end) || kindOf(text.codePointAt(end)!) !== turned)) {
        endRun(at, at)
      }
      base = 0
      at = end
    } else if (code === lineBreak) {
      const gap = gapAt(text, at)
      at = endRun(at, gap?.end ?? next, gap?.piece ?? { kind: 'break' })
      base = 0
    } else if (kind === hidden || kind === mark) {
      const end = endOf(text, at, (one, index) => leavesNoTrace(one) || unusual.has(index))
      endRun(at, end)
      for (const { items, count } of repeated(Array.from(text.slice(at, end))))
        pieces.push({ kind: 'hidden', characters: items, count })
      at = end
    } else if (kind === digit) {
      const end = endOf(text, at, (one) => kindOf(one) === digit)
      at = endRun(at, end, { kind: 'turned', text: text.slice(at, end) })
    } else {
      if (isTurned !== (kind === turned)) {
        endRun(at, at)
        isTurned = kind === turned
      }
      at = next
    }
  }
  endRun(text.length, text.length)
  return pieces
}

function endOf(text: string, at: number, belongs: (code: number, index: number) => boolean): number {
  let end = at
  while (end < text.length) {
    const code = text.codePointAt(end)!
    if (!belongs(code, end)) break
    end += code > 0xffff ? 2 : 1
  }
  return end
}

/** Where nothing is drawn before them: marks have nothing to stand on, and joiners nothing to join. */
function leavesNoTrace(code: number): boolean {
  return kindOf(code) === hidden || kindOf(code) === mark
}

/** The lines without anything drawn that begin with this line break, if there are enough of them. */
function gapAt(text: string, at: number): { end: number; piece: Piece } | null {
  let breaks = 0
  const region = endOf(text, at, (code) => {
    if (code === lineBreak) breaks += 1
    return code === lineBreak || code === space || leavesNoTrace(code)
  })
  if (breaks <= mostBreaks) return null
  const end = text.lastIndexOf('\n', region - 1) + 1
  return { end, piece: { kind: 'gap', breaks, blanks: repeated(text.slice(at + 1, end - 1).split('\n')) } }
}

/** The same as how often up to four items follow each other in the same way: what repeats itself takes no more room. */
function repeated(all: string[]): { items: string[]; count: number }[] {
  if (all.length === 1) return [{ items: all, count: 1 }]
  const runs: { items: string[]; count: number }[] = []
  for (let at = 0; at < all.length;) {
    let best = { size: 1, count: countAt(all, at, 1) }
    for (const size of [2, 3, 4]) {
      const count = countAt(all, at, size)
      if (count > 2 && count * size > best.count * best.size) best = { size, count }
    }
    runs.push({ items: all.slice(at, at + best.size), count: best.count })
    at += best.size * best.count
  }
  return runs
}

function countAt(all: string[], at: number, size: number): number {
  let end = at + size
  while (end < all.length && all[end] === all[end - size]) end += 1
  return Math.floor((end - at) / size)
}

/** Whether it is one line in which nothing needs a mark. */
export function isPlainLine(text: string): boolean {
  return piecesOf(text).every(({ kind }) => kind === 'text' || kind === 'turned')
}
