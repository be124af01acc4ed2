// The commands beside serving: keys and people, over the database's own socket; backups and rules, which need no service.
import { existsSync, realpathSync } from 'node:fs'
import { request } from 'node:http'
import { chatIdPattern, flawOfName, maxExpirySeconds, maxOverlapSeconds, readKeyId } from '../access/key.js'
import { roles } from '../access/role.js'
import type { Order } from '../command.js'
import { type Config, ConfigProblems, mayBeOpen } from '../config.js'
import { inert } from '../core/json.js'
import { visibleLine } from '../core/visible.js'
import { localSocket } from '../listen.js'
import { createPolicy } from '../policy/rules.js'
import { type NameCommand, plainCommand } from '../program.js'
import type { KeyList, MadeKey, Person, PersonList } from '../routes/answers.js'
import { loadRules, readText } from '../rules.js'
import { isMarked } from '../store/sqlite/marker.js'
import { checkRules, explainAction, flawOfDetails } from './policy.js'

/** The command cannot be carried out; the message says why. */
export class OrderRefused extends Error {
  override name = 'OrderRefused'
}

/** The answer is one of ours, so its shape is that of the route. */
type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>

/** What was asked for goes one way, words about it another. */
export interface Output {
  print(text: string): void
  tell(text: string): void
  /** What is true for a moment, on a terminal alone. */
  show?(text: string): void
}

const standard: Output = {
  print: (text) => void process.stdout.write(`${text.trimEnd()}\n`),
  tell: (text) => void process.stderr.write(`${text}\n`),
  ...(process.stderr.isTTY ? { show: (text) => void process.stderr.write(`\r${text}\x1b[K`) } : {}),
}

/** Answers the exit code. */
export async function carryOut(
  order: Order,
  config: Config,
  output: Output = standard,
  nameCommand: NameCommand = plainCommand,
): Promise<number> {
  const { print, tell } = output
  const { name, argument, options } = order
  switch (name) {
    case 'policy check': {
      const { ok, text } = checkRules(readText(argument), argument)
      print(text)
      return ok ? 0 : 1
    }
    case 'policy explain': {
      const rules = config.policy === undefined ? null : loadRules(config.policy).rules
      const policy = createPolicy(rules, { rate: { max: config.rateLimit, windowMs: config.rateWindow * 1000 } })
      print(explainAction(policy, argument.trim(), readDetails(options.details)))
      return 0
    }
    case 'keys add': {
      const asked = readNewKey(options)
      await withCall(config, output, async (call) => showKey(output, await call<MadeKey>('POST', '/keys', asked)), true)
      return 0
    }
    case 'keys list':
      await withCall(config, output, async (call) =>
        listKeys(output, await call<KeyList>('GET', '/keys'), options.json === true, config, nameCommand),
      )
      return 0
    case 'keys revoke':
      await withCall(config, output, (call) => revokeKeys(output, call, argument, nameCommand))
      return 0
    case 'keys rotate': {
      const { overlap } = options
      const asked =
        overlap === undefined ? {} : { overlap_seconds: readSeconds('overlap', overlap, 0, maxOverlapSeconds) }
      await withCall(config, output, (call) => rotateKey(output, call, argument, asked, nameCommand))
      return 0
    }
    case 'people set': {
      const who = encodeURIComponent(needed(options, 'name'))
      const asked = chatsOf(options)
      const set = async (call: Call) => {
        const { name } = await call<Person>('PUT', `/people/${who}`, asked)
        tell(`${visibleLine(name)} is known.`)
      }
      await withCall(config, output, set, true)
      return 0
    }
    case 'backup':
    case 'restore': {
      // Only now: it is most of the program.
      const { makeBackup, restore } = await import('./backup.js')
      await (name === 'backup' ? makeBackup : restore)(config, argument, output)
      return 0
    }
    case 'people list':
      await withCall(config, output, async (call) =>
        listPeople(output, await call<PersonList>('GET', '/people'), options.json === true),
      )
      return 0
  }
}

// -- keys and people -----------------------------------------------------------------------------------------------------

