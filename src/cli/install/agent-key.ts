// The key that a host's hook asks with: made for one host on one machine, found again by its name, revoked with it. And the
// operator's, where it would be the first key of all.
import { existsSync, realpathSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { mayBeOpen } from '../../access/open-mode.js'
import { problemWithName } from '../../access/person.js'
import { sha256 } from '../../core/digest.js'
import { visibleLine } from '../../core/visible.js'
import type { KeyList, MadeKey } from '../../routes/answers.js'
import type { Context } from '../key-commands.js'
import { type Call, withCall } from '../local-call.js'
import { CommandRefused } from '../output.js'
import { keysFolder, placeKey, prepareFolder, readKeyFile } from './key-file.js'
import type { Machine } from './machine.js'
import { removeLeftovers } from './settings-file.js'

export interface AgentKey {
  name: string
  id: string
  file: string
  isNew: boolean
  /** Who decides from now on, where this ended open mode. */
  operator: { name: string; id: string; file: string } | null
}

type ListedKey = KeyList['keys'][number]

/** Says whose it is: the host, the machine and the project or user. The end tells it from others of the same. */
export function keyName(host: string, machine: Machine, project: string | null, settings: string): string {
  const words = [host, machine.name.split('.')[0]!, project === null ? machine.user : basename(project)].map(plain)
  return [...words.filter((word) => word !== ''), sha256(settings).slice(0, 6)].join('-')
}

export function keyFileOf(machine: Machine, name: string): string {
  return join(keysFolder(machine), name)
}

/** Makes it, or finds the one that was made before: whatever broke off is completed. */
export async function ensureKey(
  context: Context,
  machine: Machine,
  name: string,
  project: string | null,
): Promise<AgentKey> {
  const folder = prepareFolder(machine, project)
  const file = join(folder, name)
  let found: AgentKey | undefined
  await withCall(
    context.config,
    context.output,
    async (call) => {
      const listed = await list(call)
      const standing = standingKey(file, listed, name, 'agent')
      if (standing !== null) {
        found = { name, id: standing, file, isNew: false, operator: null }
      } else {
        const operator = listed.length === 0 ? await beginWithKeys(context, machine, call, folder) : null
        const { id, isNew } = await makeKey(call, name, 'agent', file)
        found = { name, id, file, isNew, operator }
        if (operator === null && !listed.some(isPersons)) sayNobodyDecides(context)
      }
      await revokeOthers(call, name, found.id)
    },
    { mayCreate: true },
  )
  removeLeftovers(file)
  return found!
}

/** Revokes every key of this name and removes its file. Answers the ids of those that were good. */
export async function endKey(
  { config, output }: Context,
  machine: Machine,
  name: string,
): Promise<{ revoked: string[]; hadFile: boolean }> {
  const file = keyFileOf(machine, name)
  const revoked: string[] = []
  const hadFile = existsSync(file)
  if (existsSync(config.dbPath)) {
    await withCall(config, output, async (call) => {
      revoked.push(...(await revokeOthers(call, name, null)))
      const standing = hadFile ? readKeyFile(file) : null
      if (standing !== null && 'id' in standing && !(await list(call)).some(({ id }) => id === standing.id)) {
        output.tell(`The key ${standing.id} in ${file} is none of ${config.dbPath}: revoke it where it was made.`)
      }
    })
  } else if (hadFile) {
    throw new CommandRefused(
      `There is no database ${config.dbPath}, so the key in ${file} is not revoked; say --db-path as the service does.`,
    )
  }
  rmSync(file, { force: true })
  removeLeftovers(file)
  return { revoked, hadFile }
}

// -- one key -------------------------------------------------------------------------------------------------------------

/** The id of the one in the file, if it is still good. What is in its place otherwise is refused, or goes. */
function standingKey(file: string, listed: ListedKey[], name: string, role: string): string | null {
  if (!existsSync(file)) return null
  const read = readKeyFile(file)
  if ('problem' in read)
    throw new CommandRefused(`${file}, where the key is kept, ${read.problem}. Remove it and try again.`)
  const key = listed.find(({ id }) => id === read.id)
  if (key?.state === 'live' && key.role === role && key.name === name) return key.id
  rmSync(file, { force: true })
  return null
}

async function makeKey(
  call: Call,
  name: string,
  role: 'agent' | 'operator',
  file: string,
): Promise<{ id: string; isNew: boolean }> {
  for (;;) {
    const made = await call<MadeKey>('POST', '/keys', { name, role })
    if (await place(call, file, made)) return { id: made.id, isNew: true }
    // Another was faster, and what it placed stands; unless that is of another database.
    const standing = standingKey(file, await list(call), name, role)
    if (standing !== null) return { id: standing, isNew: false }
  }
}

/** What cannot be kept is revoked: nobody has it. */
async function place(call: Call, file: string, { id, key }: MadeKey): Promise<boolean> {
  let isPlaced = false
  try {
    isPlaced = placeKey(file, key)
  } finally {
    if (!isPlaced) await call('DELETE', `/keys/${id}`)
  }
  return isPlaced
}

/** One of this name whose file is gone, or was never written, is nobody's. */
async function revokeOthers(call: Call, name: string, kept: string | null): Promise<string[]> {
  const others = (await list(call)).filter((key) => key.name === name && key.state === 'live' && key.id !== kept)
  for (const { id } of others) await call('DELETE', `/keys/${id}`)
  return others.map(({ id }) => id)
}

async function list(call: Call): Promise<ListedKey[]> {
  return (await call<KeyList>('GET', '/keys')).keys
}

// -- the first key -------------------------------------------------------------------------------------------------------

async function beginWithKeys(
  context: Context,
  machine: Machine,
  call: Call,
  folder: string,
): Promise<AgentKey['operator']> {
  const { config, output, given, nameCommand } = context
  const name = operatorName(machine)
  // The same person has other keys for other databases.
  const file = join(folder, `${name}-${sha256(realpathSync(config.dbPath)).slice(0, 6)}`)
  output.tell(
    mayBeOpen(config)
      ? 'This makes the first key, which ends open mode, at once and for good: so far everyone on this machine may ask and decide without a key; from now on every request needs one.'
      : 'This makes the first key: until then nobody is let in.',
  )
  output.tell(`A key for you, ${visibleLine(name)}, as operator is made with it, so that you can decide.`)
  if (given.options.yes !== true) {
    if (output.ask === undefined)
      throw new CommandRefused('Where nobody can be asked, say --yes if that is meant. Nothing is changed.')
    const answer = await output.ask('Make the first key? [y/N] ')
    if (answer === null || !/^y(es)?$/i.test(answer.trim()))
      throw new CommandRefused('No key is made, and nothing is changed.')
  }
  const { id } = await makeKey(call, name, 'operator', file)
  output.tell(
    `Your key ${id} is in ${file}, for this user alone. To sign in to the pages: ${nameCommand(`signin ${name}`)}`,
  )
  return { name, id, file }
}

function operatorName({ user }: Machine): string {
  const name = plain(user)
  return name === '' || problemWithName(name) !== null ? 'operator' : name
}

function isPersons({ role, state }: ListedKey): boolean {
  return state === 'live' && (role === 'operator' || role === 'admin')
}

function sayNobodyDecides({ output, nameCommand }: Context): void {
  output.tell(`Nobody has a key to decide with. Make one: ${nameCommand('keys add --name NAME --role operator')}`)
}

/** As part of a name. */
function plain(text: string): string {
  return text
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 28)
    .replace(/-+$/, '')
}
