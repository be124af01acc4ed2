// Lines for a terminal: pieces of text that look in some way. Whoever writes them decides whether there are colours.

export type Look = 'bold' | 'quiet' | 'good' | 'bad' | 'warning' | 'chosen'

export interface Span {
  text: string
  look?: Look
}

export type Line = Span[]

const codes: Record<Look, string> = {
  bold: '1',
  quiet: '2',
  good: '32',
  bad: '31',
  warning: '33',
  chosen: '7',
}

export function span(text: string, look?: Look): Span {
  return look === undefined ? { text } : { text, look }
}

/** As it is sent to a terminal. */
export function paint(line: Line, hasColours: boolean): string {
  if (!hasColours) return textOf(line)
  return line.map(({ text, look }) => (look === undefined ? text : `\x1b[${codes[look]}m${text}\x1b[0m`)).join('')
}

export function textOf(line: Line): string {
  return line.map(({ text }) => text).join('')
}
