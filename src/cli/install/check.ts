// Whether a host is really closed: what its settings say, whether the key is good, and what becomes of a made-up call while the
// service is away, judged as the host would.
import { spawn } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { Refused, Unreachable } from '../../client/errors.js'
import { createHttp } from '../../client/http.js'
import { visibleLine } from '../../core/visible.js'
import { alone, askingAt, type Attempt, type Ending, type Hook, type Host, type Judgement, type Scope } from './host.js'
import { readKeyFile } from './key-file.js'
import type { Machine } from './machine.js'
import { shellText, wordsOf } from './words.js'

export interface Checked {
  host: string
  closed: boolean
  /** The files that were looked at. */
  settings: string[]
  /** What opens it. */
  problems: string[]
  /** What keeps it from saying yes to anything. */
  faults: string[]
  notes: string[]
  /** What became of each made-up call. */
  tried: { settings: string; closed: boolean; because: string }[]
}

/** A hook that is away tries again for three seconds; this is for slow machines. */
const patienceMs = 30_000

/** `ownUrl`: where the service is that is meant here; null where that is not known. */
export async function check(host: Host, scope: Scope, call: string, ownUrl: string | null): Promise<Checked> {
  const { machine } = scope
  const { files, hooks, problems, notes } = host.inspect(scope)
  const tried: Checked['tried'] = []
  const faults: string[] = []
  if (hooks.length === 0) {
    const where =
      files.length === 0 ? `there are no settings (${host.settings(scope)})` : `it is not in ${files.join(', ')}`
    problems.push(`There is no ${host.what} of Holdpoint: ${where}. To put it in: ${call}`)
  }
  for (const hook of hooks) {
    const said = (problem: string) => `The ${host.what} in ${hook.file}: ${problem}.`
    problems.push(...hook.problems.map(said))
    const judged = hook.attempt === null ? undefined : await attempt(hook.attempt, hook, host, machine)
    if (judged === null) {
      problems.push(
        said("it is not as installing writes it for this program, and a project may be anybody's: it was not tried"),
      )
    } else if (judged !== undefined) {
      const { isClosed, because } = judged
      tried.push({ settings: hook.file, closed: isClosed, because })
      if (!isClosed) problems.push(said(`tried while the service was away, ${because}`))
    }
    faults.push(...[...hook.faults, ...programFaults(hook), ...(await accessFaults(hook, ownUrl))].map(said))
  }
  const old = hooks.length === 0 ? null : ((await host.problemWithVersion?.(machine)) ?? null)
  if (old !== null) (old.isKnown ? problems : notes).push(old.problem)
  if (host.open !== null) problems.unshift(host.open)
  if (hooks.length > 1) notes.push(sayMany(hooks))
  const closed = problems.length === 0
  return { host: host.name, closed, settings: files, problems, faults, notes, tried }
}

export function sayMany(hooks: Hook[]): string {
  const files = [...new Set(hooks.map(({ file }) => file))].join(', ')
  return `There are ${hooks.length} hooks of Holdpoint (${files}), so each call is asked about as often. One is enough.`
}

export function checkText(
  { closed, settings, problems, faults, notes, tried }: Checked,
  { title, what, open }: Host,
  call: string,
): string {
  const isFine = closed && faults.length === 0
  const canBePutRight = [...problems, ...faults].some((one) => one !== open)
  const headline = isFine ? 'closed.' : closed ? 'closed, and no call gets through:' : 'NOT CLOSED:'
  const lines = [
    ...tried.map(
      ({ settings: file, because }) => `Tried the ${what} in ${file} while the service was away: ${because}.`,
    ),
    ...settings.map((file) => `Looked at ${file}.`),
    ...notes,
    ...(canBePutRight ? [`To put the settings right: ${call}`] : []),
  ]
  const found = [...problems, ...faults].map((one) => `  - ${visibleLine(one)}`)
  return [`${title} is ${headline}`, ...found, ...lines.map(visibleLine)].join('\n')
}