function readNewKey(options: Order['options']) {
  const expires = options['expires-in']
  const { name, role, end, chats } = readAll({
    name: () => needed(options, 'name'),
    role: () => readRole(needed(options, 'role')),
    end: () =>
      expires === undefined ? {} : { expires_in_seconds: readSeconds('expires-in', expires, 1, maxExpirySeconds) },
    chats: () => chatsOf(options),
  })
  return { name, role, ...end, ...chats }
}

/** What each of these reads. All that is wrong with them is said at once. */
function readAll<T extends Record<string, () => unknown>>(reads: T): { [K in keyof T]: ReturnType<T[K]> } {
  const problems: string[] = []
  const entries = Object.entries(reads).map(([name, read]) => {
    try {
      return [name, read()]
    } catch (error) {
      if (!(error instanceof ConfigProblems)) throw error
      problems.push(...error.problems)
      return [name, undefined]
    }
  })
  if (problems.length > 0) throw new ConfigProblems(problems)
  return Object.fromEntries(entries) as { [K in keyof T]: ReturnType<T[K]> }
}

function readRole(text: string): string {
  if (!(roles as readonly string[]).includes(text)) throw wrong('role', `must be one of ${roles.join(', ')}`)
  return text
}

async function revokeKeys({ tell }: Output, call: Call, which: string, nameCommand: NameCommand): Promise<void> {
  for (const { id } of await findKeys(call, which, nameCommand)) {
    const { name } = await call<KeyList['keys'][number]>('DELETE', `/keys/${id}`)
    tell(`Key ${id} of ${visibleLine(name)} is revoked.`)
  }
}

async function rotateKey(
  output: Output,
  call: Call,
  which: string,
  asked: { overlap_seconds?: number },
  nameCommand: NameCommand,
): Promise<void> {
  const found = await findKeys(call, which, nameCommand)
  // One that was rotated before has its place taken; it goes by itself.
  const [first, ...others] = found.length === 1 ? found : found.filter(({ replaced_by }) => replaced_by === null)
  if (first === undefined)
    throw new OrderRefused(`All keys of ${which} were rotated before; add another: ${nameCommand('keys add')}`)
  if (others.length > 0)
    throw new OrderRefused(`${which} has several keys; say which by its id: ${nameCommand('keys list')}`)
  const made = await call<MadeKey>('POST', `/keys/${first.id}/rotate`, asked)
  showKey(output, made)
  const { id, expires_at_iso } = made.replaces!
  output.tell(`The old key ${id} is good until ${expires_at_iso!}.`)
}

/** By id, or those of a name that are good still. */
async function findKeys(call: Call, which: string, nameCommand: NameCommand): Promise<KeyList['keys']> {
  const { keys } = await call<KeyList>('GET', '/keys')
  // Whoever pastes the whole key means that one. It is not repeated, nor is what may be half of one.
  const id = readKeyId(which) ?? which
  const found = keys.filter((key) => key.id === id || (key.name === which && key.state === 'live'))
  if (found.length > 0) return found
  const shown = /^[0-9a-f]{12}$/.test(id)
    ? id
    : flawOfName(which) === null && !which.startsWith('hpk_')
      ? `of ${which}`
      : 'like that'
  const nothing = keys.some(({ name }) => name === which)
    ? `${which} has no key that is good still`
    : `There is no key ${shown}`
  throw new OrderRefused(`${nothing}; to see those there are: ${nameCommand('keys list')}`)
}

/** The key alone on standard output, for whoever takes it from there. */
function showKey({ print, tell }: Output, { key, id, name, role, expires_at_iso }: MadeKey): void {
  const end = expires_at_iso === null ? '' : `, good until ${expires_at_iso}`
  tell(`Key ${id} for ${visibleLine(name)}, ${role}${end}. Keep it now: it is not shown again.`)
  print(key)
}

