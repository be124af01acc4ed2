// Which service a command speaks to, and as whom: over HTTP where that is said, else as the owner of the database. And what it
// says when that refuses, or is not there.
import { isLoopback } from '../access/open-mode.js'
import { HoldpointError, Invalid, Operator, Refused, Unreachable } from '../client/index.js'
import { ConfigProblems } from '../command.js'
import { visibleLine } from '../core/visible.js'
import { type Context, wrong } from './key-commands.js'
import { withSocket } from './local-call.js'
import { CommandRefused } from './output.js'
import { findPlace, sayPlace } from './place.js'

/** For what is read, and for the whitelist. */
export async function withReader(
  context: Context,
  use: (operator: Operator) => Promise<void>,
  reach: { needsRules?: boolean } = {},
): Promise<void> {
  if (saysHttp(context)) return use(openOverHttp(context))
  return withSocket(context.config, context.output, (socketPath) => use(new Operator({ socketPath })), reach)
}

/** For whoever decides. */
export function openOverHttp(context: Context): Operator {
  return openAs(context, (options) => new Operator(options))
}

/** Over HTTP, with the key of the flags, else of the environment, if any. */
export function openAs<T>(
  { given: { options }, config, remote, output }: Context,
  open: (to: { url: string; key: string | null }) => T,
): T {
  const { url, key } = findPlace(options, remote, () => config)
  try {
    const opened = open({ url, key })
    const { protocol, hostname, host } = new URL(url)
    if (key !== null && protocol === 'http:' && !isLoopback(hostname)) {
      output.tell(`The key goes to ${host} unencrypted: whoever is in between can read it. Use an https address.`)
    }
    return opened
  } catch (error) {
    throw error instanceof Invalid ? sayPlace(options, error.message) : error
  }
}

/** Whether anything says that it is to be asked over HTTP. */
function saysHttp({ given: { options }, remote }: Context): boolean {
  return [options.url, options['key-file'], remote.url, remote.key].some((one) => one !== undefined)
}

/** What a command says of it: a sentence on one line, with what to do next. `changes`: whether it is more than a look. */
export function explain(error: unknown, changes: boolean): unknown {
  if (!(error instanceof HoldpointError)) return error
  if (error instanceof Refused) return flagAtFault(error) ?? new CommandRefused(sayRefusal(error), error.problem)
  if (error instanceof Unreachable) {
    const sentence = visibleLine(error.message)
    const uncertain =
      changes && error.mayHaveArrived ? ' What was asked for may have been done: look before you ask again.' : ''
    return new NotReached(`${sentence} Start it, or say where it is with --url or HOLDPOINT_URL.${uncertain}`)
  }
  return new CommandRefused(visibleLine(error.message))
}

/** An exit code of its own tells it from a no. */
export class NotReached extends Error {
  override name = 'NotReached'
}

/** A filter that the service does not take was given as a flag. */
function flagAtFault({ code, message }: Refused): ConfigProblems | null {
  const [, name, problem] = /^Query parameter '([a-z_]+)' ([^]*)$/.exec(message) ?? []
  if (code !== 'invalid_request' || name === undefined || problem === undefined) return null
  const flag = name === 'session_key' ? 'session' : name.replaceAll('_', '-')
  return wrong(flag, visibleLine(problem.replace(/ \(in a URL, [^)]*\)/, '').replace('%2B', '+')))
}

/** The service speaks to programs; here it is a flag. */
const nextSteps: Partial<Record<string, string>> = {
  unauthorized: 'Give a key that is good in HOLDPOINT_KEY, or in a file with --key-file.',
  reason_required: 'Give one with -m.',
  typing_required: 'Give it with --typed, or at the question.',
}

export function sayRefusal({ code, message }: Refused): string {
  const step = nextSteps[code]
  return step === undefined ? visibleLine(message) : `${visibleLine(message)} ${step}`
}
