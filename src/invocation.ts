// What the program is asked to do, and with which settings. Every problem is found before anything starts.
import { ConfigProblems, type GivenCommand, readCommandLine } from './command.js'
import type { Config } from './config/schemas.js'
import { type Env, readConfig } from './config/sources.js'
import { warningsFor } from './config/warnings.js'

export type Invocation =
  | { command: 'help'; topic: string[] }
  | { command: 'version' }
  | { command: 'serve'; config: Config; warnings: string[] }
  | { command: 'carry-out'; given: GivenCommand; config: Config }

export function readInvocation(argv: string[], env: Env): Invocation {
  const line = readCommandLine(argv)
  if (line.command !== 'run') return line
  const problems = [...line.problems]
  const config = readConfig(line.flags, env, problems)
  if (problems.length > 0) throw new ConfigProblems(problems)
  if (line.given !== null) return { command: 'carry-out', given: line.given, config }
  return { command: 'serve', config, warnings: warningsFor(config, env) }
}
