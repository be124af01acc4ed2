// A reader at a terminal: the commands of a document, in one bash, against the started program.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { delimiter, dirname, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Test } from 'tap'
import { root, serverFile, start } from '../e2e/program.js'
import { temporaryFolder, until } from '../support.js'
import { type ChatToPlay, type PlayedChat, playChat } from './chats.js'
import { type Claim, type Command, planOf, type Step } from './commands.js'
import type { Document } from './markdown.js'

/** Generous: a command that takes this long has failed. */
const patienceMs = 60_000

export interface Started {
  port: number
  webPort: number | undefined
  stop(): Promise<unknown>
}

export interface Launch {
  flags: string[]
  env: Record<string, string>
  dbPath: string
  /** The reader's folder. */
  cwd: string
}

export interface Reading {
  /** Only what stands from this line up to that one. */
  lines?: { from: number; to: number }
  /** What `npm start` does. It may leave the database where it likes and say so. */
  start?(launch: Launch): Promise<Started & { dbPath?: string }>
  /** What a reader does who is told to open an address. */
  open?(url: string): Promise<void>
}

export interface Answer {
  status: number
  /** As far as it was printed. */
  body: string
}

/** A command that was run, and what came of it. */
export interface Ran {
  command: Command
  stdout: string
  stderr: string
  answers: Answer[]
}

export interface Read {
  ran: Ran[]
  /** What is not as the document says, each with its place and what was printed. */
  failures: string[]
}

/** Runs the document. The first command that fails is the last, as it would be for a reader. */
export async function follow(t: Test, document: Document, reading: Reading = {}): Promise<Read> {
  const { steps, mistakes } = planOf(document)
  if (mistakes.length > 0) return { ran: [], failures: mistakes }
  const { from, to } = reading.lines ?? { from: 1, to: Infinity }
  const wanted = steps.filter(({ line }) => line >= from && line < to)
  if (!wanted.some(({ kind }) => kind === 'command')) return { ran: [], failures: [] }

  const reader = await createReader(t, reading)
  const failures: string[] = []
  for (const step of wanted) {
    const failure = await reader.take(step).catch((error: unknown) => String(error))
    if (failure === null) continue
    failures.push(describe(document, step, failure))
    break
  }
  const ran = await reader.finish()
  failures.push(...judge(document, ran))
  return { ran: ran.map(({ step }) => step), failures }
}

function describe({ name }: Document, step: Step, failure: string): string {
  return `${name}:${step.line}: ${step.kind === 'command' ? step.text : step.kind}\n${failure}`
}

// -- what is said, held against what was answered --------------------------------------------------------------------

interface Job {
  step: Ran
  /** Whether it goes on while the next command runs. */
  background: boolean
  /** How it failed there. */
  problem: string | null
}

function judge(document: Document, jobs: Job[]): string[] {
  const claims = new Map<Claim, Job[]>()
  for (const job of jobs) claims.set(job.step.command.claim, [...(claims.get(job.step.command.claim) ?? []), job])
  return [...claims].flatMap(([claim, group]) => {
    const problem = problemWith(claim, group)
    if (problem === null) return []
    const [{ step }, sentence] = problem
    const answers = step.answers.map(({ status }) => status).join(', ') || 'none'
    const printed = `${step.stdout}${step.stderr}`.trim()
    return [describe(document, step.command, `${sentence}\nanswers: ${answers}\nprinted: ${printed}`)]
  })
}

/** The command that is to blame, and a sentence about it. */
function problemWith({ comment, status, code, prints }: Claim, group: Job[]): [Job, string] | null {
  const failed = group.find((job) => job.problem !== null)
  if (failed !== undefined) return [failed, `in the background: ${failed.problem}`]

  const foreground = group.filter(({ background }) => !background)
  const inOrder = foreground.length > 0 ? foreground : group
  const speaker = inOrder.findLast(({ step }) => step.answers.length > 0)
  const last = speaker?.step.answers.at(-1)
  for (const job of group) {
    const unnamed = job.step.answers.find((one) => one.status >= 400 && !(one === last && status !== null))
    if (unnamed === undefined) continue
    const why = unnamed.status === status ? 'the comment speaks of the last one below it' : 'no comment says so'
    return [job, `an answer is ${unnamed.status}, and ${why}: ${unnamed.body}`]
  }
  const said = `"${comment}" names`
  if (status !== null) {
    if (speaker === undefined || last === undefined) return [group[0]!, `${said} ${status}, and nothing was answered`]
    if (last.status !== status) return [speaker, `${said} ${status}, and the answer is ${last.status}`]
    if (code !== null && !new RegExp(`"code": ?"${code}"`).test(last.body)) {
      return [speaker, `${said} ${code}, and the answer is ${last.body || 'not printed'}`]
    }
  }
  if (prints !== null && !group.some(({ step }) => step.stdout.includes(prints))) {
    return [group.at(-1)!, `it does not print ${prints}`]
  }
  return null
}

