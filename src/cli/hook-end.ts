// How a hook ends that has no answer: with a no, which for each host is exit code 2 and words on standard error. It is loaded
// before the rest of the program, so that this also holds where the rest cannot be loaded, or breaks.
import { writeSync } from 'node:fs'

export const ending = {
  /** Whether it is a hook, or may be one: not before the command line was read is it sure. */
  isHook: process.argv.includes('hook', 2),
  isAnswered: false,
  /** 0 once it is known that there is nothing to decide. */
  code: 2,
}

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

if (ending.isHook) {
  process.exitCode = 2
  for (const signal of signals) process.on(signal, onSignal)
  process.on('uncaughtException', onBreak)
  process.on('exit', onExit)
}

/** It was no hook that was asked for. */
export function releaseHook(): void {
  if (!ending.isHook) return
  ending.isHook = false
  process.exitCode = undefined
  for (const signal of signals) process.off(signal, onSignal)
  process.off('uncaughtException', onBreak)
  process.off('exit', onExit)
}

/** Ends the process. */
export function endHook(why: string): never {
  tell(why)
  process.exit(ending.code)
}

function onSignal(signal: NodeJS.Signals): void {
  endHook(`The Holdpoint hook was ended by ${signal} before it had an answer.`)
}

function onBreak(error: unknown): void {
  endHook(`The Holdpoint hook broke: ${error instanceof Error ? error.message : 'no error'}.`)
}

function onExit(): void {
  tell('The Holdpoint hook ended without an answer.')
}

function tell(why: string): void {
  if (ending.isAnswered || ending.code === 0) return
  ending.isAnswered = true
  try {
    writeSync(2, `This call was not approved. ${why.replace(/[^ -~]+/g, ' ')}\n`)
  } catch {
    // Nobody listens; the exit code says it.
  }
}
