// Times as people read them: the moment in UTC, and in words what is left and how long ago something was.
import { counted } from '../core/length.js'
import { html, type Markup } from './html.js'

/** A moment, exact to the second. */
export function moment(ms: number): Markup {
  const iso = new Date(ms).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** The two largest units of a length of time. What is not over yet is at least a second. */
export function lengthInWords(ms: number): string {
  let seconds = Math.max(0, Math.ceil(ms / 1000))
  const words: string[] = []
  for (const [unit, size] of units) {
    const count = Math.floor(seconds / size)
    seconds -= count * size
    if (count > 0) words.push(counted(count, unit))
    else if (words.length > 0) break
    if (words.length === 2) break
  }
  return words.join(' ') || '0 seconds'
}

/** What is left, as of now; the script lets it run. A screen reader reads it when asked and is not interrupted by it. */
export function countdown(deadline: number, now: number): Markup {
  const left = Math.max(0, deadline - now)
  return html`<span class="left" role="timer" data-left="${left}">${lengthInWords(left)} left</span>`
}

/** How long ago, in the largest unit; the script lets it run. */
export function age(at: number, now: number): Markup {
  const ms = Math.max(0, now - at)
  const seconds = Math.floor(ms / 1000)
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? units[3]
  const words = seconds < 5 ? 'just now' : `${counted(Math.floor(seconds / size), unit)} ago`
  return html`<span class="age" data-age="${ms}">${words}</span>`
}
