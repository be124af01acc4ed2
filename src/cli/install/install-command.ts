// `holdpoint install HOST`: puts the hook into a host's settings, shows it, takes it back, or says whether it is closed.
import { existsSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { isLoopback } from '../../access/open-mode.js'
import { ConfigProblems } from '../../command.js'
import { nearTo } from '../../core/closest.js'
import { visibleLine } from '../../core/visible.js'
import { quote } from '../../program.js'
import { type Context, wrong } from '../key-commands.js'
import { CommandRefused, printJson } from '../output.js'
import { ownUrl } from '../place.js'
import { type AgentKey, endKey, ensureKey, keyFileOf, keyName } from './agent-key.js'
import { check, checkText, problemWithService, sayMany } from './check.js'
import { claudeCode } from './claude-code.js'
import { codex } from './codex.js'
import { hermes } from './hermes.js'
import { type Access, type Host, type HostName, hostNames, type Scope } from './host.js'
import { UnfitText } from './json-text.js'
import { problemWithPlace, readKeyFile } from './key-file.js'
import type { Machine } from './machine.js'
import { mcp } from './mcp.js'
import { openclaw } from './openclaw.js'
import {
  backupOf,
  readSettings,
  refuseUnwritable,
  removeFile,
  removeLeftovers,
  type SettingsFile,
  writeSettings,
} from './settings-file.js'

const hosts: Record<HostName, Host> = { 'claude-code': claudeCode, codex, hermes, openclaw, mcp }

/** Answers whether it is closed, where that is what was asked. */
export async function install(context: Context, machine: Machine): Promise<boolean> {
  const { given, output } = context
  const { options } = given
  const host = readHost(given.argument)
  const way = readWay(context)
  const scope = { machine, project: readProject(options.project, host, machine, way) }
  if (way === 'check') {
    const call = callFor(context, host, scope)
    const checked = await check(host, scope, call, meantUrl(context))
    if (options.json === true) printJson(output, checked)
    else output.print(checkText(checked, host, call))
    return checked.closed && checked.faults.length === 0
  }
  if (way === 'print') show(context, host, scope)
  else if (way === 'undo') await takeBack(context, host, scope)
  else await putIn(context, host, scope)
  return true
}

/** The same command once more, as it is called here. */
function callFor({ nameCommand }: Context, { name }: Host, { project }: Scope, flag = ''): string {
  return nameCommand(
    ['install', name, ...(project === null ? [] : ['--project', quote(project)]), flag].join(' ').trim(),
  )
}

// -- what is asked -------------------------------------------------------------------------------------------------------

type Way = 'put in' | 'print' | 'undo' | 'check'

function readHost(name: string): Host {
  if ((hostNames as readonly string[]).includes(name)) return hosts[name as HostName]
  const meant = nearTo(name, [...hostNames])
  throw new ConfigProblems([
    `install: the hosts are ${hostNames.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  ])
}

function readWay({ given: { options } }: Context): Way {
  const ways = (['print', 'undo', 'check'] as const).filter((way) => options[way] === true)
  if (ways.length > 1) throw new ConfigProblems([`${ways.map((way) => `--${way}`).join(', ')}: say one of them`])
  const [way = 'put in'] = ways
  const needless = ['url', 'key-file', 'yes'].filter(
    (name) => options[name] !== undefined && ['undo', 'check'].includes(way),
  )
  if (needless.length > 0) throw new ConfigProblems([`--${needless[0]!}: --${way} does not take it`])
  return way
}

function readProject(given: string | true | undefined, host: Host, { cwd }: Machine, way: Way): string | null {
  const doesHave = (one: 'user' | 'project') => host.scopes.includes(one)
  if (given === undefined) {
    if (doesHave('user') || way === 'print') return null
    throw wrong(
      'project',
      `is needed: ${host.title} has its settings in a project. --print shows what to put in elsewhere`,
    )
  }
  if (!doesHave('project')) throw wrong('project', `${host.title} has no settings of a project, only the user's`)
  const folder = resolve(cwd, String(given))
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new CommandRefused(`${visibleLine(folder)} is no folder.`)
  return realpathSync(folder)
}

/** Null where nothing says it. */
function meantUrl({ remote, config }: Context): string | null {
  return remote.url ?? (config.port === 0 ? null : ownUrl(config))
}

function urlOf({ given: { options }, remote, config }: Context): string {
  const named = (options.url as string | undefined) ?? remote.url
  const url = named ?? ownUrl(config)
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol))
    throw wrong('url', 'must be the address of a service, as http://127.0.0.1:6000')
  if (named !== undefined && options['key-file'] === undefined && !isLoopback(parsed.hostname)) {
    throw wrong('key-file', `is needed: a key for the service at ${parsed.host} cannot be made from here`)
  }
  if (parsed.username !== '' || parsed.password !== '' || /[?#]/.test(url))
    throw wrong('url', 'must have no name, password, query or fragment in it')
  return url
}

/** Where it is said, and whole; null where one is to be made. */
function readGivenKeyFile({ given: { options } }: Context, { machine, project }: Scope): string | null {
  const given = options['key-file']
  if (given === undefined) return null
  const file = isAbsolute(String(given)) ? String(given) : join(machine.cwd, String(given))
  const misplaced = problemWithPlace(file, project)
  if (misplaced !== null) throw new CommandRefused(`${visibleLine(file)} ${misplaced}. Keep the key somewhere else.`)
  const read = readKeyFile(file)
  if ('problem' in read) throw new CommandRefused(`The key file ${visibleLine(file)} ${read.problem}.`)
  return file
}

// -- showing -------------------------------------------------------------------------------------------------------------

function show(context: Context, host: Host, scope: Scope): void {
  const { given, output } = context
  const url = urlOf(context)
  const file = host.settings(scope)
  const keyFile = readGivenKeyFile(context, scope) ?? keyFileOf(scope.machine, nameOf(host, scope, file))
  const { text, data, hint } = host.show(scope, { url, keyFile })
  if (given.options.json === true) {
    return printJson(output, {
      host: host.name,
      file,
      settings: data,
      key_file: keyFile,
      closed: host.open === null,
      why_open: host.open,
    })
  }
  output.tell(`For ${visibleLine(file)}; nothing is written, and no key is made.`)
  output.tell(`An agent's key belongs into ${visibleLine(keyFile)}, for its owner alone (600).`)
  if (host.open !== null) output.tell(host.open)
  if (hint !== undefined) output.tell(hint)
  output.print(text)
}

function nameOf(host: Host, { machine, project }: Scope, file: string): string {
  return keyName(host.name, machine, project, file)
}

// -- putting in ----------------------------------------------------------------------------------------------------------

async function putIn(context: Context, host: Host, scope: Scope): Promise<void> {
  const { given, output } = context
  const { machine, project } = scope
  const url = urlOf(context)
  const file = readSettings(host.settings(scope), project === null ? 0o600 : 0o644)
  const givenFile = readGivenKeyFile(context, scope)
  const name = nameOf(host, scope, file.path)
  // Before a key is made: what cannot be written is refused while nothing has happened.
  mergeInto(host, file, scope, { url, keyFile: givenFile ?? keyFileOf(machine, name) })
  refuseUnwritable(file)
  const key = givenFile === null ? await ensureKey(context, machine, name, project) : null
  const access = { url, keyFile: givenFile ?? key!.file }
  const { isChanged, backup } = change(file, (standing) => ({
    text: mergeInto(host, standing, scope, access),
    // Of what stood there before all of this; what was ours is not worth keeping.
    keepsBackup: standing.text !== null && host.installed(standing.text) === null,
  }))
  const problem = await problemWithAccess(access)
  const { open } = host
  if (given.options.json === true) {
    const made = key === null ? null : { name: key.name, id: key.id, is_new: key.isNew }
    return printJson(output, {
      host: host.name,
      file: file.path,
      changed: isChanged,
      backup,
      key: made,
      key_file: access.keyFile,
      operator: key?.operator ?? null,
      closed: open === null,
      why_open: open,
      problem,
    })
  }
  sayKey(context, key)
  if (!isChanged) output.tell(`${visibleLine(file.path)} has it already; nothing is changed.`)
  else
    output.tell(
      `Holdpoint is in ${visibleLine(file.path)}.${backup === null ? '' : ` What stood there is in ${visibleLine(backup)}.`}`,
    )
  if (machine.program.some((word) => word.includes('/_npx/'))) {
    output.tell(
      'It calls what npx has fetched, which may be gone some day. Install the package, and do this again, to stay.',
    )
  }
  if (problem !== null) output.tell(`So far ${visibleLine(problem)}.`)
  if (open !== null) output.tell(open)
  if (isChanged) for (const line of [...host.next(scope), ...sayRules(host, machine)]) output.tell(line)
  const { hooks } = host.inspect(scope)
  if (hooks.length > 1) output.tell(visibleLine(sayMany(hooks)))
  output.tell(`To see whether it is closed: ${callFor(context, host, scope, '--check')}`)
  output.tell(`To take it back: ${callFor(context, host, scope, '--undo')}`)
}

/** Without rules for them, all calls are held, and there may be ten an hour. */
function sayRules({ name }: Host, { folder }: Machine): string[] {
  const preset = join(folder, 'presets/coding-agents.yaml')
  if (name === 'mcp' || !existsSync(preset)) return []
  return [`Which calls pass without asking is for the service's rules; to begin with: --policy ${quote(preset)}`]
}

/** As often as it takes: others may change it at the same time. */
function change(
  file: SettingsFile,
  make: (standing: SettingsFile) => { text: string; keepsBackup: boolean },
): { isChanged: boolean; backup: string | null } {
  removeLeftovers(file.real)
  for (let turn = 0; turn < 10; turn += 1) {
    const standing = turn === 0 ? file : readSettings(file.path, file.mode)
    const { text, keepsBackup } = make(standing)
    if (text === (standing.text ?? '')) return { isChanged: false, backup: null }
    if (writeSettings(standing, text, keepsBackup))
      return { isChanged: true, backup: keepsBackup ? backupOf(file) : null }
  }
  throw new CommandRefused(`${file.path} is being changed by somebody else all the time. Try again.`)
}

/** The text with the hook in it. */
function mergeInto(host: Host, { path, text }: SettingsFile, scope: Scope, access: Access): string {
  return guarded(path, () => host.merge(text ?? '', scope, access))
}

function guarded<T>(path: string, use: () => T): T {
  try {
    return use()
  } catch (error) {
    if (!(error instanceof UnfitText)) throw error
    throw new CommandRefused(`${path} ${visibleLine(error.message)} Nothing is changed.`)
  }
}

async function problemWithAccess({ url, keyFile }: Access): Promise<string | null> {
  const read = readKeyFile(keyFile)
  return 'problem' in read ? `the key file ${keyFile} ${read.problem}` : problemWithService(url, read.text)
}

function sayKey({ output }: Context, key: AgentKey | null): void {
  if (key === null) return
  const { name, id, file, isNew } = key
  const made = isNew
    ? `Key ${id} for ${visibleLine(name)}, agent, is`
    : `The key ${id} for ${visibleLine(name)} is as it was,`
  output.tell(`${made} in ${visibleLine(file)}, for this user alone.`)
}

// -- taking back ---------------------------------------------------------------------------------------------------------

async function takeBack(context: Context, host: Host, scope: Scope): Promise<void> {
  const { given, output } = context
  const { machine } = scope
  const file = readSettings(host.settings(scope), 0o600)
  const name = nameOf(host, scope, file.path)
  const used = guarded(file.path, () => host.installed(file.text ?? ''))
  const { isChanged } = change(file, (standing) => ({
    text: guarded(file.path, () => textWithout(host, standing, scope)),
    keepsBackup: false,
  }))
  const [left, kept] = [readSettings(file.path, 0o600), readSettings(backupOf(file), 0o600)]
  // A file that was made for this alone goes as it came, and so does a backup of what stands there again.
  if (isChanged && kept.text === null && isBare(left.text ?? '')) removeFile(left.real)
  if (kept.text === left.text) removeFile(backupOf(file))
  if (isChanged && given.options.json !== true) output.tell(`Holdpoint is out of ${visibleLine(file.path)}.`)
  const { revoked, hadFile } = await endKey(context, machine, name)
  const keptKey = used === null || used.keyFile === keyFileOf(machine, name) ? null : used.keyFile
  if (given.options.json === true) {
    return printJson(output, {
      host: host.name,
      file: file.path,
      changed: isChanged,
      key: { name, revoked, file_removed: hadFile },
      key_file_kept: keptKey,
    })
  }
  if (revoked.length > 0) output.tell(`The key of ${visibleLine(name)} is revoked: ${revoked.join(', ')}.`)
  if (hadFile) output.tell(`Its file is removed: ${visibleLine(keyFileOf(machine, name))}.`)
  if (keptKey !== null) output.tell(`The key in ${visibleLine(keptKey)} was not made here, and is left as it is.`)
  if (!isChanged && revoked.length === 0 && !hadFile)
    output.tell(`Nothing of it is in ${visibleLine(file.path)}; nothing is changed.`)
}

/** Where nothing else was changed since, what stood there before is what stands there then. */
function textWithout(host: Host, file: SettingsFile, scope: Scope): string {
  const text = file.text ?? ''
  const used = host.installed(text)
  const before = used === null ? null : readSettings(backupOf(file), file.mode).text
  const isUntouched = before !== null && host.installed(before) === null && host.merge(before, scope, used!) === text
  return isUntouched ? before : host.remove(text)
}

function isBare(text: string): boolean {
  return /^\s*(\{\s*\})?\s*$/.test(text)
}
