// A command on a database, carried out as the program would.
import { carryOut } from '../../src/cli/dispatch.js'
import type { Machine } from '../../src/cli/install/machine.js'
import type { Output } from '../../src/cli/output.js'
import { readInvocation } from '../../src/invocation.js'

/** Carries out a command on a database as the program would, without the time that a process takes to start. */
export function command(dbPath: string, ...words: string[]) {
  return commandWith({}, dbPath, ...words)
}

/** With these variables. */
export function commandWith(env: Record<string, string>, dbPath: string, ...words: string[]) {
  return commandOn({ env }, dbPath, ...words)
}

interface Around {
  env: Record<string, string>
  machine?: Machine
  /** What whoever sits at the terminal says; without it nobody does. */
  ask?: NonNullable<Output['ask']>
}

/** On this machine, with somebody at its terminal. */
export async function commandOn({ env, machine, ask }: Around, dbPath: string, ...words: string[]) {
  let [stdout, stderr] = ['', '']
  const output = {
    print: (text: string) => void (stdout += `${text.trimEnd()}\n`),
    tell: (text: string) => void (stderr += `${text}\n`),
    ...(ask === undefined ? {} : { ask }),
  }
  try {
    const invocation = readInvocation(['--db-path', dbPath, ...words], env)
    if (invocation.command !== 'carry-out') throw new Error('no command')
    const { given, config, remote } = invocation
    return { code: await carryOut(given, config, output, undefined, remote, machine), stdout, stderr }
  } catch (error) {
    const { name, message } = error as Error
    const codes: Partial<Record<string, number>> = {
      ConfigProblems: 2,
      CommandRefused: 1,
      StoreRefused: 1,
      RulesRefused: 1,
      NotReached: 3,
    }
    if (codes[name] === undefined) throw error
    return { code: codes[name], stdout, stderr: `${stderr}${message}\n` }
  }
}
