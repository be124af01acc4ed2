// Stand-ins for the hosts of hooks: each hands over a call of a tool as its host does, and takes what comes back as its host's
// documents and sources say. What is on trial is whether the call is made.
import { type ChildProcess, spawn } from 'node:child_process'
import { request } from 'node:http'
import type { Test } from 'tap'
import { serverFile } from '../e2e/program.js'
import { temporaryFolder } from '../support.js'

/** What a hook's process did. */
export interface Ran {
  code: number | null
  stdout: string
  stderr: string
  /** It was killed because its time was up. */
  isLate: boolean
}

export interface Ruling {
  /** The host makes the call. */
  isMade: boolean
  /** What the agent is told in its place. */
  told: string
}

export interface Call {
  tool: string
  input: Record<string, unknown>
  session?: string
  id?: string
}

export interface Host {
  /** The HOST of `holdpoint hook HOST`. */
  name: 'claude-code' | 'codex' | 'hermes' | 'generic'
  /** As it stands on the hook's standard input. */
  before(call: Call): object
  after(call: Call, hasFailed: boolean): object
  /** What the command is told beside that. */
  afterFlags?(hasFailed: boolean): string[]
  rule(ran: Ran): Ruling
}

const made: Ruling = { isMade: true, told: '' }
const block = (told: string): Ruling => ({ isMade: false, told })

function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function claudeCall({ tool, input, session = 'session-1', id = 'toolu_1' }: Call, event: string) {
  return {
    session_id: session,
    transcript_path: '/home/ann/.claude/transcript.jsonl',
    cwd: '/home/ann/shop',
    permission_mode: 'bypassPermissions',
    hook_event_name: event,
    tool_name: tool,
    tool_input: input,
    tool_use_id: id,
  }
}

function claudeDecision(text: string): Ruling {
  const { permissionDecision: decision, permissionDecisionReason: reason } = parse(text)?.hookSpecificOutput ?? {}
  // Anything else is no decision, and then its own settings decide, which here let everything pass.
  return decision === 'deny' ? block(String(reason)) : made
}

export const claudeCode = (onFailure?: 'block'): Host => ({
  name: 'claude-code',
  before: (call) => claudeCall(call, 'PreToolUse'),
  after: (call, hasFailed) => ({
    ...claudeCall(call, hasFailed ? 'PostToolUseFailure' : 'PostToolUse'),
    ...(hasFailed
      ? { error: 'Exit code 1', is_interrupt: false }
      : { tool_response: { stdout: 'done', big: 12345678901234567890n } }),
  }),
  rule({ code, stdout, stderr, isLate }) {
    if (isLate || (code !== 0 && code !== 2)) return onFailure === 'block' ? block('the hook failed') : made
    return code === 2 ? block(stderr) : claudeDecision(stdout)
  },
})

export const codex: Host = {
  name: 'codex',
  before: (call) => ({ ...claudeCall(call, 'PreToolUse'), turn_id: 'turn-1', model: 'gpt-5.5-codex' }),
  after: (call, hasFailed) => ({
    ...claudeCall(call, 'PostToolUse'),
    turn_id: 'turn-1',
    tool_response: hasFailed ? { content: [], isError: true } : 'done',
  }),
  rule({ code, stdout, stderr, isLate }) {
    if (isLate) return made
    // Without a reason the hook has failed, and the call is made.
    if (code === 2) return stderr.trim() === '' ? made : block(stderr.trim())
    if (code !== 0) return made
    const said = parse(stdout)
    const { permissionDecision, permissionDecisionReason: reason = '' } = said?.hookSpecificOutput ?? {}
    if (permissionDecision === 'deny' && reason.trim() !== '') return block(reason)
    if (said?.decision === 'block' && String(said.reason ?? '').trim() !== '') return block(said.reason)
    return made
  },
}

/** That Codex takes what was printed for a hook that worked. */
export function isRightForCodex({ code, stdout }: Ran): boolean {
  return code === 2 || (code === 0 && stdout === '')
}

const hermesCall = ({ tool, input, session = 'session-1', id = 'call_1' }: Call, event: string, extra: object) => ({
  hook_event_name: event,
  tool_name: tool,
  tool_input: input,
  session_id: session,
  cwd: '/home/ann/shop',
  profile: 'default',
  extra: { task_id: 'task-1', tool_call_id: id, telemetry_schema_version: 'hermes.observer.v1', ...extra },
})

