// What the program is asked to do, and with which settings. Every problem is found before anything starts.
import {
  ConfigProblems,
  type GivenCommand,
  type PlainCommand,
  readCommandLine,
  readRemote,
  type Remote,
} from './command.js'
import type { Config } from './config/schemas.js'
import { type Env, type ReadSettings, readSettings } from './config/sources.js'
import { warningsFor } from './config/warnings.js'

export type Invocation =
  | { command: 'help'; topic: string[] }
  | { command: 'version' }
  | { command: 'serve'; config: Config; warnings: string[] }
  | { command: 'carry-out'; given: PlainCommand; config: Config; remote: Remote }
  /** With settings that may be wrong: what is wrong with them belongs into the answer. */
  | { command: 'report'; given: GivenCommand; read: ReadSettings; warnings: string[] }

export function readInvocation(argv: string[], env: Env): Invocation {
  const line = readCommandLine(argv)
  if (line.command !== 'run') return line
  const { given } = line
  const read = readSettings(line.flags, env)
  const warnings = warningsFor(read.config, env)
  const isReport = given?.name === 'doctor'
  if (isReport && line.problems.length === 0) return { command: 'report', given, read, warnings }
  const problems = [...line.problems, ...read.problems.map(({ text }) => text)]
  if (problems.length > 0) throw new ConfigProblems(problems)
  // Nothing is wrong, so it is whole.
  const config = read.config as Config
  return given === null
    ? { command: 'serve', config, warnings }
    : { command: 'carry-out', given: given as PlainCommand, config, remote: readRemote(env) }
}
