// sessions gc: shows what would go, asks, and removes it, with its progress on a terminal.
import type { GivenCommand } from '../command.js'
import { inert } from '../core/json.js'
import type { Collected, Collecting } from '../routes/answers.js'
import { collectRules, settingBounds } from '../sessions/collect.js'
import { type Context, readAll, wrong } from './key-commands.js'
import { type Call, withCall } from './local-call.js'
import { CommandRefused, type Output } from './output.js'
import { table } from './table.js'

type Options = GivenCommand['options']
type ByRule = NonNullable<Collected['by_rule']>
type Doomed = NonNullable<Collected['sessions']>[number]

const pollMs = 200
const barWidth = 30

/** False: it was asked, and the answer is no. */
export async function collectSessions({ given, config, output }: Context): Promise<boolean> {
  const { options } = given
  const asked = readSettings(options)
  const isDry = options['dry-run'] === true
  if (!isDry && options.yes !== true && output.ask === undefined) {
    const why = 'This removes sessions, and here nobody can be asked whether it shall'
    throw new CommandRefused(`${why}: add --yes, or --dry-run to see what would go.`)
  }
  let isDone = true
  await withCall(config, output, async (call) => {
    if (isDry) await showPlan(output, call, asked, options.json === true)
    else isDone = await remove(output, call, asked, options)
  })
  return isDone
}

function readSettings(options: Options): Record<string, unknown> {
  const { min, max } = settingBounds.maxAgeDays
  return readAll({
    empty_hours: () => readWhole(options, 'empty-hours', settingBounds.emptyHours),
    trivial_max: () => readWhole(options, 'trivial-max', settingBounds.trivialMax),
    trivial_days: () => readWhole(options, 'trivial-days', settingBounds.trivialDays),
    max_age_days: () =>
      options['max-age-days'] === 'off'
        ? null
        : readWhole(options, 'max-age-days', settingBounds.maxAgeDays, `from ${min} to ${max}, or off`),
    source: () => options.source,
  })
}

/** Undefined: it is left to the service, as what it takes for usual. */
function readWhole(
  options: Options,
  option: string,
  { min, max }: { min: number; max: number },
  range = `from ${min} to ${max}`,
): number | undefined {
  const text = options[option]
  if (text === undefined) return undefined
  const number = /^\d{1,9}$/.test(String(text)) ? Number(text) : NaN
  if (!(number >= min && number <= max)) throw wrong(option, `must be a whole number ${range}`)
  return number
}

async function showPlan(output: Output, call: Call, asked: object, isJson: boolean): Promise<void> {
  const { sessions, total, by_rule } = await readPlan(call, asked)
  if (isJson) return output.print(inert(JSON.stringify({ total, by_rule, sessions }, null, 2)))
  if (total > 0) output.print(table(head, sessions.map(rowOf)))
  output.tell(total === 0 ? nothing : `${sayCounts(by_rule)} would go. Nothing was removed.`)
}

const nothing = 'There is nothing to remove.'
const head = ['RULE', 'SESSION', 'KEY', 'REQUESTER', 'MESSAGES', 'LAST ACTIVE', 'CURRENT']

function rowOf(one: Doomed): string[] {
  const { rule, id, session_key, requester, messages, last_active_at_iso, is_current } = one
  return [rule, id, session_key, requester, String(messages), last_active_at_iso, is_current ? 'yes' : 'no']
}

/** All of it, page by page. */
async function readPlan(call: Call, asked: object) {
  const ask = (more: object) => call<Collected>('POST', '/sessions/gc', { ...asked, dry_run: true, ...more })
  let page = await ask({})
  const { total, by_rule } = page
  const sessions: Doomed[] = [...page.sessions!]
  while (page.next_cursor != null) {
    page = await ask({ cursor: page.next_cursor })
    for (const one of page.sessions!) sessions.push(one)
  }
  return { total: total!, by_rule: by_rule!, sessions }
}

async function remove(output: Output, call: Call, asked: object, options: Options): Promise<boolean> {
  if (options.yes !== true) {
    const { total, by_rule } = await call<Collected>('POST', '/sessions/gc', { ...asked, dry_run: true })
    if (total === 0) {
      output.tell(nothing)
      return true
    }
    const answer = await output.ask!(`Remove ${sayCounts(by_rule!)}? [y/N] `)
    if (answer === null || !/^\s*y(es)?\s*$/i.test(answer)) {
      output.tell('Nothing was removed.')
      return false
    }
  }
  const { total, by_rule } = await withProgress(output, call, () => call<Collected>('POST', '/sessions/gc', asked))
  if (options.json === true) output.print(JSON.stringify({ total, by_rule }, null, 2))
  output.tell(total === 0 ? nothing : `Removed ${sayCounts(by_rule!)}.`)
  return true
}

/** `12 sessions: 7 empty, 5 trivial` */
function sayCounts(byRule: ByRule): string {
  const total = collectRules.reduce((sum, rule) => sum + byRule[rule], 0)
  const parts = collectRules.filter((rule) => byRule[rule] > 0).map((rule) => `${byRule[rule]} ${rule}`)
  return `${total} ${total === 1 ? 'session' : 'sessions'} (${parts.join(', ')})`
}

async function withProgress<T>({ show }: Output, call: Call, work: () => Promise<T>): Promise<T> {
  if (show === undefined) return work()
  let isOver = false
  let isShown = false
  const working = work().finally(() => (isOver = true))
  const watch = async () => {
    while (!isOver) {
      await Promise.race([working.catch(() => {}), new Promise((resolve) => setTimeout(resolve, pollMs))])
      if (isOver) return
      const { under_way: step } = await call<Collecting>('GET', '/sessions/gc/progress')
      if (step === null || isOver) continue
      isShown = true
      show(barOf(step.gone, step.planned))
    }
  }
  // How far it is matters less than that it is done.
  const watching = watch().catch(() => {})
  try {
    return await working
  } finally {
    await watching
    if (isShown) show('')
  }
}

function barOf(done: number, total: number): string {
  const filled = Math.floor((barWidth * done) / total)
  return `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${Math.floor((100 * done) / total)} %, ${done} of ${total}`
}
