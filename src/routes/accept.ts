// Which of the forms of an answer a client would rather have (RFC 9110, section 12.5.1).

/** Whether it prefers text/plain to JSON. With no word on it, or the same on both, it does not. */
export function prefersText(accept: string | undefined): boolean {
  const ranges = (accept ?? '*/*').toLowerCase().split(',').map(readRange)
  return qualityOf('text/plain', ranges) > qualityOf('application/json', ranges)
}

interface Range {
  type: string
  quality: number
}

function readRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim())
  const quality = parameters.find((one) => /^q *=/.test(one))?.replace(/^q *= */, '') ?? '1'
  return { type, quality: /^[01](\.\d{0,3})?$/.test(quality) ? Math.min(1, Number(quality)) : 0 }
}

/** Of the range that names it most closely; 0 if none does. */
function qualityOf(type: string, ranges: Range[]): number {
  const names = [type, `${type.split('/', 1)[0]!}/*`, '*/*']
  const found = names.map((name) => ranges.find((range) => range.type === name)).find((range) => range !== undefined)
  return found?.quality ?? 0
}
