// A row of the bench's one table: what was measured, what stands beside it, and what the one must be to the other.
import type { Measured } from './load.js'
import { median } from './numbers.js'

export interface Row {
  what: string
  measured: string
  /** The yardstick of the same run; empty: the aim is a figure of its own. */
  beside: string
  /** What the aim is about. */
  figure: number
  unit: string
  aim: Aim | null
}

export interface Aim {
  atLeast?: number
  atMost?: number
}

export function ratio(what: string, measured: string, beside: string, figure: number, aim: Aim | null): Row {
  return { what, measured, beside, figure, unit: '', aim }
}

export function isMet({ figure, aim }: Row): boolean {
  if (aim === null) return true
  return figure >= (aim.atLeast ?? -Infinity) && figure <= (aim.atMost ?? Infinity)
}

const titles = ['what', 'measured', 'beside', 'figure', 'aim', 'met']

export function formatRows(rows: Row[]): string {
  const cells = rows.map((row) => [
    row.what,
    row.measured,
    row.beside,
    `${shown(row.figure)}${row.unit}`,
    row.aim === null ? '' : sayAim(row.aim, row.unit),
    row.aim === null ? '' : isMet(row) ? 'yes' : 'NO',
  ])
  const widths = titles.map((title, column) =>
    Math.max(...[titles, ...cells].map((row) => (row[column] ?? title).length)),
  )
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return [line(titles), widths.map((width) => '-'.repeat(width)).join('  '), ...cells.map(line)].join('\n')
}

function sayAim({ atLeast, atMost }: Aim, unit: string): string {
  const least = atLeast === undefined ? [] : [`at least ${atLeast}${unit}`]
  return [...least, ...(atMost === undefined ? [] : [`at most ${atMost}${unit}`])].join(', ')
}

function shown(figure: number): string {
  return Math.abs(figure) >= 100 ? figure.toFixed(0) : Math.abs(figure) >= 10 ? figure.toFixed(1) : figure.toFixed(2)
}

export const rate = (perSecond: number) => `${perSecond.toFixed(0)}/s`
/** Of several rounds: the rate, and what each request takes of the processors, which others on the machine change less. */
export function paceOf(results: readonly Measured[]): string {
  const [perSecond, usEach] = [median(ratesOf(results)), median(results.map((one) => one.usEach))]
  return `${rate(perSecond)}, ${usEach.toFixed(0)} µs`
}

export function ratesOf(results: readonly Measured[]): number[] {
  return results.map(({ perSecond }) => perSecond)
}

export const ms = (figure: number) => `${figure.toFixed(1)} ms`
export const mb = (figure: number) => `${figure.toFixed(0)} MB`
