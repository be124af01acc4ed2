// A text as a QR code for a terminal.
import { encode } from 'uqr'

/** Two rows of modules to a line. Black on white whatever the terminal's colours are, with the margin that readers need. */
export function qrCode(text: string): string {
  const { data, size } = encode(text, { ecc: 'L', border: 4 })
  const isDark = (row: number, column: number) => data[row]?.[column] === true
  const lines: string[] = []
  for (let row = 0; row < size; row += 2) {
    let line = ''
    for (let column = 0; column < size; column++) {
      line += blocks[(isDark(row, column) ? 1 : 0) + (isDark(row + 1, column) ? 2 : 0)]!
    }
    lines.push(`${blackOnWhite}${line}${plain}`)
  }
  return lines.join('\n')
}

/** By what is dark: nothing, the upper half, the lower, both. */
const blocks = [' ', '▀', '▄', '█']
const blackOnWhite = '\u001b[38;5;16;48;5;231m'
const plain = '\u001b[0m'
