#!/usr/bin/env node
// The process: what was asked for, from flags and environment. Nothing else reads process.env.
import { fileURLToPath } from 'node:url'
import { endHook, ending, releaseHook } from './cli/hook-end.js'
import type { NameCommand } from './program.js'

/** Set once it is known which database is meant. */
let nameCommand: NameCommand | null = null

async function main(argv: string[]): Promise<void> {
  const { ConfigProblems, isHook, readCommandLine } = await import('./command.js')
  // Only now, each of these: a caller for help does not wait for the rest to load, and neither does a hook.
  const line = readCommandLine(argv)
  if (line.command === 'run' && line.given !== null && isHook(line.given)) {
    if (line.problems.length > 0) throw new ConfigProblems(line.problems)
    const { runHook } = await import('./cli/hook-command.js')
    await runHook(line.given, line.flags, process.env)
  }
  releaseHook()
  const { callElsewhere, callOf, createCommands } = await import('./program.js')
  const start = {
    script: process.argv[1]!,
    folder: fileURLToPath(new URL('../..', import.meta.url)),
    cwd: process.cwd(),
    path: process.env.PATH ?? '',
  }
  const call = callOf(start)
  if (line.command === 'help') {
    const { helpOn } = await import('./help.js')
    const help = helpOn(line.topic, call)
    if ('problem' in help) throw new ConfigProblems([help.problem])
    process.stdout.write(help.text)
    return
  }
  if (line.command === 'version') {
    const { version } = await import('./version.js')
    process.stdout.write(`${version}\n`)
    return
  }
  const { readInvocation } = await import('./invocation.js')
  const { usualDatabase } = await import('./config/sources.js')
  const invocation = readInvocation(argv, process.env)
  if (invocation.command === 'report') {
    const { report } = await import('./cli/doctor-command.js')
    const { dbPath = usualDatabase() } = invocation.read.config
    process.exitCode = await report(invocation, createCommands(call, dbPath, usualDatabase()))
    return
  }
  if (invocation.command !== 'carry-out' && invocation.command !== 'serve') return
  const { config } = invocation
  nameCommand = createCommands(call, config.dbPath, usualDatabase())
  if (invocation.command === 'carry-out') {
    const { carryOut } = await import('./cli/dispatch.js')
    const { createOutput } = await import('./cli/output.js')
    const output = createOutput(process.env)
    process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      // Whoever reads it had enough, as head has after a few lines.
      if (code === 'EPIPE') process.exit()
      process.stderr.write(`What was found cannot be written: ${message}.\n`)
      process.exit(1)
    })
    const { thisMachine } = await import('./cli/install/machine.js')
    // Whole paths: a host starts it wherever it is.
    const program = [process.execPath, fileURLToPath(import.meta.url)]
    const machine = thisMachine({ program, folder: start.folder, cwd: start.cwd, env: process.env })
    process.exitCode = await carryOut(invocation.given, config, output, nameCommand, invocation.remote, machine)
  } else {
    const { serve } = await import('./serve.js')
    await serve(config, invocation.warnings, createCommands(callElsewhere(start), config.dbPath, usualDatabase()))
  }
}

/** Errors whose message is a sentence for the one who starts it, and their exit codes. Any other is a bug. */
const expected: Record<string, number> = {
  ConfigProblems: 2,
  CommandRefused: 1,
  RulesRefused: 1,
  StoreRefused: 1,
  CannotListen: 1,
  NotReached: 3,
}

main(process.argv.slice(2)).catch(async (error: unknown) => {
  const { name, message, stack, isDamaged } = error as Error & { isDamaged?: boolean }
  if (ending.isHook) endHook(message)
  const { plainCommand } = await import('./program.js')
  const command = (nameCommand ?? plainCommand)('restore FILE')
  const advice = isDamaged === true ? ` Restore a backup: ${command}` : ''
  const { withoutControls } = await import('./core/visible.js')
  process.stderr.write(`${withoutControls(name in expected ? `${message}${advice}` : (stack ?? message))}\n`)
  process.exit(expected[name] ?? 1)
})
