// What a terminal shows of others' words: rows below each other, facts, and a text as one word for a shell.
import { visibleLine } from '../core/visible.js'
import { quote } from '../program.js'
import { columnsOf, padEnd } from './columns.js'

/** Whatever the cells hold, each row is one line. */
export function table(head: string[], rows: string[][]): string {
  return layOut([head, ...rows.map((row) => row.map(visibleLine))])
}

/** The same of cells that are fit to be shown. */
export function layOut(rows: string[][]): string {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, columnsOf(cell))))
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => padEnd(cell, widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/**
 * As one word that a shell takes as it stands: what an agent wrote may have line breaks in it, or what nobody can see, and has
 * to be given back to the program exactly.
 */
export function shellWord(text: string): string {
  return visibleLine(text) === text ? quote(text) : `$'${[...text].map(escapeForShell).join('')}'`
}

function escapeForShell(character: string): string {
  if (character === "'" || character === '\\') return `\\${character}`
  if (/[ -~]/.test(character)) return character
  const code = character.codePointAt(0)!.toString(16)
  // At full length: digits that follow would belong to a shorter one.
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`
}
