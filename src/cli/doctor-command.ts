// The doctor's report: on standard output, or in a new file.
import { existsSync, writeFileSync } from 'node:fs'
import { ConfigProblems, defaultLogLines, type GivenCommand, maxLogLines } from '../command.js'
import type { ReadSettings } from '../config/sources.js'
import { inert } from '../core/json.js'
import { counted } from '../core/length.js'
import { type Machine, makeReport } from '../doctor/report.js'
import { reportText } from '../doctor/report-text.js'
import type { NameCommand } from '../program.js'
import { CommandRefused, createOutput, type Output } from './output.js'

export interface ReportAsked {
  given: GivenCommand
  read: ReadSettings
  warnings: string[]
}

/** Answers the exit code: 1 if there are problems. */
export async function report(
  { given, read, warnings }: ReportAsked,
  nameCommand: NameCommand,
  output: Output = createOutput(),
  machine?: Machine,
): Promise<number> {
  const lines = readLines(given.options.lines)
  const file = given.options.output as string | undefined
  if (file !== undefined && existsSync(file)) throw taken(file)
  const progress = (text: string) => output.show?.(text)
  const made = await makeReport({ read, warnings, lines, nameCommand, progress }, machine)
  progress('')
  const text = given.options.json === true ? inert(JSON.stringify(made, null, 2)) : reportText(made)
  if (file === undefined) output.print(text)
  else {
    write(file, text)
    const found = made.problems.length === 0 ? 'no problems found' : counted(made.problems.length, 'problem')
    output.tell(`The report is in ${file}: ${found}.`)
  }
  return made.problems.length === 0 ? 0 : 1
}

function readLines(text: string | true | undefined): number {
  if (text === undefined) return defaultLogLines
  const lines = /^\d{1,6}$/.test(String(text)) ? Number(text) : Infinity
  if (lines <= maxLogLines) return lines
  throw new ConfigProblems([`--lines: must be a whole number from 0 to ${maxLogLines}`])
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, `${text}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw taken(file)
    throw new CommandRefused(
      `Cannot write the report to ${file}: ${message}. Check that the folder exists and is writable.`,
    )
  }
}

function taken(file: string): CommandRefused {
  return new CommandRefused(`${file} exists, and is not overwritten. Choose another name.`)
}