// -- what it needs -------------------------------------------------------------------------------------------------------

function programFaults({ attempt }: Hook): string[] {
  if (attempt === null) return []
  const { command } = attempt
  const [program, script] = wordsOf(alone(typeof command === 'string' ? command : shellText(command))) ?? []
  if (program === undefined || !program.startsWith('/')) return []
  if (!isExecutable(program)) return [`${program} is not there, or cannot be run`]
  return script?.startsWith('/') === true && !existsSync(script) ? [`${script} is not there`] : []
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Whether the service is there, and takes the key; that goes to no address that only a project names. */
async function accessFaults({ keyFile, url, isShared }: Hook, ownUrl: string | null): Promise<string[]> {
  const read = keyFile === undefined ? null : readKeyFile(keyFile)
  if (read !== null && 'problem' in read) return [`its key file, ${keyFile!}, ${read.problem}`]
  if (url === undefined) return []
  const elsewhere = isShared && url !== ownUrl
  if (elsewhere)
    return [`it asks ${url}, and the service meant here is ${ownUrl ?? 'not known'}: say which with HOLDPOINT_URL`]
  const problem = await problemWithService(url, read?.text ?? null)
  return problem === null ? [] : [problem]
}

export async function problemWithService(url: string, key: string | null): Promise<string | null> {
  let http
  try {
    http = createHttp({ url, key }, { timeoutMs: 5000 })
    await http.call('GET', '/confirm', { query: { limit: 1 } })
    return null
  } catch (error) {
    const said = (error as Error).message.replace(/\.$/, '')
    if (error instanceof Refused && error.status === 401) return `Holdpoint at ${url} does not take its key: ${said}`
    if (error instanceof Refused) return `Holdpoint at ${url} answers ${error.status} (${said}), so calls are denied`
    if (error instanceof Unreachable) return `${said}, so every call is denied`
    return `${url} is not where a service can be: ${said}`
  } finally {
    http?.close()
  }
}

// -- trying it -----------------------------------------------------------------------------------------------------------

/** With the service's address pointed to a port where nothing listens. Null where it may be somebody else's program. */
async function attempt(
  { command, input, judge }: Attempt,
  { url, isShared }: Hook,
  { name }: Host,
  machine: Machine,
): Promise<Judgement | null> {
  const away = `http://127.0.0.1:${await closedPort()}`
  const elsewhere = (text: string) => (url === undefined || url === '' ? text : text.replaceAll(url, away))
  const own = typeof command === 'string' ? elsewhere(command) : command.map(elsewhere)
  const called = isShared ? askingAt(away, command, name, machine) : own
  if (called === null) return null
  const env = { ...machine.env, HOLDPOINT_URL: away }
  return judge(await run(called, elsewhere(JSON.stringify(input)), env, machine.cwd))
}

/** One that the system had free just now. */
function closedPort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** As hosts run it: a text through a shell, words by themselves; a group of its own, so that what it starts ends with it. */
function run(command: string | string[], input: string, env: Machine['env'], cwd: string): Promise<Ending> {
  const [file, ...words] = typeof command === 'string' ? ['/bin/sh', '-c', command] : command
  return new Promise((resolve) => {
    let [stdout, stderr, isTimedOut] = ['', '', false]
    const child = spawn(file!, words, { env: env, cwd, detached: true, stdio: 'pipe' })
    const end = (code: number | null, error?: string) => {
      clearTimeout(timer)
      resolve({ code, isTimedOut, stdout, stderr, ...(error === undefined ? {} : { error }) })
    }
    const timer = setTimeout(() => {
      isTimedOut = true
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // It has just ended by itself.
      }
      // Of what it has left behind in another group, nobody waits for the end.
      child.stdout.destroy()
      child.stderr.destroy()
    }, patienceMs)
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout = (stdout + text).slice(0, 100_000)))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(0, 100_000)))
    child.stdin.on('error', () => {})
    child.on('error', (error) => end(null, error.message))
    child.on('close', (code) => end(code))
    child.stdin.end(input)
  })
}
