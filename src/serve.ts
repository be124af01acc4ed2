// The running service: open the store, listen, drain on SIGTERM.
import { existsSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { resolve } from 'node:path'
import { buildApp, type Holdpoint } from './app.js'
import { isLoopback, isOnlyHere, makesFirstKey } from './access/open-mode.js'
import { systemClock } from './clock.js'
import type { Config } from './config/schemas.js'
import { system } from './core/actor.js'
import { limitConnections, listen, type Listening, listenLocally, localSocket } from './listen.js'
import { createLogger, type Logger, logStream } from './log.js'
import type { NameCommand } from './program.js'
import { loadRules } from './rules-file.js'
import type { Service } from './service/service.js'
import { refuseDamaged } from './store/sqlite/database.js'
import { openSqliteStore } from './store/sqlite/sqlite.js'
import { onThread } from './store/sqlite/writing.js'
import { version } from './version.js'

/** Requests get most of the ten seconds that a supervisor allows; what remains is for the chats and the database. */
const drainMs = 6000
const sendGraceMs = 2000
const exitMs = 9500

export async function serve(config: Config, warnings: string[], nameCommand: NameCommand): Promise<void> {
  // The database holds what agents wanted to do: for its owner's eyes only.
  process.umask(0o077)
  const log = createLogger(config.logLevel, await logStream(process.stdout.isTTY))
  dieLoudly(log)
  for (const warning of warnings) log.warn(warning)
  const rules = config.policy === undefined ? null : loadRules(config.policy)
  rules?.warnings.forEach((warning) => log.warn({ policy: config.policy }, warning))
  const clock = systemClock()
  const isNew = !existsSync(config.dbPath)
  const store = openSqliteStore(config.dbPath, onThread, clock.now)
  const refuse = refuseDamaged(config.dbPath)
  const shareLimits = { connections: limitConnections() }
  const deps = { store, clock, log, rules, nameCommand, shareLimits }
  const holdpoint = await buildApp(config, deps).catch(refuse)
  const { service, routeLocal, startSending, stopSending } = holdpoint
  const { expired, pending, undelivered } = await service.start().catch(refuse)
  const listening = await listen(holdpoint, config).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  // Only now: a start that comes to nothing must not use up the one time that the key is shown.
  if (makesFirstKey(config)) await makeFirstKey(service, log)
  const closeLocal = await listenForOwner(config, routeLocal, log)
  startSending(listening.url, listening.webUrl ?? listening.url)
  const where = {
    // The URL is how this machine reaches it; others may, too.
    ...(isLoopback(config.host) ? {} : { host: config.host }),
    url: listening.url,
    ...(listening.webUrl === null ? {} : { web: listening.webUrl }),
    db: config.dbPath,
    ...(rules === null ? {} : { policy: config.policy, rules: rules.rules.length }),
    pending,
    expired,
    unsent: undelivered,
  }
  if (isNew) log.info({ db: config.dbPath }, `a new database was made: ${resolve(config.dbPath)}`)
  log.info(where, `Holdpoint ${version} is ready: ${sayWhere(listening, config)}; ${sayLeft(where)}`)
  const advice = `make a key: ${nameCommand('keys add --name NAME --role admin')}`
  if (service.openMode.isOpen()) sayOpen(config, log, advice)
  else if (!service.people.hasKeys()) sayShut(service, log, nameCommand, advice)
  if (config.callbackSecret === undefined && (await store.deliveries.nextDue('callback', 0)) !== undefined) {
    log.warn(
      'agents wait to be called back, which takes CONFIRMATION_CALLBACK_SECRET; until it is set, they go on waiting',
    )
  }

  let draining = false
  const drain = (signal: NodeJS.Signals) => {
    // The second time it is meant.
    if (draining) process.exit(1)
    draining = true
    setTimeout(() => process.exit(0), exitMs).unref()
    void (async () => {
      const closed = Promise.all([listening.close(drainMs), closeLocal()])
      // Only now: whoever reads this can rely on nothing being taken any more.
      log.info({ signal }, 'draining')
      await closed
      await service.stop()
      await stopSending(sendGraceMs)
      await store.close()
      log.info('stopped')
      log.flush(() => process.exit(0))
    })()
  }
  process.on('SIGTERM', drain)
  process.on('SIGINT', drain)
  process.on('SIGHUP', () => void reloadRules(config, holdpoint, log))
}

function sayWhere({ url, webUrl }: Listening, { publicUrl, dbPath }: Config): string {
  const pages = publicUrl ?? webUrl
  return `agents use ${url}, ${pages === null ? '' : `people open ${pages}, `}the database is ${resolve(dbPath)}`
}

/** What it found, and nothing of what it did not. */
function sayLeft({ pending, expired, unsent }: Record<'pending' | 'expired' | 'unsent', number>): string {
  return [
    `${pending} pending`,
    ...(expired === 0 ? [] : [`${expired} expired while it was down`]),
    ...(unsent === 0 ? [] : [`${unsent} messages still to be sent`]),
  ].join(', ')
}

function sayOpen(config: Config, log: Logger, advice: string): void {
  if (!isOnlyHere(config)) {
    log.warn(
      { auth: 'open', publicUrl: config.publicUrl },
      `it is open: there is no key yet, so everyone whom the public URL leads here may approve; ${advice}`,
    )
  } else
    log.warn({ auth: 'open' }, `it is open: there is no key yet, so everyone on this machine may approve; ${advice}`)
}

function sayShut({ openMode }: Service, log: Logger, nameCommand: NameCommand, advice: string): void {
  if (openMode.hasLostKeys()) {
    log.error(
      { auth: 'keys' },
      'the database has no key, but there was one: the database, or only its -wal file, was lost or replaced. Nobody is let ' +
        `in. Stop and restore a backup: ${nameCommand('restore FILE')}; or ${advice}`,
    )
  } else log.warn({ auth: 'keys' }, `there is no key yet, and nobody is let in without one; ${advice}`)
}

/** Where others can reach it, the service is never open: it makes the key to everything itself, and shows it once. */
async function makeFirstKey({ people, openMode }: Service, log: Logger): Promise<void> {
  // Where keys were lost it is no first start: that is said instead, and the owner decides how to go on.
  if (people.hasKeys() || openMode.hasLostKeys()) return
  const made = await people.addAdmin({ actor: system('first-start'), via: 'system' })
  // However quiet the log is told to be, this is the only chance to see it.
  log
    .child({}, { level: 'warn' })
    .warn({ key: made.secret }, 'made an admin key; it is shown this once, so keep it now')
  await new Promise<void>((resolve) => log.flush(() => resolve()))
}

async function listenForOwner(config: Config, route: RequestListener, log: Logger): Promise<() => Promise<void>> {
  const path = localSocket(config.dbPath)
  try {
    if (path === null) throw new Error('the path of the database is too long for a socket beside it')
    return await listenLocally(path, route)
  } catch (error) {
    log.warn(
      { reason: (error as Error).message },
      'commands about keys, people and sessions cannot reach this service: stop it first, or use HTTP',
    )
    return () => Promise.resolve()
  }
}

/** What is wrong with the new rules is said, and the old ones stay. */
async function reloadRules(
  { policy }: Config,
  { service, warnOfUntold }: Pick<Holdpoint, 'service' | 'warnOfUntold'>,
  log: Logger,
): Promise<void> {
  if (policy === undefined) {
    log.info('SIGHUP: there is no --policy to read again')
    return
  }
  try {
    const loaded = loadRules(policy)
    await service.useRules(loaded)
    loaded.warnings.forEach((warning) => log.warn({ policy }, warning))
    warnOfUntold()
    log.info({ policy, rules: loaded.rules.length }, 'the rules were read again')
  } catch (error) {
    log.error({ policy, problem: (error as Error).message }, 'the rules were not changed; the old ones stay in force')
  }
}

/** A bug ends the process: nothing is approved by a service that no longer knows what it does. */
function dieLoudly(log: Logger): void {
  const die = (error: unknown) => {
    log.fatal({ err: error }, 'stopped by a bug')
    log.flush(() => process.exit(1))
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
}
