// Sessions, looked at and steered as the user who runs the service asks for it.
import { shortLine } from '../core/cut.js'
import { counted } from '../core/length.js'
import { visibleLine } from '../core/visible.js'
import type { Session, SessionPage, WholeSession } from '../routes/answers.js'
import { ConfigProblems } from '../command.js'
import { type Context, needed, wrong } from './key-commands.js'
import { type Call, withCall } from './local-call.js'
import { CommandRefused, printJson } from './output.js'
import { layOut, shellWord } from './table.js'

type Options = Context['given']['options']

export async function listSessions({ given, config, output }: Context): Promise<void> {
  const { json, suspended } = given.options
  const asked = { ...filterOf(given.options), ...(suspended === true ? { suspended: 'true' } : {}) }
  await reach({ config, output }, async (call) => {
    const found = await readAll(call, asked)
    if (json === true) return printJson(output, found)
    if (found.length > 0) return output.print(listText(found))
    output.tell(Object.keys(asked).length === 0 ? 'There is no session yet.' : 'There is no session like that.')
  })
}

export async function showSession({ given, config, output }: Context): Promise<void> {
  const { json, text } = given.options
  if (text === true && json === true) throw new ConfigProblems(['--text, --json: say one of them'])
  const path = pathOf(given)
  await reach({ config, output }, async (call) => {
    if (text === true) return output.print(await named(() => call<string>('GET', path, undefined, 'text/plain')))
    const found = await named(() => call<WholeSession>('GET', path))
    if (json === true) printJson(output, found)
    else output.print(wholeText(found))
  })
}

export async function resetSession(context: Context): Promise<void> {
  await steer(context, 'reset', {}, (session) => [sayRotation(session, 'began anew')])
}

export async function suspendSession(context: Context): Promise<void> {
  await steer(context, 'suspend', reasonOf(context.given.options), (session) => {
    const { suspended_at_iso: since, suspended_by: by } = session
    const until = 'Nothing is taken from it until it is resumed or reset.'
    return [`${nameOf(session)} is suspended since ${since!}, by ${visibleLine(by!)}. ${until}`]
  })
}

export async function resumeSession(context: Context): Promise<void> {
  await steer(context, 'resume', reasonOf(context.given.options), (session) => [
    `${nameOf(session)} is not suspended.`,
    ...(session.waits_until_iso === null ? [] : [`It has to wait until ${session.waits_until_iso}.`]),
    ...(session.streak === 0 ? [] : [`${sayStreak(session)}; an approval by a person ends that.`]),
  ])
}

export async function switchSession(context: Context): Promise<void> {
  const body = { session_id: needed(context.given.options, 'to') }
  await steer(context, 'switch', body, (session) => [sayRotation(session, 'went back')])
}

// -- asking --------------------------------------------------------------------------------------------------------------

/** The rules say how many messages there may be, and when a session is due. */
function reach({ config, output }: Pick<Context, 'config' | 'output'>, use: (call: Call) => Promise<void>) {
  return withCall(config, output, use, { needsRules: true })
}

async function steer(
  { given, config, output }: Context,
  verb: string,
  body: object,
  say: (session: Session) => string[],
): Promise<void> {
  const path = pathOf(given, `/${verb}`)
  await reach({ config, output }, async (call) => {
    const session = await named(() => call<Session>('POST', path, body))
    if (given.options.json === true) printJson(output, session)
    else output.tell(say(session).join(' '))
  })
}

/** Where several have this key, it is said how to name one of them here. */
async function named<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    const requesters = error instanceof CommandRefused ? error.problem?.requesters : undefined
    if (requesters === undefined) throw error
    const each = requesters.map((name) => `--requester ${shellWord(name)}`).join(', ')
    throw new CommandRefused(`Several requesters have a session with this key; say whose: ${each}`)
  }
}

async function readAll(call: Call, asked: Record<string, string>): Promise<Session[]> {
  const found: Session[] = []
  let next: string | null = null
  do {
    const query = new URLSearchParams({ ...asked, limit: '500', ...(next === null ? {} : { cursor: next }) })
    const page: SessionPage = await call<SessionPage>('GET', `/sessions?${query.toString()}`)
    found.push(...page.sessions)
    next = page.next_cursor
  } while (next !== null)
  return found
}

function pathOf({ argument, options }: Context['given'], verb = ''): string {
  const { requester } = options
  const query = requester === undefined ? '' : `?requester=${encodeURIComponent(String(requester))}`
  return `/sessions/${encodeURIComponent(argument)}${verb}${query}`
}

function filterOf(options: Options): Record<string, string> {
  const { platform, requester, 'active-minutes': minutes } = options
  if (minutes !== undefined && !/^[1-9]\d{0,8}$/.test(String(minutes))) {
    throw wrong('active-minutes', 'must be a whole number of minutes, from 1')
  }
  const all = { platform, requester, active_minutes: minutes }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}

function reasonOf({ reason }: Options): object {
  return reason === undefined ? {} : { reason }
}

// -- showing -------------------------------------------------------------------------------------------------------------

/** So much of a text that is only there to tell which one it is. */
const maxText = 60
const maxReason = 300

function nameOf({ session_key, requester }: Session): string {
  return `Session ${shellWord(session_key)}${requester === '' ? '' : ` of ${visibleLine(requester)}`}`
}

