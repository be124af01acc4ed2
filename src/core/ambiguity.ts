// What JSON readers may take for different things: a name twice in one object, a number that does not survive being read.
// One pass over the text, without recursion: the nesting is the sender's choice.
import { visibleLine } from './visible.js'

export interface Ambiguity {
  kind: 'name' | 'number'
  /** Where it stands, as `when` writes it: `details.items.0.price`. Safe to print, and not long. */
  place: string
  /** What stands there, safe to print and not long. */
  text: string
}

/** Up to here a list is searched; beyond it a set is worth making. */
const fewNames = 8
/** Of a path, for an exemption: all of it, for each of many numbers that lie deep, would take the square of the time. */
const fewLevels = 4
/** Any decimal of so many digits is what JSON.stringify writes back: a double holds 15 and more. */
const exactDigits = 15
const maxShown = 40

/** An object or a list that is open, and where in it the scan is. */
interface Open {
  /** The names so far; null in a list. */
  names: string[] | null
  seen: Set<string> | null
  /** The element it is at, in a list. */
  index: number
}

/**
 * The first of them in a text that is JSON, or null. A number is not looked at where `isExempt` says so, which is given no more
 * than the beginning of a long path.
 */
export function findAmbiguity(text: string, isExempt: (path: readonly string[]) => boolean): Ambiguity | null {
  const open: Open[] = []
  let at = 0
  // The next string is a member's name.
  let isName = false
  while (at < text.length) {
    const code = text.charCodeAt(at)
    switch (code) {
      case 0x7b: // {
        open.push({ names: [], seen: null, index: 0 })
        isName = true
        at += 1
        break
      case 0x5b: // [
        open.push({ names: null, seen: null, index: 0 })
        isName = false
        at += 1
        break
      case 0x7d: // }
      case 0x5d: // ]
        open.pop()
        isName = false
        at += 1
        break
      case 0x2c: {
        // ,
        const inside = open[open.length - 1]!
        isName = inside.names !== null
        inside.index += 1
        at += 1
        break
      }
      case 0x22: {
        // "
        const end = endOfString(text, at)
        if (isName) {
          const name = readName(text, at, end)
          if (!isNew(open[open.length - 1]!, name)) {
            return { kind: 'name', place: placeOf(pathOf(open).slice(0, -1)), text: shorten(name) }
          }
          isName = false
        }
        at = end
        break
      }
      default:
        if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
          const end = endOfNumber(text, at)
          if (end - at > exactDigits || !isPlain(text, at, end)) {
            const number = text.slice(at, end)
            if (!isExact(number)) {
              if (!isExempt(pathOf(open.slice(0, fewLevels)))) {
                return { kind: 'number', place: placeOf(pathOf(open)), text: shorten(number) }
              }
            }
          }
          at = end
        } else at += 1
    }
  }
  return null
}

/** Whether its decimal value is exactly that of what JSON.stringify makes of it. */
export function isExact(number: string): boolean {
  const read = Number(number)
  const written = String(read)
  if (written === number) return true
  if (!Number.isFinite(read)) return false
  const meant = decimalOf(number)
  const kept = decimalOf(written)
  return meant.digits === kept.digits && meant.exponent === kept.exponent && meant.sign === kept.sign
}

/** A decimal in one form: digits that neither begin nor end with 0, times a power of ten. Nothing at all is 0. */
function decimalOf(number: string): { sign: boolean; digits: string; exponent: number } {
  const mark = number.search(/[eE]/)
  const mantissa = mark < 0 ? number : number.slice(0, mark)
  const point = mantissa.indexOf('.')
  const sign = mantissa.startsWith('-')
  const whole = mantissa.slice(sign ? 1 : 0, point < 0 ? undefined : point)
  const all = point < 0 ? whole : whole + mantissa.slice(point + 1)
  let first = 0
  while (first < all.length && all.charCodeAt(first) === 0x30) first += 1
  let last = all.length
  while (last > first && all.charCodeAt(last - 1) === 0x30) last -= 1
  if (first === last) return { sign: false, digits: '', exponent: 0 }
  // What is neither infinite nor 0 has an exponent that is no longer than the text: a number holds it.
  const power = mark < 0 ? 0 : Number(number.slice(mark + 1))
  return { sign, digits: all.slice(first, last), exponent: power + whole.length - last }
}

function isNew(object: Open, name: string): boolean {
  const names = object.names!
  if (names.length < fewNames) {
    const isKnown = names.includes(name)
    names.push(name)
    return !isKnown
  }
  const seen = (object.seen ??= new Set(names))
  // Only the last one is asked for, to say where the scan is.
  names[fewNames - 1] = name
  return seen.size !== seen.add(name).size
}

/** The place behind the closing quote. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  if (text.charCodeAt(end - 1) !== 0x5c) return end + 1
  // With escapes near the end it is read one by one: a search for each quote would cost more.
  for (end = start + 1; ; end++) {
    const code = text.charCodeAt(end)
    if (code === 0x5c) end += 1
    else if (code === 0x22) return end + 1
  }
}

function readName(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1)
  return name.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : name
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    const isPart = (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x65 || code === 0x45
    if (!isPart && code !== 0x2b && code !== 0x2d) break
  }
  return end
}

/** Digits and a point, and no exponent. */
function isPlain(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((text.charCodeAt(at) | 0x20) === 0x65) return false
  return true
}

function pathOf(open: Open[]): string[] {
  return open.map(({ names, index }) => (names === null ? String(index) : (names.at(-1) ?? '')))
}

function placeOf(path: string[]): string {
  // The end says most: it is what has to be changed.
  const steps = path.length > 6 ? [...path.slice(0, 2), '…', ...path.slice(-3)] : path
  return steps.map((step) => (/^[\w…-]+$/.test(step) ? shorten(step) : JSON.stringify(shorten(step)))).join('.')
}

/** What is wrong with it and what to send instead. `whole` is what was searched, as it follows "in". */
export function sayAmbiguity({ kind, place, text }: Ambiguity, whole: string): string {
  const where = place === '' ? `in ${whole}` : `at ${place}`
  return kind === 'name'
    ? `The name '${text}' stands twice ${where}, and readers of JSON differ in which one they take. Send it once.`
    : `The number ${text} ${where} does not survive being read: JSON.parse makes another of it. Send it as text, in quotes.`
}

/** Text of a stranger's, to stand in a sentence: nothing hidden, and not long. */
export function shorten(text: string): string {
  return visibleLine(text.length > maxShown ? `${text.slice(0, maxShown)}…` : text)
}