// -- the reader ------------------------------------------------------------------------------------------------------

const addresses = /\b(127\.0\.0\.1|localhost):(\d{2,5})\b/g
const hasAddress = (text: string) => text.search(addresses) >= 0

async function createReader(t: Test, reading: Reading) {
  const folder = temporaryFolder(t)
  const home = join(folder, 'home')
  const shims = join(folder, 'bin')
  mkdirSync(home)
  mkdirSync(shims)
  // Packages that an example imports are found as in a clone, this one included: there it knows itself by its name.
  copyFileSync(join(root, 'package.json'), join(home, 'package.json'))
  for (const name of ['node_modules', 'dist', 'clients', 'presets']) symlinkSync(join(root, name), join(home, name))
  for (const [name, script] of Object.entries(commands)) writeFileSync(join(shims, name), script, { mode: 0o755 })
  const shell = openShell(t, home, {
    PATH: [shims, dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: home,
    HOLDPOINT_SERVER: serverFile,
  })

  const jobs: (Job & { pid: string; notes: string })[] = []
  let program: Started | null = null
  let launched = false
  let databases = 0
  let dbPath = join(folder, 'db-0.db')
  /** From a port in the document to the one that listens: those of the program, and those of others on this machine. */
  let ports = new Map<string, number>()
  const otherPorts = new Map<string, number>()
  const files = new Map<string, string>()
  let lastPid = '0'
  /** What the shell knows as CONFIRMATION_DB_PATH, unless the document has set it. */
  let toldPath = ''
  const chats = new Map<ChatToPlay, PlayedChat>()
  /** What the shell is to know, or to forget, before the next command. */
  let untold: string[] = []

  const run = reading.start ?? (async ({ flags, env, dbPath, cwd }: Launch) => start(t, { flags, env, dbPath, cwd }))

  async function startProgram(flags: string[], env: Record<string, string>): Promise<void> {
    await program?.stop()
    program = null
    launched = true
    const rest = [...flags]
    const take = (flag: string) => {
      const at = rest.findIndex((one) => one === flag || one.startsWith(`${flag}=`))
      if (at < 0) return undefined
      return rest[at]!.includes('=') ? rest.splice(at, 1)[0]!.slice(flag.length + 1) : rest.splice(at, 2)[1]
    }
    const port = take('--port') ?? env.CONFIRMATION_PORT ?? '6000'
    const webPort = take('--web-port') ?? env.CONFIRMATION_WEB_PORT ?? '6001'
    dbPath = resolve(home, take('--db-path') ?? env.CONFIRMATION_DB_PATH ?? dbPath)
    const listening = ['--port', '0', '--web-port', webPort === 'off' ? 'off' : '0']
    const started = await run({ flags: [...listening, ...rest], env: { ...env, HOME: home }, dbPath, cwd: home })
    program = started
    dbPath = started.dbPath ?? dbPath
    ports = new Map([[port, started.port]])
    if (started.webPort !== undefined) ports.set(webPort, started.webPort)
    for (const [name, content] of files) if (hasAddress(content)) await save(name, content)
  }

  async function save(name: string, content: string): Promise<void> {
    files.set(name, content)
    writeFileSync(join(home, name), await place(content))
  }

  /** The document's addresses become those that listen. Others on this machine get a port that is free. */
  async function place(text: string): Promise<string> {
    const find = (port: string) => ports.get(port) ?? otherPorts.get(port)
    for (const [, , port] of text.matchAll(addresses)) {
      if (find(port!) === undefined) otherPorts.set(port!, await freePort())
    }
    return text
      .replace(addresses, (_, host: string, port: string) => `${host}:${find(port)}`)
      .replace(/\blisten\((\d{2,5})\b/g, (_, port: string) => `listen(${find(port) ?? port}`)
  }

  async function runCommand(command: Command): Promise<string | null> {
    if (program === null && !launched && !/\bnpm start\b/.test(command.text)) await startProgram([], {})
    const notes = join(folder, `step-${jobs.length}`)
    const background = /&\s*$/.test(command.text)
    if (toldPath !== dbPath) untold.push(`export CONFIRMATION_DB_PATH=${quote(dbPath)}`)
    const before = untold.join('\n')
    toldPath = dbPath
    untold = []
    mkdirSync(notes)
    const said = await shell.run(notes, await place(command.text), before)
    const step: Ran = { command, stdout: said.stdout, stderr: said.stderr, answers: [] }
    jobs.push({ step, background, problem: null, pid: said.pid === lastPid ? '0' : said.pid, notes })
    lastPid = said.pid
    if (said.problem !== null) return `${said.problem}\nprinted: ${said.stdout}${said.stderr}`
    const noise = noiseIn(said.stderr, existsSync(join(notes, 'spoke')))
    if (noise !== undefined) return `on standard error: ${said.stderr}`
    const asked = join(notes, 'start.args')
    if (background && /\bnpm start\b/.test(command.text)) await until(() => existsSync(asked))
    if (existsSync(asked)) await startProgram(zeroEnded(asked), settingsIn(zeroEnded(join(notes, 'start.env'))))
    return null
  }

  return {
    async take(step: Step): Promise<string | null> {
      if (step.kind === 'command') return runCommand(step)
      if (step.kind === 'file') await save(step.name, step.content)
      else if (step.kind === 'open') await reading.open?.(await place(step.url))
      else if (step.kind === 'chat') {
        const chat = chats.get(step.name) ?? (await playChat(t, step.name))
        chats.set(step.name, chat)
        untold.push(forgetChats, ...Object.entries(chat.env).map(([name, value]) => `export ${name}=${quote(value)}`))
      } else if (step.kind === 'press') await chats.get(step.name)?.press(step.label)
      else if (step.kind === 'stop') {
        await program?.stop()
        program = null
        launched = true
      } else {
        databases += 1
        await startProgram(step.flags, { CONFIRMATION_DB_PATH: join(folder, `db-${databases}.db`) })
      }
      return null
    },
    /** Waits for what went on in the background and talks to the program; ends the rest. */
    async finish(): Promise<Job[]> {
      for (const job of jobs) {
        if (!job.background || job.pid === '0' || !/\bcurl\b/.test(job.step.command.text)) continue
        const notes = join(folder, `end-${job.pid}`)
        mkdirSync(notes)
        const said = await shell.run(notes, `wait ${job.pid} || echo exit code $?`)
        job.problem = said.problem ?? (/^exit code \d+$/m.exec(said.stdout)?.[0] || null)
      }
      await shell.end()
      for (const { step, notes } of jobs) step.answers = answersIn(notes)
      return jobs
    },
  }
}

/** Our own commands explain themselves there, and `-w` can write a status there. Anything else is something wrong. */
function noiseIn(stderr: string, spoke: boolean): string | undefined {
  const lines = stderr.split('\n').filter((line) => line !== '' && !/^\d{3}$/.test(line))
  return lines.find((line) => !spoke || /^curl: |: line \d+: |^\s+at .*:\d+:\d+/.test(line))
}

/** Whoever connects one chat has not connected the others that a document tells of. */
const forgetChats = 'unset ${!TELEGRAM_@} ${!DISCORD_@} ${!SLACK_@} ${!NTFY_@} CONFIRMATION_PUBLIC_URL'

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

function zeroEnded(file: string): string[] {
  return readFileSync(file, 'utf8').split('\0').slice(0, -1)
}

/** What the reader set, without what every shell has. */
function settingsIn(env: string[]): Record<string, string> {
  const pairs = env.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)] as const)
  return Object.fromEntries(pairs.filter(([name]) => /^(CONFIRMATION|TELEGRAM|DISCORD|SLACK|NTFY|HERMES)_/.test(name)))
}

