// What installing and checking need to know of a host: where its settings are, what is written there, and what it does with a
// hook's end.
import type { Machine } from './machine.js'
import { shellText, valueOf, wordsOf } from './words.js'

export const hostNames = ['claude-code', 'codex', 'hermes', 'openclaw', 'mcp'] as const
export type HostName = (typeof hostNames)[number]

/** Which settings: those of a project, or the user's. */
export interface Scope {
  machine: Machine
  /** Its folder, a whole path; null for the user's. */
  project: string | null
}

/** With what a hook reaches the service. */
export interface Access {
  url: string
  keyFile: string
}

export interface Host {
  name: HostName
  /** What it is called by people. */
  title: string
  /** What of ours is put into it. */
  what: 'hook' | 'plugin' | 'server'
  /** Which of the two it has. */
  scopes: readonly ('user' | 'project')[]
  /** Why it may run a tool call that nobody approved, whatever its settings are; null where they can close it. */
  open: string | null
  settings(scope: Scope): string
  /** As much of the settings as is ours, for people to put in by hand. */
  show(scope: Scope, access: Access): { text: string; data: unknown; hint?: string }
  /** The settings with ours in them; the same text where they are. */
  merge(text: string, scope: Scope, access: Access): string
  /** Without what `merge` has put in, whatever was changed beside it since. */
  remove(text: string): string
  /** With what ours was put in, or null. */
  installed(text: string): Access | null
  /** What is left to do for whoever installs it. */
  next(scope: Scope): string[]
  inspect(scope: Scope): Inspection
  /** Why the host's version does not do what its settings say, or that nobody knows whether it does; null where it does. */
  problemWithVersion?(machine: Machine): Promise<{ isKnown: boolean; problem: string } | null>
}

/** What the host's own settings say. */
export interface Inspection {
  /** Those that were looked at, and are there. */
  files: string[]
  hooks: Hook[]
  problems: string[]
  notes: string[]
}

/** One that is asked before each tool call. */
export interface Hook {
  file: string
  /** It stands in a project, whose settings anybody may have written who could write to it. */
  isShared: boolean
  /** Null where it is no command that can be tried. */
  attempt: Attempt | null
  url: string | undefined
  keyFile: string | undefined
  /** What makes it less than closed. */
  problems: string[]
  /** What keeps it from saying yes to anything. */
  faults: string[]
}

export interface Attempt {
  /** A text for a shell, or words. */
  command: string | string[]
  /** What the host would write to it. */
  input: object
  judge(ending: Ending): Judgement
}

/** How a hook ended. */
export interface Ending {
  /** Why it did not start. */
  error?: string
  isTimedOut: boolean
  code: number | null
  stdout: string
  stderr: string
}

export interface Judgement {
  isClosed: boolean
  because: string
}

// -- commands ------------------------------------------------------------------------------------------------------------

/** Where it cannot be started or is killed, that is a no, too. */
export const otherwiseNo = " || { echo 'Not approved.' >&2; exit 2; }"

/** As one that a host calls by its words alone. */
export function hookCommand({ program }: Machine, host: HostName, { url, keyFile }: Access, seconds: number): string {
  return shellText([...program, 'hook', host, '--url', url, '--key-file', keyFile, '--timeout', String(seconds)])
}

/** The same with a shell of its own, for a host that runs none, or that of the user: not every one reads this. */
export function inShell(command: string): string {
  return shellText(['/bin/sh', '-c', command + otherwiseNo])
}

/** Whether installing has written it, with whatever values: what people write themselves is not as long. */
export function isInstalled(command: unknown, host: HostName): boolean {
  const words = typeof command === 'string' ? wordsOf(alone(command)) : null
  const at = words?.indexOf('hook') ?? -1
  if (words === null || at < 1 || words[at + 1] !== host) return false
  const flags = words.slice(at + 2).filter((_, index) => index % 2 === 0)
  return words[0]!.startsWith('/') && flags.join(' ') === '--url --key-file --timeout'
}

/**
 * Exactly as installing writes it for this very program: so it may be called, whoever has written it. Answers the same with
 * another address in it; null where it is written in any other way.
 */
export function askingAt(url: string, command: string | string[], host: HostName, machine: Machine): string | null {
  const text = typeof command === 'string' ? command : shellText(command)
  const { seconds, ...access } = accessOf(text)
  if (!isWhole(access) || seconds === undefined) return null
  const ways = [(plain: string) => plain, (plain: string) => plain + otherwiseNo, inShell]
  const way = ways.find((one) => one(hookCommand(machine, host, access, seconds)) === text)
  return way === undefined ? null : way(hookCommand(machine, host, { ...access, url }, seconds))
}

/** Without what a shell does where it fails. */
export function alone(command: string): string {
  return outOfShell(command).replace(/\s*\|\|\s*(\{[^{}]*\}|exit \d+)\s*$/, '')
}

function outOfShell(command: string): string {
  const [shell = '', flag, inside, ...more] = wordsOf(command) ?? []
  const isOne = /^(\/bin\/)?sh$/.test(shell) && flag === '-c' && more.length === 0
  return isOne && inside !== undefined ? inside : command
}

/** Of a command that installing has written. */
export function wholeAccess(command: unknown): Access | null {
  const { url, keyFile } = accessOf(String(command))
  const access = { url, keyFile }
  return isWhole(access) ? access : null
}

function isWhole(access: Partial<Access>): access is Access {
  return access.url !== undefined && access.keyFile !== undefined
}

/** Whether it is one of Holdpoint's, however it is called. */
export function isHook(command: unknown, host: HostName): command is string {
  return (
    typeof command === 'string' &&
    (isInstalled(command, host) || new RegExp(`holdpoint\\b.*\\bhook\\s+${host}\\b`, 's').test(command))
  )
}

/** What stands in a command. */
export function accessOf(command: string): Partial<Access> & { seconds?: number } {
  const words = wordsOf(alone(command)) ?? []
  const seconds = Number(valueOf(words, 'timeout'))
  const [url, keyFile] = [valueOf(words, 'url'), valueOf(words, 'key-file')]
  return {
    ...(url === undefined ? {} : { url }),
    ...(keyFile === undefined ? {} : { keyFile }),
    ...(Number.isFinite(seconds) ? { seconds } : {}),
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
