// hook: what a host says of a tool call goes to the service, and its answer back, in the form of the host. A host is told yes where
// the service said exactly that, and in time; everything else is a no.
import { isUtf8 } from 'node:buffer'
import { fstatSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldpointError, Invalid, Refused, Unreachable } from '../client/errors.js'
import { createHttp, type Http } from '../client/http.js'
import { ConfigProblems, type HookCommand, readRemote } from '../command.js'
import type { Config } from '../config/schemas.js'
import { findAmbiguity, sayAmbiguity } from '../core/ambiguity.js'
import { shortLine } from '../core/cut.js'
import { inert } from '../core/json.js'
import { asSentence } from '../core/sentence.js'
import { claudeCode } from '../hooks/claude-code-command.js'
import { codex } from '../hooks/codex.js'
import {
  type Heard,
  type HookBody,
  type Host,
  isObject,
  readVerdict,
  type Spoken,
  type Verdict,
} from '../hooks/command-answer.js'
import { generic } from '../hooks/generic.js'
import { hermes } from '../hooks/hermes.js'
import { type HostName, waits } from '../hooks/waits.js'
import { ending, endHook } from './hook-end.js'
import { CommandRefused } from './output.js'
import { findPlace, sayPlace } from './place.js'

const hosts: Record<HostName, Host> = { 'claude-code': claudeCode, codex, hermes, generic }

/** Where it runs. Time is that of the process, which the host waits for. */
export interface Around {
  stdin: AsyncIterable<Uint8Array>
  env: Partial<Record<string, string>>
  flags: ReadonlyMap<string, string>
  /** Milliseconds since the process began. */
  now: () => number
  pause: (ms: number) => Promise<unknown>
}

/** With what a tool answered; more is not read. */
const maxHeard = 32 * 1024 * 1024
/** The service takes no larger body. */
const maxSent = 1024 * 1024
/** A decision takes a few hundred bytes. */
const maxAnswer = 256 * 1024
/** The host has written when it waits, so this is generous. */
const hearMs = 10_000
/** An outcome decides nothing, so nobody waits for it for longer. */
const outcomeMs = 10_000
/** The host hears the answer, and its own clock began before ours; of a short wait it is a fifth. */
const marginMs = 5000
/** A restart of the service takes less than these together. */
const pausesMs = [200, 400, 800, 1600]
/** So long nobody reads on. */
const maxReason = 4000

/** Ends the process. */
export async function runHook(given: HookCommand, flags: Around['flags'], env: Around['env']): Promise<never> {
  const host = hosts[hostOf(given)]
  try {
    if (host.opening !== undefined) write(1, host.opening)
    say(await answerHook(given, { stdin: process.stdin, env, flags, now: () => performance.now(), pause: sleep }))
  } catch (error) {
    endHook(`The Holdpoint hook broke: ${(error as Error).message}.`)
  }
}

function hostOf({ name }: HookCommand): HostName {
  return name.slice('hook '.length) as HostName
}

/** What the host is told, in one way or, where that cannot be said, in the next. */
export async function answerHook(given: HookCommand, around: Around): Promise<[Spoken, ...Spoken[]]> {
  const host = hosts[hostOf(given)]
  const deny = (reason: string, id: string | null = null) =>
    host.deny(plain(reason) || 'Holdpoint did not approve this.', id)
  try {
    const deadline = readDeadline(given)
    const heard = await hear(host, given, around, deadline)
    if (heard.kind === 'unclear') return deny(`Holdpoint was not asked: ${heard.why} So this call was not approved.`)
    if (heard.kind === 'outcome') {
      ending.code = 0
      return [await tellOutcome(heard.body, host, given, around, deadline)]
    }
    const verdict = await decide(heard.body, await openHttp(given, around), deadline, around)
    const { isAllowed, reason, id } = verdict
    if (!isAllowed) return deny(reason, id)
    return [host.allow({ ...verdict, reason: plain(reason) }), ...deny('The approval could not be told.', id)]
  } catch (error) {
    return deny(`${sayFailure(error)} So this call was not approved.`)
  }
}

// -- what the host says --------------------------------------------------------------------------------------------------

/** Milliseconds of the process by which the host has been answered. */
function readDeadline(given: HookCommand): number {
  const { usual, most } = waits[hostOf(given)]
  const text = (given.options.timeout as string | undefined) ?? String(usual)
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (seconds < 1 || seconds > most) throw new ConfigProblems([`--timeout: must be a whole number from 1 to ${most}`])
  return seconds * 1000 - Math.min(marginMs, seconds * 200)
}

async function hear(host: Host, given: HookCommand, { stdin, now }: Around, deadline: number): Promise<Heard> {
  const bytes = await readBytes(stdin, Math.min(hearMs, deadline) - now())
  if (typeof bytes === 'string') return { kind: 'unclear', why: bytes }
  const text = isUtf8(bytes) ? bytes.toString('utf8') : ''
  const said = parse(text)
  if (!isObject(said)) return { kind: 'unclear', why: 'Standard input is not the JSON object of a hook.' }
  const heard = host.hear(said, given.options.outcome as string | undefined)
  // What the tool answered is not sent on, so its numbers may be as they like; a name twice may make an outcome of a call.
  const ambiguity = findAmbiguity(text, () => heard.kind === 'outcome')
  return ambiguity === null ? heard : { kind: 'unclear', why: sayAmbiguity(ambiguity, 'the call') }
}