function listKeys(
  { print, tell }: Output,
  answer: KeyList,
  isJson: boolean,
  config: Config,
  nameCommand: NameCommand,
): void {
  if (isJson) return print(inert(JSON.stringify(answer.keys, null, 2)))
  if (answer.count === 0) {
    const isOpen = mayBeOpen(config) && !isMarked(realpathSync(config.dbPath))
    const means = 'unless it runs with --auth keys, the service is open to everyone on this machine'
    const make = nameCommand('keys add --name NAME --role admin')
    return tell(`There is no key: ${isOpen ? `${means}.` : `nobody is let in. Make one: ${make}`}`)
  }
  const rows = answer.keys.map((key) => [
    key.id,
    key.name,
    key.role,
    key.state,
    key.created_at_iso,
    key.revoked_at_iso ?? key.expires_at_iso ?? '',
  ])
  print(table(['ID', 'NAME', 'ROLE', 'STATE', 'CREATED', 'ENDS'], rows))
}

function listPeople({ print }: Output, answer: PersonList, isJson: boolean): void {
  if (isJson) return print(inert(JSON.stringify(answer.people, null, 2)))
  const rows = answer.people.map((one) => [one.name, one.telegram_id ?? '', one.discord_id ?? ''])
  print(table(['NAME', 'TELEGRAM', 'DISCORD'], rows))
}

function table(head: string[], rows: string[][]): string {
  const all = [head, ...rows.map((row) => row.map(visibleLine))]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function chatsOf({ telegram, discord }: Order['options']) {
  return {
    ...(telegram === undefined ? {} : { telegram_id: readChatId('telegram', telegram) }),
    ...(discord === undefined ? {} : { discord_id: readChatId('discord', discord) }),
  }
}

/** Null takes away what there is. */
function readChatId(option: string, text: string | true): string | null {
  if (text === 'none') return null
  if (typeof text === 'string' && chatIdPattern.test(text)) return text
  throw wrong(option, "must be a person's id, 1 to 32 digits, or none to remove it; a group is nobody")
}

function wrong(option: string, flaw: string): ConfigProblems {
  return new ConfigProblems([`--${option}: ${flaw}`])
}

function needed(options: Order['options'], name: string): string {
  const value = options[name]
  if (typeof value !== 'string') throw wrong(name, 'is needed; see --help')
  return value
}

const units: Partial<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function readSeconds(option: string, text: string | true, min: number, max: number): number {
  const [, number, unit] = /^(\d+)([smhd]?)$/.exec(String(text)) ?? []
  if (number === undefined) throw wrong(option, 'must be a time as 90d, 12h, 30m or a number of seconds')
  const seconds = Number(number) * (units[unit || 's'] ?? 1)
  if (seconds < min || seconds > max) throw wrong(option, `must be from ${min}s to ${max / units.d!}d`)
  return seconds
}

function readDetails(text: string | true | undefined): string {
  const details = text === undefined ? '{}' : String(text)
  const flaw = flawOfDetails(details)
  if (flaw !== null) throw wrong('details', flaw)
  return details
}

// -- the way there -------------------------------------------------------------------------------------------------------

/** Through the running service if there is one; else the database is opened for as long as it takes. */
async function withCall(
  config: Config,
  { tell }: Output,
  use: (call: Call) => Promise<void>,
  mayCreate = false,
): Promise<void> {
  if (!mayCreate && !existsSync(config.dbPath)) {
    throw new OrderRefused(`There is no database ${config.dbPath}; say --db-path as the service does.`)
  }
  const path = localSocket(config.dbPath)
  if (path !== null && (await answers(path))) return use(callOver(path))
  if (mayCreate) tell(`No service runs on ${config.dbPath}: what is asked for is written there, for one that will.`)
  // Only now: it is most of the program.
  const { withService } = await import('./service.js')
  await withService(config, (socket) => use(callOver(socket)))
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request({ socketPath: path, path: '/keys', method: 'HEAD' }, (response) => {
      response.resume()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
    probe.end()
  })
}

function callOver(socketPath: string): Call {
  return async <T>(method: string, path: string, body?: unknown) => {
    const payload = body === undefined ? '' : JSON.stringify(body)
    const headers =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }
    const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = request({ socketPath, path, method, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      sent.once('error', reject)
      sent.end(payload)
    })
    const answer = JSON.parse(text) as { error?: string }
    if (status >= 400) throw new OrderRefused(answer.error ?? `The service answered ${status}.`)
    return answer as T
  }
}
