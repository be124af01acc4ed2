// export: all that happened, or what of it is asked for, in a file or on standard output. What breaks off goes on by itself.
import { mayPass, pause, pauseBefore } from '../client/pause.js'
import { type Operator, Refused, Unreachable } from '../client/index.js'
import { ConfigProblems } from '../command.js'
import { counted, numbered } from '../core/length.js'
import { visibleLine } from '../core/visible.js'
import { type Asked, queryOf, readFilter } from './audit-filter.js'
import { type Format, formatOf, keyOf, notOurs, openFile, type Sink, openOutput, timeOf } from './export-rows.js'
import { type Context, readAll, wrong } from './key-commands.js'
import { CommandRefused, type Output } from './output.js'
import { explain, NotReached, withReader } from './reach.js'

/** What is said of how it is done, and not of what is asked for. */
const how = ['format', 'output', 'resume', 'force', 'url', 'key-file', 'json']
/** So long it is tried again, while nothing comes. */
const patienceMs = 60_000

interface Plan {
  asked: Asked
  format: Format
  /** Null: standard output. */
  file: string | null
  resumes: boolean
  replaces: boolean
}

/** False: nobody reads it any more. */
export async function exportAudit(context: Context): Promise<boolean> {
  const { output, given } = context
  const plan = readPlan(context)
  let isDone = true
  await withReader(context, async (operator) => {
    const query = await queryOf(plan.asked, operator)
    // As it was said: an hour ago is another time with each try.
    const words = Object.fromEntries(
      Object.entries(given.options)
        .filter(([name]) => !how.includes(name))
        .sort(),
    )
    const target = { ...plan, asked: words, key: plan.asked.isEvents ? ('seq' as const) : ('id' as const) }
    const sink = plan.file === null ? openOutput() : await openFile({ ...target, file: plan.file })
    const reading = createReading(plan, query, sink, createProgress(output, plan, query))
    try {
      await reading.run(operator)
    } catch (error) {
      reading.progress.end()
      const part = await sink.leave()
      if ((error as NodeJS.ErrnoException).code === 'EPIPE') return void (isDone = false)
      throw broken(error, part)
    }
    reading.progress.end()
    await sink.finish()
    const { rows, bytes } = reading.total()
    const { begun } = sink
    if (given.options.json === true) {
      output.print(
        JSON.stringify({ file: plan.file, format: plan.format, rows, new_rows: rows - begun.rows, bytes }, null, 2),
      )
    }
    output.tell(sayDone(plan, rows, rows - begun.rows, begun.rows > 0))
  })
  return isDone
}

function readPlan({ given: { options } }: Context): Plan {
  const { asked, file, format } = readAll({
    asked: () => readFilter(options, Date.now()),
    format: () => readFormat(options.format),
    file: () => readFile(options),
  })
  const usual = file === null ? null : formatOf(file)
  return {
    asked,
    file,
    format: format ?? usual ?? 'jsonl',
    resumes: options.resume === true,
    replaces: options.force === true,
  }
}

function readFormat(text: string | true | undefined): Format | null {
  if (text === undefined) return null
  if (text !== 'jsonl' && text !== 'csv') throw wrong('format', 'must be jsonl or csv')
  return text
}

function readFile(options: Context['given']['options']): string | null {
  const file = options.output === '-' ? undefined : (options.output as string | undefined)
  if (options.resume === true && options.force === true) {
    throw new ConfigProblems(['--resume, --force: one goes on with what is there, the other begins again'])
  }
  for (const name of ['resume', 'force', 'json']) {
    if (file === undefined && options[name] === true) throw wrong(name, 'goes with --output FILE')
  }
  return file ?? null
}

/** Nothing was changed by it, so there is nothing to look at before it is tried again. */
function broken(error: unknown, part: string | null): unknown {
  const explained = error instanceof Unreachable ? new NotReached(visibleLine(error.message)) : explain(error, false)
  if (part !== null && (explained instanceof NotReached || explained instanceof CommandRefused)) {
    explained.message += ` What came so far is in ${part}; the same with --resume goes on.`
  }
  return explained
}

function sayDone({ file, asked }: Plan, rows: number, added: number, isMore: boolean): string {
  const what = asked.isEvents ? 'event' : 'request'
  const all = counted(rows, what)
  const where = file === null ? '' : ` in ${file}`
  return isMore
    ? `${all}${where}, ${numbered(added)} of them new. Nothing is missing.`
    : `${all}${where}. Nothing is missing.`
}

const types: Record<Format, string> = { jsonl: 'application/jsonl', csv: 'text/csv' }