/** All that comes, or what is wrong with it. */
async function readBytes(stdin: AsyncIterable<Uint8Array>, withinMs: number): Promise<Buffer | string> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reading = (async () => {
    for await (const chunk of stdin) {
      size += chunk.length
      if (size > maxHeard) return 'Standard input is larger than 32 MiB.'
      chunks.push(chunk)
    }
    return Buffer.concat(chunks, size)
  })()
  const isLate = new AbortController()
  const late = sleep(Math.max(0, withinMs), 'Standard input did not end in time.', { signal: isLate.signal })
  late.catch(() => {})
  try {
    return await Promise.race([reading, late])
  } finally {
    isLate.abort()
    reading.catch(() => {})
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

// -- what the service says -----------------------------------------------------------------------------------------------

async function openHttp(given: HookCommand, { env, flags }: Around): Promise<Http> {
  const remote = readRemote(env)
  const isPlaceKnown = given.options.url !== undefined || remote.url !== undefined
  const config = isPlaceKnown ? null : await readConfig(flags, env)
  const place = findPlace(given.options, remote, () => config!)
  try {
    return createHttp(place, { maxBytes: maxAnswer })
  } catch (error) {
    throw error instanceof Invalid ? sayPlace(given.options, error.message) : error
  }
}

async function readConfig(flags: Around['flags'], env: Around['env']): Promise<Config> {
  // Only now: with the schemas of all settings, it takes longer to load than all the rest.
  const { readSettings } = await import('../config/sources.js')
  const { config, problems } = readSettings(flags, env)
  if (problems.length > 0) throw new ConfigProblems(problems.map(({ text }) => text))
  return config as Config
}

async function decide(body: HookBody, http: Http, deadline: number, around: Around): Promise<Verdict> {
  const { status, headers, body: answer } = await post(http, body, deadline, around)
  return readVerdict(status, answer, idOf(headers['confirmation-id']))
}

/** As ids are; whatever else stands there is none. */
function idOf(text: string | undefined): string | null {
  return text !== undefined && /^[\w-]{1,100}$/.test(text) ? text : null
}

async function tellOutcome(
  body: HookBody | null,
  host: Host,
  given: HookCommand,
  around: Around,
  deadline: number,
): Promise<Spoken> {
  if (body === null) return host.acknowledge
  try {
    const until = Math.min(deadline, around.now() + outcomeMs)
    await post(await openHttp(given, around), body, until, around)
    return host.acknowledge
  } catch (error) {
    return { ...host.acknowledge, stderr: `${plain(`The outcome was not recorded: ${sayFailure(error)}`)}\n` }
  }
}

/**
 * Asks until there is an answer: a service that is away may be starting. Whoever asks again for the same call joins what waits,
 * so that nobody is asked twice.
 */
async function post(http: Http, body: HookBody, deadline: number, { now, pause }: Around) {
  if (Buffer.byteLength(JSON.stringify(body)) > maxSent) throw new TooLarge()
  for (let failures = 0; ;) {
    const began = now()
    const left = deadline - began
    if (left < 1) throw new Late()
    try {
      const query = { timeout: Math.max(1, Math.floor(left / 1000)) }
      const answer = await http.call<unknown>('POST', '/hooks/claude-code', { query, body, timeoutMs: left })
      // The machine may have slept meanwhile, and the host may listen no more.
      if (now() >= deadline) throw new Late()
      return answer
    } catch (error) {
      if (!(error instanceof Unreachable) || !error.mayPass) throw error
      // It had been there.
      if (now() - began > 2000) failures = 0
      const ms = pausesMs[failures]
      failures += 1
      if (ms === undefined || now() + ms >= deadline) throw error
      await pause(ms)
    }
  }
}

class TooLarge extends Error {
  override message = 'This call is larger than 1 MiB, which Holdpoint does not take.'
}

class Late extends Error {
  override message = 'The time of this hook was up before Holdpoint had answered.'
}

/** For the agent and for the person behind it. */
function sayFailure(error: unknown): string {
  if (error instanceof Refused) return `Holdpoint refused the hook (${error.status} ${error.code}): ${error.message}`
  if (error instanceof Unreachable) return error.message
  const isSentence = [ConfigProblems, CommandRefused, HoldpointError, TooLarge, Late].some(
    (kind) => error instanceof kind,
  )
  return isSentence
    ? asSentence((error as Error).message)
    : `The Holdpoint hook broke: ${asSentence((error as Error).message)}`
}

// -- what the host is told -----------------------------------------------------------------------------------------------

/** Text of others on one line, without what steers a terminal. What the service has made so already is left as it is. */
function plain(text: string): string {
  const line = text.trim()
  return line.length <= maxReason && /^[ -~]*$/.test(line) ? line : shortLine(line, maxReason)
}

/** Ends the process. Where nothing of it can be said, the exit code still is a no. */
function say(ways: readonly Spoken[]): never {
  for (const { stdout, stderr, code, isInWords = false } of ways) {
    try {
      if (isInWords && isNowhere(1)) continue
      if (stdout !== '') write(1, `${inert(stdout)}\n`)
      if (stderr !== '') write(2, stderr)
      ending.isAnswered = true
      process.exit(code)
    } catch {
      // The next way, then.
    }
  }
  ending.isAnswered = true
  return process.exit(ending.code)
}

/** As /dev/null: whoever chose it does not read. */
function isNowhere(to: number): boolean {
  return fstatSync(to).isCharacterDevice() && !process.stdout.isTTY
}

function write(to: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length;) at += writeSync(to, bytes, at)
}
