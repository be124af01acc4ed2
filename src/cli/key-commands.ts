// Keys and people, made, listed and ended as the user who runs the service asks for it.
import { realpathSync } from 'node:fs'
import { maxExpirySeconds, maxOverlapSeconds, readKeyId } from '../access/key.js'
import { isLoopback, mayBeOpen } from '../access/open-mode.js'
import { chatIdPatterns, problemWithName } from '../access/person.js'
import { type PersonalChat, personalChats } from '../core/model.js'
import { may, roles } from '../access/role.js'
import { ConfigProblems, type GivenCommand, type Remote } from '../command.js'
import type { Config } from '../config/schemas.js'
import { visibleLine } from '../core/visible.js'
import type { NameCommand } from '../program.js'
import type { KeyList, MadeKey, Person, PersonList, SignInLink } from '../routes/answers.js'
import { isMarked } from '../store/sqlite/marker.js'
import { type Call, withCall, withRunning } from './local-call.js'
import { CommandRefused, type Output, printJson } from './output.js'
import { table } from './table.js'

export interface Context {
  given: GivenCommand
  config: Config
  output: Output
  nameCommand: NameCommand
  remote: Remote
}
type Options = GivenCommand['options']

export async function addKey({ given, config, output }: Context): Promise<void> {
  const asked = readNewKey(given.options)
  await withCall(
    config,
    output,
    async (call) => showKey(output, await call<MadeKey>('POST', '/keys', asked), wantsJson(given)),
    {
      mayCreate: true,
    },
  )
}

export async function listKeys({ given, config, output, nameCommand }: Context): Promise<void> {
  await withCall(config, output, async (call) =>
    showKeys(output, await call<KeyList>('GET', '/keys'), wantsJson(given), config, nameCommand),
  )
}

export async function revokeKeys({ given, config, output, nameCommand }: Context): Promise<void> {
  await withCall(config, output, async (call) => {
    const revoked: KeyList['keys'] = []
    for (const { id } of await findKeys(call, given.argument, nameCommand)) {
      const key = await call<KeyList['keys'][number]>('DELETE', `/keys/${id}`)
      revoked.push(key)
      output.tell(`Key ${id} of ${visibleLine(key.name)} is revoked.`)
    }
    if (wantsJson(given)) printJson(output, revoked)
  })
}

export async function rotateKey({ given, config, output, nameCommand }: Context): Promise<void> {
  const which = given.argument
  const { overlap } = given.options
  const asked = overlap === undefined ? {} : { overlap_seconds: readSeconds('overlap', overlap, 0, maxOverlapSeconds) }
  await withCall(config, output, async (call) => {
    const found = await findKeys(call, which, nameCommand)
    // One that was rotated before has its place taken; it goes by itself.
    const [first, ...others] = found.length === 1 ? found : found.filter(({ replaced_by }) => replaced_by === null)
    if (first === undefined)
      throw new CommandRefused(`All keys of ${which} were rotated before; add another: ${nameCommand('keys add')}`)
    if (others.length > 0)
      throw new CommandRefused(`${which} has several keys; say which by its id: ${nameCommand('keys list')}`)
    const made = await call<MadeKey>('POST', `/keys/${first.id}/rotate`, asked)
    showKey(output, made, wantsJson(given))
    const { id, expires_at_iso } = made.replaces!
    output.tell(`The old key ${id} is good until ${expires_at_iso!}.`)
  })
}

export async function offerSignIn({ given, config, output, nameCommand }: Context): Promise<void> {
  await withRunning(config, 'The link leads to its pages', async (call) => {
    const found = await findKeys(call, given.argument, nameCommand)
    // The newest: it is there to stay. Those of one name are listed by age.
    const key = found.findLast((one) => may(one, 'survey'))
    if (key === undefined) {
      const whose = visibleLine(found[0]!.name)
      const make = nameCommand('keys add --name NAME --role operator')
      throw new CommandRefused(
        `${whose} has only an agent's key, and the pages are for people; to make one for a person: ${make}`,
      )
    }
    const link = await call<SignInLink>('POST', `/keys/${key.id}/sign-in-link`)
    if (wantsJson(given)) return printJson(output, link)
    const { print, tell, draw } = output
    const { url, name, role, expires_at_iso } = link
    tell(
      `A link to sign in as ${visibleLine(name)}, ${role}, with the key ${key.id}. It is good once, until ${expires_at_iso}.`,
    )
    if (isLoopback(new URL(url).hostname)) {
      tell('Only a browser on this machine can open it; for a phone, start the service with --public-url.')
    }
    if (draw !== undefined) draw((await import('./qr.js')).qrCode(url))
    print(url)
  })
}