function notHoldpoint(): CommandRefused {
  return new CommandRefused('What answered is no export: is there a Holdpoint of this version?')
}

interface Progress {
  note(rows: number, bytes: number, row: string): void
  end(): void
}

function createReading({ asked, format }: Plan, query: Record<string, string>, sink: Sink, progress: Progress) {
  const path = asked.isEvents ? '/audit/events/export' : '/audit/export'
  const key = asked.isEvents ? 'seq' : 'id'
  const { header: oldHeader } = sink.begun
  let { rows, bytes, last } = sink.begun
  let hasHeader = oldHeader !== null

  /** All that there is after the last row, or until it breaks off. */
  async function read(operator: Operator, noteBegin: () => void): Promise<void> {
    const header = format === 'csv' ? String(!hasHeader) : undefined
    const asked = { query: { ...query, format, header, after: last }, headers: { accept: types[format] } }
    const { headers, body } = await operator.stream('GET', path, asked)
    if (headers['content-type']?.startsWith(types[format]) !== true) throw notHoldpoint()
    noteBegin()
    let rest: Uint8Array[] = []
    for await (const chunk of body) {
      const end = chunk.lastIndexOf(10) + 1
      if (end === 0) {
        rest.push(chunk)
        continue
      }
      const whole = Buffer.concat([...rest, chunk.subarray(0, end)])
      rest = end < chunk.length ? [chunk.subarray(end)] : []
      await sink.write(whole)
      bytes += whole.length
      take(whole)
      noteBegin()
    }
    if (rest.length > 0) throw notHoldpoint()
  }

  function take(whole: Buffer): void {
    let count = 0
    for (let at = whole.indexOf(10); at >= 0; at = whole.indexOf(10, at + 1)) count += 1
    const isHeader = format === 'csv' && !hasHeader
    if (isHeader) hasHeader = true
    rows += isHeader ? count - 1 : count
    if (isHeader && count === 1) return
    const from = whole.lastIndexOf(10, whole.length - 2) + 1
    const row = whole.toString('utf8', from, whole.length)
    last = keyOf(row, format, key)
    progress.note(rows, bytes, row)
  }

  /** The columns are those of another version perhaps, and then rows do not add up. */
  async function assertFits(operator: Operator): Promise<void> {
    if (oldHeader === null) return
    const headers = { accept: types[format] }
    const { body } = await operator.call<string>('GET', path, { query: { format, until: 0 }, headers })
    if (body !== oldHeader) throw notOurs()
  }

  return {
    progress,
    total: () => ({ rows, bytes }),
    async run(operator: Operator): Promise<void> {
      // Until something came for the first time, it may as well not be there at all.
      let patientUntil = 0
      for (let attempt = 0; ; attempt++) {
        try {
          await assertFits(operator)
          return await read(operator, () => {
            attempt = 0
            patientUntil = Date.now() + patienceMs
          })
        } catch (error) {
          const isBusy = error instanceof Refused && error.status === 429
          if (patientUntil === 0 && isBusy) patientUntil = Date.now() + patienceMs
          if (!mayPass(error) || Date.now() > patientUntil) throw error
          const asked = error instanceof Refused ? (error.retryAfterMs ?? 0) : 0
          await pause(Math.max(asked, pauseBefore(attempt)))
        }
      }
    },
  }
}

const barWidth = 30
const showEveryMs = 100

/** On a terminal, and where the rows themselves do not go to it. How far it is, is told by the times of the rows. */
function createProgress({ show, screen }: Output, { file, format }: Plan, query: Record<string, string>): Progress {
  if (show === undefined || (file === null && (screen?.('print') ?? null) !== null))
    return { note: () => {}, end: () => {} }
  const began = Date.now()
  const end = Math.min(began, momentIn(query.until) ?? began)
  let from = momentIn(query.since)
  let shownAt = 0
  let done = 0
  return {
    note(rows, bytes, row) {
      if (Date.now() < shownAt + showEveryMs) return
      shownAt = Date.now()
      const at = timeOf(row, format)
      from ??= at
      if (end > from && at >= from) done = Math.max(done, Math.min(1, (at - from) / (end - from)))
      const filled = Math.floor(barWidth * done)
      const bar = `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}]`
      const perSecond = (bytes / 2 ** 20 / Math.max(1, shownAt - began)) * 1000
      show(`${bar} ${Math.floor(100 * done)} %, ${counted(rows, 'row')}, ${perSecond.toFixed(1)} MB/s`)
    },
    end: () => shownAt > 0 && show(''),
  }
}

function momentIn(text: string | undefined): number | null {
  if (text === undefined) return null
  const at = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text)
  return Number.isNaN(at) ? null : at
}
