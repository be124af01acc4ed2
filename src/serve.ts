// The running service: open the store, listen, drain on SIGTERM.
import { buildApp } from './app.js'
import { type Config, isLoopback } from './config.js'
import { listen } from './listen.js'
import { createLogger, type Logger } from './log.js'
import { openSqliteStore } from './store/sqlite.js'
import { version } from './version.js'

/** Requests get most of the ten seconds that a supervisor allows; what remains is for the chats and the database. */
const drainMs = 6000
const sendGraceMs = 2000
const exitMs = 9500

export async function serve(config: Config, warnings: string[]): Promise<void> {
  // The database holds what agents wanted to do: for its owner's eyes only.
  process.umask(0o077)
  const log = createLogger(config.logLevel, process.stdout.isTTY)
  dieLoudly(log)
  for (const warning of warnings) log.warn(warning)
  const store = openSqliteStore(config.dbPath)
  const { app, service, startSending, stopSending } = await buildApp(config, { store, log })
  const { expired, pending, unsent } = await service.start()
  const listening = await listen(app, config).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  startSending(listening.url, listening.webUrl ?? listening.url)
  const where = {
    url: listening.url,
    ...(listening.webUrl === null ? {} : { web: listening.webUrl }),
    db: config.dbPath,
  }
  log.info(
    where,
    `Holdpoint ${version} is ready: ${pending} pending, ${expired} expired while it was down, ${unsent} messages still to be sent`,
  )
  if (!isLoopback(config.host))
    log.warn({ host: config.host }, 'not on loopback: whoever reaches this address can approve')

  let draining = false
  const drain = (signal: NodeJS.Signals) => {
    // The second time it is meant.
    if (draining) process.exit(1)
    draining = true
    log.info({ signal }, 'draining')
    setTimeout(() => process.exit(0), exitMs).unref()
    void (async () => {
      await listening.close(drainMs)
      await service.stop()
      await stopSending(sendGraceMs)
      await store.close()
      log.info('stopped')
      log.flush(() => process.exit(0))
    })()
  }
  process.on('SIGTERM', drain)
  process.on('SIGINT', drain)
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