function answersIn(folder: string): Answer[] {
  const list = join(folder, 'answers')
  if (!existsSync(list)) return []
  const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  return readFileSync(list, 'utf8')
    .trim()
    .split('\n')
    .flatMap((record) => {
      const body = read(join(record, 'body'))
      const head = read(join(record, 'head')) || body
      const statuses = [...head.matchAll(/^HTTP\/[\d.]+ ([2-5]\d\d)/gm)].map(([, status]) => Number(status))
      return statuses.map((status) => ({ status, body }))
    })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

// -- bash ------------------------------------------------------------------------------------------------------------

interface Said {
  stdout: string
  stderr: string
  problem: string | null
  /** The last process in the background. */
  pid: string
}

/** One bash for all commands, so that variables carry over. It is told over a pipe in which folder the next one lies. */
function openShell(t: Test, cwd: string, env: Record<string, string>) {
  const mark = randomUUID()
  const loop = `set -eu -o pipefail
    printf '%s\\n' ${mark}
    printf '%s\\n' ${mark} >&2
    while IFS= read -r HOLDPOINT_STEP <&3; do
      export HOLDPOINT_STEP
      source "$HOLDPOINT_STEP/before"
      source "$HOLDPOINT_STEP/command" 3<&- </dev/null
      printf '%s %s\\n' ${mark} "\${!:-0}"
      printf '%s\\n' ${mark} >&2
    done`
  // Through cat, so that both are pipes, which can be opened as /dev/stderr; Node gives sockets. The signal that ends what
  // is left in the background must not end these: they have the last words to pass on.
  const child = spawn(
    'bash',
    ['--norc', '-c', 'exec bash --norc -c "$0" > >(trap "" TERM; exec cat) 2> >(trap "" TERM; exec cat >&2)', loop],
    { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
  )
  const out = collect(child.stdout!)
  const err = collect(child.stderr!)
  let code: number | null = null
  const exited = new Promise<void>((done) =>
    child.once('exit', (exitCode) => {
      code = exitCode ?? 1
      done()
    }),
  )
  // Once this has come through, both pass on what is said, and no signal comes before they ignore it.
  const ready = Promise.race([exited, Promise.all([out.until(`${mark}\n`), err.until(`${mark}\n`)])])
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, name)
    } catch {
      // Nobody is left.
    }
  }
  t.teardown(async () => {
    signal('SIGKILL')
    await exited
  })

  async function end(): Promise<void> {
    await ready
    ;(child.stdio[3] as Writable).destroy()
    signal('SIGTERM')
    const timer = setTimeout(() => signal('SIGKILL'), 5_000)
    await Promise.all([exited, out.closed, err.closed])
    clearTimeout(timer)
  }

  return {
    end,
    async run(folder: string, command: string, before = ''): Promise<Said> {
      writeFileSync(join(folder, 'before'), `${before}\n`)
      writeFileSync(join(folder, 'command'), `${command}\n`)
      await ready
      if (code === null) (child.stdio[3] as Writable).write(`${folder}\n`)
      let timer: NodeJS.Timeout
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, patienceMs)))
      const said = await Promise.race([Promise.all([out.until(mark), err.until(mark)]), exited, late])
      clearTimeout(timer!)
      if (said !== undefined) {
        const pid = await out.until('\n')
        await err.until('\n')
        return { stdout: said[0], stderr: said[1], problem: null, pid: pid.trim() }
      }
      const problem =
        code === null ? `it did not end in ${patienceMs / 1000} s` : `the shell ends with exit code ${code}`
      await end()
      return { stdout: out.rest(), stderr: err.rest(), problem, pid: '0' }
    },
  }
}