export const hermes = (failClosed: boolean): Host => ({
  name: 'hermes',
  before: (call) => hermesCall(call, 'pre_tool_call', { turn_id: '1' }),
  after: (call, hasFailed) =>
    hermesCall(call, 'post_tool_call', {
      result: '{}',
      ...(hasFailed ? { status: 'error', error_type: 'ValueError', error_message: 'Exit code 1' } : { status: 'ok' }),
    }),
  rule({ code, stdout, stderr, isLate }) {
    if (isLate) return failClosed ? block('timed out') : made
    const said = parse(stdout)
    const isObject = typeof said === 'object' && said !== null && !Array.isArray(said)
    if (isObject && said.action === 'block') return block(said.message ?? said.reason)
    if (isObject && said.decision === 'block') return block(said.reason ?? said.message)
    if (code === 2) return block(stderr.trim() || 'Blocked by shell hook.')
    // Only what is printed counts here, whatever the exit code or the signal was.
    return failClosed && stdout.trim() !== '' && !isObject ? block('unparseable stdout') : made
  },
})

export const generic: Host = {
  name: 'generic',
  before: ({ tool, input, session = 'session-1', id = 'call-1' }) => ({
    action: tool,
    details: input,
    session,
    call_id: id,
  }),
  after: ({ tool, input, session = 'session-1', id = 'call-1' }, hasFailed) => ({
    action: tool,
    details: input,
    session,
    call_id: id,
    ...(hasFailed ? { error: 'Exit code 1' } : {}),
  }),
  afterFlags: (hasFailed) => ['--outcome', hasFailed ? 'failed' : 'succeeded'],
  rule: ({ code, stderr }) => (code === 0 ? made : block(stderr)),
}

export interface Started {
  child: ChildProcess
  ran: Promise<Ran>
}

export interface Settings {
  flags?: string[]
  env?: Record<string, string>
  /** What the command is told that the host waits. */
  timeoutSeconds?: number
  /** What it waits; on a busy machine a process may take seconds to start. */
  patienceSeconds?: number
  /** Another copy of the program. */
  file?: string
  /** A shell line in which HOOK is the command. */
  shell?: string
}

/** The hook as the host starts it: with what it says on standard input, and killed when its time is up. */
export function startHook(t: Test, host: Host, said: object | string | Buffer, settings: Settings = {}): Started {
  const { flags = [], env = {}, timeoutSeconds = 60, patienceSeconds = 60, shell, file = serverFile } = settings
  const words = ['hook', host.name, '--timeout', String(timeoutSeconds), ...flags]
  const all = { PATH: process.env.PATH ?? '', HOME: temporaryFolder(t), ...env }
  const child =
    shell === undefined
      ? spawn(process.execPath, [file, ...words], { env: all })
      : spawn('/bin/sh', ['-c', shell.replace('HOOK', [process.execPath, file, ...words].join(' '))], {
          env: all,
        })
  const out = { stdout: '', stderr: '' }
  for (const way of ['stdout', 'stderr'] as const) {
    child[way].setEncoding('utf8').on('data', (text: string) => (out[way] += text))
  }
  child.stdin.on('error', () => {})
  child.stdin.end(typeof said === 'string' || Buffer.isBuffer(said) ? said : toJson(said))
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, patienceSeconds * 1000)
  const ran = new Promise<Ran>((resolve) =>
    child.once('close', (code) => {
      clearTimeout(timer)
      resolve({ code, ...out, isLate })
    }),
  )
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ran
  })
  return { child, ran }
}

export function runHook(...args: Parameters<typeof startHook>): Promise<Ran> {
  return startHook(...args).ran
}

/** Numbers that only a text can carry are written as they are. */
function toJson(value: object): string {
  const text = JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `\u0001${one}` : one))
  return text.replace(/"\\u0001(\d+)"/g, '$1')
}

// -- Claude Code's hooks of type http ------------------------------------------------------------------------------------

export interface HttpSettings {
  url: string
  headers?: Record<string, string>
  onFailure?: 'block'
  timeoutSeconds?: number
}

/** Posts to the URL itself. */
export async function ruleOverHttp(
  call: Call | string,
  { url, headers = {}, onFailure, timeoutSeconds = 60 }: HttpSettings,
): Promise<Ruling> {
  const failed = onFailure === 'block' ? block('the hook failed') : made
  const body = typeof call === 'string' ? call : JSON.stringify(claudeCall(call, 'PreToolUse'))
  const answer = await new Promise<{ status: number; text: string } | null>((resolve) => {
    const signal = AbortSignal.timeout(timeoutSeconds * 1000)
    const sent = request(url, { method: 'POST', signal, headers: { 'content-type': 'application/json', ...headers } })
    sent.on('error', () => resolve(null))
    sent.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('error', () => resolve(null))
      response.on('end', () => resolve({ status: response.statusCode!, text }))
    })
    sent.end(body)
  })
  if (answer === null || answer.status < 200 || answer.status > 299) return failed
  // An empty answer is no decision, also where failures block.
  return answer.text.trim() === '' ? made : claudeDecision(answer.text)
}