export async function setPerson({ given, config, output }: Context): Promise<void> {
  const who = encodeURIComponent(needed(given.options, 'name'))
  const asked = chatsOf(given.options)
  const set = async (call: Call) => {
    const person = await call<Person>('PUT', `/people/${who}`, asked)
    if (wantsJson(given)) printJson(output, person)
    else output.tell(`${visibleLine(person.name)} is known.`)
  }
  await withCall(config, output, set, { mayCreate: true })
}

export async function listPeople({ given, config, output }: Context): Promise<void> {
  await withCall(config, output, async (call) =>
    showPeople(output, await call<PersonList>('GET', '/people'), wantsJson(given)),
  )
}

function readNewKey(options: Options) {
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

function wantsJson({ options }: GivenCommand): boolean {
  return options.json === true
}

/** What each of these reads. All that is wrong with them is said at once. */
export function readAll<T extends Record<string, () => unknown>>(reads: T): { [K in keyof T]: ReturnType<T[K]> } {
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

/** By id, or those of a name that are good still. */
async function findKeys(call: Call, which: string, nameCommand: NameCommand): Promise<KeyList['keys']> {
  const { keys } = await call<KeyList>('GET', '/keys')
  // A whole key that is pasted means that one. It is not repeated, nor is what may be half of one.
  const id = readKeyId(which) ?? which
  const found = keys.filter((key) => key.id === id || (key.name === which && key.state === 'live'))
  if (found.length > 0) return found
  const shown = /^[0-9a-f]{12}$/.test(id)
    ? id
    : problemWithName(which) === null && !which.startsWith('hpk_')
      ? `of ${which}`
      : 'like that'
  const nothing = keys.some(({ name }) => name === which)
    ? `${which} has no key that is good still`
    : `There is no key ${shown}`
  throw new CommandRefused(`${nothing}; to see those there are: ${nameCommand('keys list')}`)
}

/** The key alone on standard output, for the program that takes it from there. */
function showKey(output: Output, made: MadeKey, isJson: boolean): void {
  const { key, id, name, role, expires_at_iso } = made
  const end = expires_at_iso === null ? '' : `, good until ${expires_at_iso}`
  output.tell(`Key ${id} for ${visibleLine(name)}, ${role}${end}. Keep it now: it is not shown again.`)
  if (isJson) printJson(output, made)
  else output.print(key)
}

function showKeys(output: Output, answer: KeyList, isJson: boolean, config: Config, nameCommand: NameCommand): void {
  const { print, tell } = output
  if (isJson) return printJson(output, answer.keys)
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
    key.last_used_at_iso ?? 'never',
  ])
  print(table(['ID', 'NAME', 'ROLE', 'STATE', 'CREATED', 'ENDS', 'LAST USED'], rows))
}

function showPeople(output: Output, answer: PersonList, isJson: boolean): void {
  if (isJson) return printJson(output, answer.people)
  const rows = answer.people.map((one) => [one.name, one.telegram_id ?? '', one.discord_id ?? '', one.slack_id ?? ''])
  output.print(table(['NAME', 'TELEGRAM', 'DISCORD', 'SLACK'], rows))
}

function chatsOf(options: Options) {
  const given = personalChats.filter((chat) => options[chat] !== undefined)
  return Object.fromEntries(given.map((chat) => [`${chat}_id`, readChatId(chat, options[chat]!)]))
}

/** Null takes away what there is. */
function readChatId(chat: PersonalChat, text: string | true): string | null {
  if (text === 'none') return null
  if (typeof text === 'string' && chatIdPatterns[chat].test(text)) return text
  const form = chat === 'slack' ? 'as U012AB3CD' : '1 to 32 digits'
  throw wrong(chat, `must be a person's id, ${form}, or none to remove it; a group is nobody`)
}

export function wrong(option: string, problem: string): ConfigProblems {
  return new ConfigProblems([`--${option}: ${problem}`])
}

export function needed(options: Options, name: string): string {
  const value = options[name]
  if (typeof value !== 'string') throw wrong(name, 'is needed; see --help')
  return value
}

const units: Partial<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

export function readSeconds(option: string, text: string | true, min: number, max: number): number {
  const [, number, unit] = /^(\d+)([smhd]?)$/.exec(String(text)) ?? []
  if (number === undefined) throw wrong(option, 'must be a time as 90d, 12h, 30m or a number of seconds')
  const seconds = Number(number) * (units[unit || 's'] ?? 1)
  if (seconds < min || seconds > max) throw wrong(option, `must be from ${min}s to ${max / units.d!}d`)
  return seconds
}
