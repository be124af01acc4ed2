// Cells of a CSV file: inert in a spreadsheet, however its lines are split, and all of it can be undone.
import fc from 'fast-check'
import t from 'tap'
import { jsonCell, maxCell, textCell } from '../../src/core/csv.js'
import { tricky } from './tricky.js'

/** As the documents say it. */
function undo(cell: string): string {
  const inside = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
  return JSON.parse(`"${inside.replaceAll('"', '\\"')}"`) as string
}

/** What a spreadsheet makes of a line: it splits where nothing is quoted, and quotes count at the beginning of a cell alone. */
function split(line: string, separator: string): string[] {
  const cells: string[] = []
  let at = 0
  for (;;) {
    let cell = ''
    if (line[at] === '"') {
      for (at += 1; at < line.length; at++) {
        if (line[at] !== '"') cell += line[at]
        else if (line[at + 1] === '"') cell += line[(at += 1)]
        else break
      }
      at += 1
    }
    const end = line.indexOf(separator, at)
    cells.push(cell + line.slice(at, end < 0 ? undefined : end))
    if (end < 0) return cells
    at = end + 1
  }
}

const isFormula = (cell: string) => /^[\s'"]*[=+\-@\t\r]/.test(cell.normalize('NFKC'))

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: fc.constantFrom(...'=+-@;,"\' \\\t\r\n\u00a0\uff1du1'), maxLength: 30 }),
  tricky.filter((one) => one.isWellFormed()),
)

t.test('each text can be read back, stands on one line, and is no formula, whichever way the line is split', (t) => {
  fc.assert(
    fc.property(text, text, (one, other) => {
      const [first, second] = [textCell(one), textCell(other)]
      if (undo(first.text) !== one) throw new Error(`${first.text} is not ${JSON.stringify(one)}`)
      const line = `019b,${first.text},${second.text}`
      if (/[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff]/.test(line))
        throw new Error(`unseen in ${JSON.stringify(line)}`)
      if (split(line, ',').length !== 3) throw new Error(`not three cells: ${line}`)
      for (const separator of [',', ';']) {
        const found = split(line, separator).find(isFormula)
        if (found !== undefined) throw new Error(`${JSON.stringify(found)} of ${line}`)
      }
    }),
    { numRuns: 2000 },
  )
  t.end()
})

t.test('JSON is the same JSON in its cell, and no formula where it is split', (t) => {
  fc.assert(
    fc.property(fc.dictionary(text, fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }))), (value) => {
      const { text: cell } = jsonCell(JSON.stringify(value))
      const [inside] = split(cell, ',')
      if (JSON.stringify(JSON.parse(inside!)) !== JSON.stringify(value)) throw new Error(`another value: ${cell}`)
      const found = split(`019b,${cell}`, ';').find(isFormula)
      if (found !== undefined) throw new Error(`${JSON.stringify(found)} of ${cell}`)
    }),
    { numRuns: 1000 },
  )
  t.end()
})

t.test('what a formula would begin with is escaped, and nothing else is', (t) => {
  const shown: Record<string, string> = {
    '=1+1': String.raw`"\u003d1+1"`,
    '+49 30': String.raw`"\u002b49 30"`,
    '-1': String.raw`"\u002d1"`,
    '@SUM(A1)': String.raw`"\u0040SUM(A1)"`,
    ' =1': String.raw`" \u003d1"`,
    '"=1': String.raw`"""\u003d1"`,
    "'=1": String.raw`"'\u003d1"`,
    '\uff1d1': String.raw`"\uff1d1"`,
    '\u22121': String.raw`"\u22121"`,
    '\t=1': String.raw`"\t=1"`,
    '\r\n=1': String.raw`"\r\n=1"`,
    '\u200b=1': String.raw`"\u200b=1"`,
    'a; =1': String.raw`"a; \u003d1"`,
    'a=1, b-2': '"a=1, b-2"',
    'C:\\temp': String.raw`"C:\\temp"`,
    Grüße: '"Grüße"',
    send_mail: 'send_mail',
    '': '',
  }
  for (const [text, cell] of Object.entries(shown)) t.equal(textCell(text).text, cell, JSON.stringify(text))
  t.end()
})

t.test('no character that stands for one of these begins a cell, whatever keyboard it is from', (t) => {
  for (let code = 0x21; code < 0x110000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue
    const sign = String.fromCodePoint(code)
    if (!isFormula(`${sign}1`)) continue
    for (const text of [`${sign}1`, `a;${sign}1`, ` ${sign}1`])
      if (split(`x,${textCell(text).text}`, text.includes(';') ? ';' : ',').some(isFormula)) t.fail(code.toString(16))
  }
  t.pass()
  t.end()
})

t.test('what no cell can hold is cut, between characters, and says so', (t) => {
  const whole = textCell('x'.repeat(maxCell))
  t.notOk(whole.isCut)
  t.equal(whole.text.length, maxCell + 2)
  for (const unit of ['x', 'ü', '😀', '\n', '\\', '\u202e', '=;']) {
    for (const before of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
      const long = before + unit.repeat(50_000)
      const { text, isCut } = textCell(long)
      t.ok(isCut)
      const [cell] = split(text, ',')
      t.ok(cell!.length <= maxCell, `${cell!.length} units`)
      const end = String.raw`\{cut: ${long.length} characters in all}`
      t.ok(cell!.endsWith(end))
      t.ok(cell!.length > maxCell - 6)
      const kept = undo(cell!.slice(0, -end.length))
      t.ok(kept.isWellFormed() && long.startsWith(kept) && kept.length > 5000)
    }
  }
  const said = textCell('x\\{cut: 9 characters in all}')
  t.match(said.text, /x\\\\\{cut/, 'nobody else says it')
  t.notOk(said.isCut)
  const json = jsonCell(JSON.stringify({ text: '=;"\u202e'.repeat(20_000) }))
  t.ok(json.isCut)
  t.end()
})
