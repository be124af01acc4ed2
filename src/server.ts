#!/usr/bin/env node
// The process: what was asked for, from flags and environment. Nothing else reads process.env.
import { helpText, readInvocation } from './config.js'
import { version } from './version.js'

async function main(): Promise<void> {
  const invocation = readInvocation(process.argv.slice(2), process.env)
  if (invocation.command === 'help') process.stdout.write(helpText)
  else if (invocation.command === 'version') process.stdout.write(`${version}\n`)
  else if (invocation.command === 'order') {
    const { carryOut } = await import('./cli/order.js')
    process.exitCode = await carryOut(invocation.order, invocation.config)
  } else {
    // Only now: whoever asks for help does not wait for the server to load.
    const { serve } = await import('./serve.js')
    await serve(invocation.config, invocation.warnings)
  }
}

/** Errors whose message is a sentence for whoever starts it, and their exit codes. Any other is a bug. */
const expected: Record<string, number> = {
  ConfigProblems: 2,
  OrderRefused: 1,
  RulesRefused: 1,
  StoreRefused: 1,
  CannotListen: 1,
}

main().catch((error: unknown) => {
  const { name, message, stack } = error as Error
  process.stderr.write(`${name in expected ? message : stack}\n`)
  process.exit(expected[name] ?? 1)
})
