// Which code carries out which command beside serving.
import { ConfigProblems, type PlainCommand, type Remote } from '../command.js'
import type { Config } from '../config/schemas.js'
import { createPolicy } from '../policy/policy.js'
import { rulesJsonSchema } from '../policy/schema.js'
import { type NameCommand, plainCommand } from '../program.js'
import { loadRules, readText } from '../rules-file.js'
import {
  addKey,
  type Context,
  listKeys,
  listPeople,
  offerSignIn,
  revokeKeys,
  rotateKey,
  setPerson,
} from './key-commands.js'
import { createOutput, type Output, printJson } from './output.js'
import { type Machine, thisMachine } from './install/machine.js'
import { checkRules, explainAction, explainedAction, problemWithDetails } from './policy-report.js'
import { explain } from './reach.js'
import { approveRequest, denyRequest, listPending, showRequest } from './request-commands.js'
import {
  listSessions,
  resetSession,
  resumeSession,
  showSession,
  suspendSession,
  switchSession,
} from './session-commands.js'
import { addToWhitelist, listWhitelist, revokeFromWhitelist } from './whitelist-commands.js'

/** Answers the exit code. */
export async function carryOut(
  given: PlainCommand,
  config: Config,
  output: Output = createOutput(),
  nameCommand: NameCommand = plainCommand,
  remote: Remote = { url: undefined, key: undefined },
  machine: Machine = thisMachine({ program: ['holdpoint'], folder: '.', cwd: '.', env: {} }),
): Promise<number> {
  const context = { given, config, output, nameCommand, remote }
  const isDone = await Promise.resolve(handlers[given.name](context, machine)).catch((error: unknown) => {
    throw explain(error, !looks.includes(given.name))
  })
  return typeof isDone === 'number' ? isDone : isDone === false ? 1 : 0
}

/** These change nothing, whatever becomes of them. */
const looks: PlainCommand['name'][] = ['pending', 'show', 'watch', 'whitelist list', 'audit', 'export']

/** False: it was carried out, and the answer is no. A number is the exit code. */
type Handler = (context: Context, machine: Machine) => Promise<boolean | number | void>

const handlers: Record<PlainCommand['name'], Handler> = {
  'keys add': addKey,
  'keys list': listKeys,
  'keys revoke': revokeKeys,
  'keys rotate': rotateKey,
  signin: offerSignIn,
  'people set': setPerson,
  'people list': listPeople,
  'sessions list': listSessions,
  'sessions show': showSession,
  'sessions reset': resetSession,
  'sessions suspend': suspendSession,
  'sessions resume': resumeSession,
  'sessions switch': switchSession,
  'sessions gc': async (context) => (await import('./collect-command.js')).collectSessions(context),
  pending: listPending,
  show: showRequest,
  approve: approveRequest,
  deny: denyRequest,
  watch: async (context) => (await import('./watch/watch-command.js')).watch(context),
  'whitelist list': listWhitelist,
  'whitelist add': addToWhitelist,
  'whitelist revoke': revokeFromWhitelist,
  audit: async (context) => (await import('./audit-command.js')).listAudit(context),
  export: async (context) => (await import('./export-command.js')).exportAudit(context),
  mcp: async (context) => (await import('./mcp-command.js')).serveMcp(context),
  digest: async (context) => (await import('./digest-command.js')).printDigest(context),
  completion: async ({ given, output }) =>
    output.print((await import('./completion.js')).completionFor(given.argument)),
  'policy check': async ({ given, output }) => {
    const { ok, text, data } = checkRules(readText(given.argument), given.argument)
    if (given.options.json === true) printJson(output, data)
    else output.print(text)
    return ok
  },
  'policy explain': async ({ given, config, output }) => {
    const { rules = null, sessions = null } = config.policy === undefined ? {} : loadRules(config.policy)
    const rate = { max: config.rateLimit, windowMs: config.rateWindow * 1000, isPerRequester: true }
    const policy = createPolicy(rules, { rate }, sessions)
    const asked = [policy, given.argument.trim(), readDetails(given.options.details)] as const
    if (given.options.json === true) printJson(output, explainedAction(...asked))
    else output.print(explainAction(...asked))
  },
  'policy schema': async ({ output }) => output.print(rulesJsonSchema()),
  install: async (context, machine) => (await import('./install/install-command.js')).install(context, machine),
  'notify test': async (context) => (await import('./notify-command.js')).testChats(context),
  // Only when asked for, both: they are most of the program.
  backup: async (context) => (await import('./backup-commands.js')).makeBackup(context),
  restore: async (context) => (await import('./backup-commands.js')).restore(context),
}

function readDetails(text: string | true | undefined): string {
  const details = text === undefined ? '{}' : String(text)
  const problem = problemWithDetails(details)
  if (problem !== null) throw new ConfigProblems([`--details: ${problem}`])
  return details
}