function sayRotation(session: Session, done: string): string {
  const { session_id, previous_id, due_since_iso } = session
  if (due_since_iso === null) {
    const before = previous_id === null || previous_id === session_id ? '' : `, before it was ${previous_id}`
    return `${nameOf(session)} ${done}: its session id is ${session_id}${before}. What was granted for it counts no more.`
  }
  return (
    `${nameOf(session)} waits for what is pending or claimed, and gets ${nextId(session)} then. What was granted for it counts ` +
    'no more.'
  )
}

function sayStreak({ streak }: Session): string {
  return `${counted(streak, 'request')} in a row ${streak === 1 ? 'was' : 'were'} denied or expired`
}

/** The key comes last, however long it is, as a word that can be given back to these commands. */
function listText(sessions: Session[]): string {
  const rows = sessions.map((one) => [
    one.last_active_at_iso,
    messagesOf(one),
    stateOf(one),
    visibleLine(one.requester),
    one.session_id,
    shellWord(one.session_key),
  ])
  return layOut([['LAST ACTIVE', 'MESSAGES', 'STATE', 'REQUESTER', 'SESSION ID', 'KEY'], ...rows])
}

function messagesOf({ messages, max_messages }: Session): string {
  return `${messages}${max_messages === null ? '' : ` of ${max_messages}`}`
}

function stateOf({ suspended, waits_until, due_since }: Session): string {
  if (suspended) return 'suspended'
  if (waits_until !== null) return 'waits'
  return due_since === null ? '' : 'due'
}

function wholeText(session: WholeSession): string {
  const { grants, pending, outcomes, earlier } = session
  return [
    layOut(factsOf(session)),
    part(
      'Grants',
      'none',
      ['ID', 'ACTION', 'UNTIL', 'USES', 'FOR', 'BY'],
      grants.map((one) => [
        one.id,
        one.action,
        one.expires_at_iso ?? 'revoked',
        `${one.uses}${one.max_uses === null ? '' : ` of ${one.max_uses}`}`,
        one.when === null && one.details === null ? 'any details' : 'some details',
        one.granted_by,
      ]),
    ),
    part(
      'Pending',
      'nothing',
      ['ID', 'ACTION', 'UNTIL', 'DESCRIPTION'],
      pending.map((one) => [one.id, one.action, one.expires_at_iso, one.description]),
    ),
    part(
      'Last outcomes',
      'none',
      ['ID', 'ACTION', 'STATUS', 'AT', 'BY', 'REASON'],
      outcomes.map((one) => [one.id, one.action, one.status, one.resolved_at_iso, one.resolved_by, one.reason ?? '']),
    ),
    part(
      'Earlier session ids, for sessions switch --to',
      'none',
      ['ID', 'BEGAN', 'ENDED', 'WHY', 'MESSAGES', 'SUBMISSIONS'],
      earlier.map((one) => [
        one.session_id,
        one.created_at_iso,
        one.ended_at_iso,
        one.reason,
        String(one.messages),
        String(one.submissions),
      ]),
    ),
  ].join('\n\n')
}

function part(title: string, none: string, head: string[], rows: string[][]): string {
  if (rows.length === 0) return `${title}: ${none}`
  const lines = layOut([head, ...rows.map((row) => row.map((cell) => shortLine(cell, maxText)))]).split('\n')
  return [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n')
}

/** What does not apply is left out. */
function factsOf(session: WholeSession): [name: string, value: string][] {
  const { fixation, remaining } = session
  const left = remaining === null ? '' : `, ${remaining} left`
  const because = session.suspended_reason === null ? '' : `: ${shortLine(session.suspended_reason, maxReason)}`
  const facts: [name: string, value: string | null][] = [
    ['Key', shellWord(session.session_key)],
    ['Requester', session.requester === '' ? null : visibleLine(session.requester)],
    ['Session id', session.session_id],
    ['Place', session.platform === null ? null : `${visibleLine(session.platform)}, ${session.chat_type!}`],
    ['Began', session.created_at_iso],
    ['Last active', session.last_active_at_iso],
    ['Messages', `${messagesOf(session)}${left}`],
    ['Submissions', String(session.submissions)],
    ['Streak', session.streak === 0 ? null : sayStreak(session)],
    [
      'Fixation',
      fixation === null || fixation.repeats < 2
        ? null
        : `${shortLine(fixation.action, maxText)}, ${fixation.repeats} times in a row with other details`,
    ],
    [
      'Suspended',
      session.suspended
        ? `since ${session.suspended_at_iso!}, by ${visibleLine(session.suspended_by!)}${because}`
        : null,
    ],
    ['Waits', session.waits_until_iso === null ? null : `until ${session.waits_until_iso}`],
    [
      'Requester waits',
      session.requester_waits_until_iso === null
        ? null
        : `until ${session.requester_waits_until_iso}, in every session`,
    ],
    [
      'Due',
      session.due_since_iso === null
        ? null
        : `since ${session.due_since_iso} (${session.due_reason!}); it gets ${nextId(session)} once nothing from before is open`,
    ],
    ['Ends', session.resets_at_iso === null ? null : `${session.resets_at_iso}, if nothing more happens`],
    [
      'Rotated',
      session.rotated_at_iso === null
        ? null
        : `${session.rotated_at_iso} (${session.rotation_reason!}); before: ${session.previous_id!}`,
    ],
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
}

function nextId({ switches_to }: Session): string {
  return switches_to === null ? 'another session id' : `the session id ${switches_to}`
}