function collect(stream: Readable) {
  let text = ''
  let wake = () => {}
  stream.setEncoding('utf8').on('data', (more: string) => {
    text += more
    wake()
  })
  return {
    closed: once(stream, 'close'),
    rest: () => text,
    /** What comes before this, without it. */
    async until(end: string): Promise<string> {
      while (!text.includes(end)) await new Promise<void>((resolve) => (wake = resolve))
      const at = text.indexOf(end)
      const before = text.slice(0, at)
      text = text.slice(at + end.length)
      return before
    },
  }
}

/** In the reader's PATH before everything else. Each leaves a note of what it did in the folder of its command. */
const commands = {
  // Prints what curl prints, and keeps a copy of head and body. A signal to it is one to curl.
  curl: `#!/usr/bin/env bash
PATH=\${PATH#*:}
record=$(mktemp -d "$HOLDPOINT_STEP/answer-XXXXXX")
exec 3<&0
mkfifo "$record/pipe"
tee "$record/body" <"$record/pipe" &
tee=$!
curl --no-progress-meter -D "$record/head" "$@" <&3 >"$record/pipe" &
curl=$!
trap 'kill "$curl"' TERM INT
wait "$curl"
code=$?
wait "$tee"
printf '%s\\n' "$record" >>"$HOLDPOINT_STEP/answers"
exit "$code"
`,
  // Measured: npx finds the same program and takes 0.2 s longer.
  npx: `#!/usr/bin/env bash
if [ "\${1:-}" != holdpoint ]; then echo "npx $* is not played here: say why it is not run" >&2; exit 1; fi
shift
: >"$HOLDPOINT_STEP/spoke"
exec node "$HOLDPOINT_SERVER" "$@"
`,
  // A reader who reads on has it running: so the program is started when this has ended, and before the next command.
  npm: `#!/usr/bin/env bash
case "\${1:-} \${2:-}" in
  'ci ') ;;
  'start ' | 'start --')
    env -0 >"$HOLDPOINT_STEP/start.env"
    shift "$(($# < 2 ? $# : 2))"
    if [ $# -gt 0 ]; then printf '%s\\0' "$@"; fi >"$HOLDPOINT_STEP/start.args" ;;
  *) echo "npm $* is not played here: say why it is not run" >&2; exit 1 ;;
esac
`,
}
