// Wiring: from settings and a store to an app that answers. What tests build.
import { randomBytes, randomFillSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify from 'fastify'
import { v7 as uuid } from 'uuid'
import { isAapPath } from './aap/problem.js'
import { isOnlyHere, mayBeOpen } from './access/open-mode.js'
import { anyone } from './access/role.js'
import { createArrival } from './chat/arrival.js'
import { createListener } from './chat/commands.js'
import { createEars } from './chat/ears.js'
import { createPresses } from './chat/press.js'
import { type AllowedUsers, createWho } from './chat/who.js'
import { type Clock, systemClock, systemTimeZone } from './clock.js'
import type { Config } from './config/schemas.js'
import { type Recipient, textOf } from './core/actor.js'
import { stringifyInert } from './core/json.js'
import { type ChatName, chatTitles, type DeliveryKey, personalChats } from './core/model.js'
import { type Logger, logEvents } from './log.js'
import { createMetrics } from './metrics.js'
import type { Pace } from './mcp/acts.js'
import { createAddressGuard } from './notify/address.js'
import { createCallback } from './notify/callback.js'
import { createCards } from './notify/cards.js'
import { carryAll, carryCallbacks, type Routing } from './notify/carrier.js'
import type { Chat } from './notify/chat.js'
import { createChats } from './notify/chats.js'
import { isSameDelivery } from './notify/delivery.js'
import { createFollower } from './notify/follower.js'
import { announceInLog } from './notify/log-channel.js'
import { createOutbox } from './notify/outbox.js'
import { type NameCommand, plainCommand } from './program.js'
import { aapRoutes } from './routes/aap.js'
import { type Api, beginAnswers, refuseUnnamed, takeTurns, useZod, withoutCompilers } from './routes/api.js'
import { limitAnswers } from './routes/answer-room.js'
import { apiDescription } from './routes/answers.js'
import { auditRoutes } from './routes/audit.js'
import { authenticate } from './routes/auth.js'
import { batchRoutes } from './routes/batch.js'
import { limitBodies } from './routes/body.js'
import { chatRoutes } from './routes/chat.js'
import { confirmRoutes } from './routes/confirm.js'
import { type Connections, createConnections } from './routes/connections.js'
import { createCursors } from './routes/cursor.js'
import { createErrorHandler } from './routes/errors.js'
import { exportRoutes } from './routes/export.js'
import { limitFloods } from './routes/flood.js'
import { healthRoutes } from './routes/health.js'
import { parseBodies } from './routes/json-body.js'
import { answerHooksInTime, hookRoutes } from './routes/hooks.js'
import { keyRoutes } from './routes/keys.js'
import { readLargeBodies } from './routes/large-body.js'
import { mcpRoutes } from './routes/mcp.js'
import { answerNotFound } from './routes/not-found.js'
import { collectRoutes, describeApi } from './routes/openapi.js'
import { checkOrigin } from './routes/origin.js'
import { pageRoutes } from './routes/pages/pages.js'
import { submitBody } from './routes/requests.js'
import { sessionGcRoutes } from './routes/session-gc.js'
import { sessionRoutes } from './routes/sessions.js'
import { createShares, type ShareLimits, shareLimits } from './routes/shares.js'
import { guardServer, refuseSocket, serverOptions } from './routes/socket.js'
import { streamRoutes } from './routes/stream.js'
import { readUsual } from './routes/usual.js'
import { callbackView } from './routes/view.js'
import { normalTarget } from './routes/target.js'
import { whitelistRoutes } from './routes/whitelist.js'
import { createService, type LoadedRules, type Service } from './service/service.js'
import { type Store, StoreUnavailable } from './store/store.js'
import { version } from './version.js'

export interface Deps {
  store: Store
  log: Logger
  clock?: Clock
  newId?: () => string
  newSessionId?: () => string
  random?: () => number
  /** 256 bits and more of chance, as hexadecimal digits. */
  chance?: () => string
  rules?: LoadedRules | null
  /** Others than those of the settings. */
  chats?: Chat[]
  timeZone?: string
  /** How whoever runs it calls the program. */
  nameCommand?: NameCommand
  /** Others than the usual. */
  shareLimits?: Partial<ShareLimits>
  mcpPace?: Partial<Pace>
}

export interface Holdpoint {
  app: Api
  connections: Connections
  service: Service
  /** What openapi.yaml must be: the routes as they describe themselves. */
  openapi(): string
  /** Answers what came through the database's own socket: about keys, people and sessions, as their owner. */
  routeLocal(request: IncomingMessage, response: ServerResponse): void
  /** Says in the log who is to be told and cannot be. */
  warnOfUntold(): void
  /** Once it is known where agents and where people reach it, which every notice says. */
  startSending(url: string, peopleUrl: string): void
  stopSending(graceMs: number): Promise<void>
}

/** openapi.yaml, written beforehand by npm run docs: to make it takes a tenth of a second. Read once, for all who ask. */
let description: string | undefined
const descriptionFile = new URL('../../openapi.yaml', import.meta.url)
const bodyLimit = 1024 * 1024

export async function buildApp(config: Config, deps: Deps): Promise<Holdpoint> {
  const { store, log, clock = systemClock(), newId = createIds(), random = Math.random, rules = null } = deps
  const { chance = () => randomBytes(48).toString('hex'), nameCommand = plainCommand } = deps
  const { newSessionId = createIds(), timeZone = systemTimeZone() } = deps
  const { chats = createChats(config, version) } = deps
  const { problemWith: problemWithCallback, callback } = configuredCallback(config)
  let pagesUrl = config.publicUrl ?? ''
  const read = async (id: string) => {
    const found = await service.find(id, anyone)
    return 'refused' in found ? undefined : found.confirmation
  }
  const makeCard = createCards({
    newButtons: (of, presser) => service.newButtons(of, presser),
    /** Where many read it, and where it can be decided by a press, the page asks who opens it. */
    async pageFor(confirmation, chat, place) {
      const page = {
        url: `${pagesUrl}/view/${confirmation.id}`,
        isPublic: config.publicUrl !== undefined,
        decides: false,
      }
      const isForOne = chat.isPrivate(place)
      if (confirmation.status !== 'pending' || chat.name === 'ntfy' || (chat.hasButtons() && !isForOne)) return page
      try {
        const recipient = recipientOf(chat, place, config, service)
        const token = await service.makeLink(confirmation, recipient, chat.name)
        return { ...page, url: `${pagesUrl}/link/${token}`, decides: true }
      } catch (error) {
        if (error instanceof StoreUnavailable) return page
        throw error
      }
    },
  })
  const nameOf = (chat: Chat, id: string) => {
    const channel = personalChats.find((one) => one === chat.name)
    const known = channel === undefined ? null : who.know({ channel, id, isNobody: false })
    return known === null ? id : textOf(known)
  }
  const list = () => ({ url: `${pagesUrl}/`, isPublic: config.publicUrl !== undefined })
  const routing: Routing = {
    linesFor: (subject, occasion) => service.tellings.linesFor(subject, occasion),
    ownerOf: (place) => service.tellings.ownerOf(place),
  }
  const messageOf = async (of: DeliveryKey) => {
    const found = (await store.deliveries.of(of.subjectId)).find((one) => isSameDelivery(one, of))
    return found?.message ?? null
  }
  const outbox = createOutbox({
    store,
    clock,
    carriers: [
      ...carryAll(chats, routing, { makeCard, read, nameOf, messageOf, list }, config.notifyRate),
      // Without a secret, what is to be called back waits for a start with one.
      ...(callback === null ? [] : [carryCallbacks(callback, (resolved) => stringifyInert(callbackView(resolved)))]),
    ],
    log,
    random,
  })
  const follower = createFollower({ store, clock, chats, makeCard, read, log, random })
  const service = createService({
    store,
    clock,
    newId,
    newSessionId,
    howToResume: (requester, key) => howToResume(requester, key, nameCommand),
    chance,
    rules,
    timeZone,
    collectEveryMs: config.sessionGcHours === 0 ? null : config.sessionGcHours * 3_600_000,
    rateLimit: { max: config.rateLimit, windowMs: config.rateWindow * 1000 },
    openLimit: config.openLimit,
    diskLimitBytes: config.diskLimit * 1024 * 1024,
    approvalMs: config.approvalTtl * 1000,
    reportMs: config.reportTimeout * 1000,
    chats: chats.map((chat) => ({
      name: chat.name,
      isPrivate: (place: string) => chat.isPrivate(place),
      home: homesIn(config)[chat.name],
    })),
    notify: config.notify,
    problemWithCallback,
    mayBeOpen: mayBeOpen(config),
  })
  const who = createWho(service, allowedUsers(config))
  // Anybody may read it, so it names no folder of this machine.
  const howToAllow = (channel: string, id: string) =>
    `You may not decide here: nobody has allowed your id, ${id}. Whoever runs Holdpoint can: ` +
    `${plainCommand(`people set --name NAME --${channel} ${id}`)}, or ${channel.toUpperCase()}_ALLOWED_USERS.`
  const { inbox } = store
  const arrival = createArrival(store, clock)
  const listener = createListener({
    service,
    findSent: arrival.findSent,
    showAnew: (of) => follower.ask(of, null),
    who,
    howToAllow,
    clock,
    log,
  })
  const presses = createPresses({
    service,
    follower,
    who,
    whenSent: arrival.whenSent,
    deliveryOf: (channel, message) => store.deliveries.ofMessage(channel, message),
    howToAllow,
  })
  const ears = createEars({ chats, presses, follower, listener, inbox, clock, random, log })
  const metrics = createMetrics(store, service)
  logEvents(store, log)
  announceInLog(store, log, () => pagesUrl, chats.length > 0)

  function warnOfUntold(): void {
    for (const problem of service.tellings.problems(service.policy().rules, nameCommand)) log.warn(problem)
  }

  const handleError = createErrorHandler(log)
  // Fastify's own logger stays off: one line an event, and a request is not an event.
  const app: Api = Fastify({
    bodyLimit,
    requestTimeout: serverOptions.requestTimeout,
    // beginAnswers says it as a problem.
    return503OnClosing: false,
    // Of a session key, once it is decoded.
    routerOptions: { maxParamLength: 1000 },
    rewriteUrl: ({ url = '' }) => normalTarget(url),
    genReqId: nameRequests(createIds()),
    schemaController: withoutCompilers,
    frameworkErrors: handleError,
    clientErrorHandler: refuseSocket,
    http: serverOptions,
  })
  guardServer(app.server)
  useZod(app, new Map([[submitBody, readUsual]]))
  app.setErrorHandler(handleError)
  beginAnswers(app)
  answerHooksInTime(app, clock.now, clock.after)
  const floods = await limitFloods(
    app,
    config.floodLimit,
    () => clock.now(),
    () => metrics.refused('requests'),
    async (token) => (await service.findLink(token)) ?? service.signIns.findGoodLink(token),
  )
  const ownNames = () => [config.host, ...(pagesUrl === '' ? [] : [new URL(pagesUrl).hostname])]
  checkOrigin(
    app,
    (name) => service.openMode.mayBeCalled(name, ownNames()),
    (origin) => URL.canParse(pagesUrl) && origin === new URL(pagesUrl).origin,
  )
  takeTurns(app, service.turnstile)
  const local = new WeakSet<IncomingMessage>()
  // Where others can reach it, nobody without a key is told where the database is.
  const makeKey = isOnlyHere(config) ? nameCommand('keys add --name NAME --role admin') : null
  const countRefusal = () => metrics.refused('refusals')
  const auth = authenticate(app, service, (raw) => local.has(raw), countRefusal, makeKey)

  const limits = { ...shareLimits, ...deps.shareLimits }
  const shares = createShares(service.openMode.isOpen, metrics.refused, limits)
  const connections = createConnections(app, shares, limits.connections, service.turnstile.giveWay)
  connections.watch(app.server)
  limitBodies(app, shares, clock.after)
  parseBodies(app, readLargeBodies(app, shares, service.turnstile))
  limitAnswers(app, shares)
  metrics.observe({
    taken: () => ({ connections: connections.count(), ...shares.taken() }),
    queued: shares.queued,
    kept: async () => ({
      requests: floods.names(),
      destinations: outbox.countDestinations(),
      slots: await store.quotas.count(),
    }),
  })
  // A caller who waits is answered with what there is before the server closes.
  app.addHook('preClose', (done) => {
    service.release()
    done()
  })

  const routes = collectRoutes(app)
  refuseUnnamed(app)
  const cursors = createCursors(await store.secret())
  confirmRoutes(app, service, auth, shares, cursors)
  hookRoutes(app, service, auth, shares)
  batchRoutes(app, service, floods.countAs)
  streamRoutes(app, service, auth, shares)
  whitelistRoutes(app, service, cursors)
  sessionRoutes(app, service, cursors)
  auditRoutes(app, service, cursors)
  exportRoutes(app, service, auth, shares)
  sessionGcRoutes(app, service, cursors)
  healthRoutes(app, service, metrics, version)
  keyRoutes(app, service, auth, () => pagesUrl, nameCommand('people set --name NAME'))
  mcpRoutes(app, shares, { onBug: (error) => log.error({ err: error }, 'a tool of MCP failed'), pace: deps.mcpPace })
  aapRoutes(app, service, auth, shares)
  await chatRoutes(app, ears)
  await pageRoutes(app, { service, auth, shares, cursors, chance, isSecure: () => pagesUrl.startsWith('https:') })
  app.get(
    '/openapi.yaml',
    {
      config: { needs: 'read' },
      schema: {
        operationId: 'getApiDescription',
        tag: 'service',
        summary: 'The description of the API',
        response: { 200: apiDescription },
      },
    },
    async (_request, reply) => {
      description ??= await readFile(descriptionFile, 'utf8')
      return reply.type('application/yaml').send(description)
    },
  )
  answerNotFound(app, routes)
  return {
    app,
    connections,
    service,
    openapi: () => describeApi(routes, version),
    routeLocal(request, response) {
      local.add(request)
      app.routing(request, response)
    },
    warnOfUntold,
    startSending(url, peopleUrl) {
      warnOfUntold()
      pagesUrl = config.publicUrl ?? peopleUrl
      outbox.start(url)
      follower.start()
      ears.start()
      for (const { name } of chats.filter((chat) => chat.hear !== null && chat.hasButtons())) {
        const channel = personalChats.find((one) => one === name)
        if (channel === undefined || who.isAnyKnown(channel)) continue
        const command = nameCommand(`people set --name NAME --${channel} ID`)
        const variable = `${channel.toUpperCase()}_ALLOWED_USERS`
        log.warn(
          { channel },
          `nobody may decide in ${chatTitles[channel]} yet: ${command}, or ${variable}. Whoever presses a button is told their ID.`,
        )
      }
    },
    async stopSending(graceMs) {
      await ears.stop(graceMs)
      await Promise.all([outbox.stop(graceMs), follower.stop(graceMs)])
    },
  }
}

/** Who reads what is sent to this place: all who are in it, or one person, where it is known whose place it is. */
function recipientOf({ name }: Chat, place: string, config: Config, { people }: Service): Recipient {
  const id = place === '' ? homesIn(config)[name] : place
  const channel = personalChats.find((one) => one === name)
  const person = channel === undefined ? undefined : people.byIdentity({ channel, id })
  return person === undefined ? { kind: 'chat', channel: name, id } : { kind: 'person', name: person.name }
}

/** By which id each chat knows the place of the settings. On Discord and Slack every channel has one, also one between two. */
function homesIn(config: Config): Record<ChatName, string> {
  const { telegramHomeChannel, discordHomeChannel, discordBotToken, slackChannel } = config
  return {
    telegram: String(telegramHomeChannel),
    discord: discordBotToken === undefined ? 'webhook' : String(discordHomeChannel),
    slack: String(slackChannel),
    ntfy: 'topic',
  }
}

/** By chat, as the settings have them. */
function allowedUsers(config: Config): AllowedUsers {
  return {
    telegram: new Set(config.telegramAllowedUsers),
    discord: new Set(config.discordAllowedUsers),
    slack: new Set(config.slackAllowedUsers),
  }
}

/** A key that is no plain word is found in the list: it may not survive being copied. */
function howToResume(requester: string, key: string, nameCommand: NameCommand) {
  const isPlain = (word: string) => /^[\w@%+=:,.][\w@%+=:,./-]*$/.test(word)
  const whose = requester === '' ? '' : ` --requester ${requester}`
  const words = isPlain(key) && (requester === '' || isPlain(requester)) ? `resume ${key}${whose}` : 'list --suspended'
  const query = requester === '' ? '' : `?requester=${encodeURIComponent(requester)}`
  return {
    command: nameCommand(`sessions ${words}`),
    request: `POST /sessions/${encodeURIComponent(key)}/resume${query}`,
  }
}

/** A callback must be signed, so without a secret there is none. */
function configuredCallback({ callbackSecret, callbackAllow }: Config) {
  if (callbackSecret === undefined) {
    const problem = 'cannot be used: callbacks are signed, and CONFIRMATION_CALLBACK_SECRET is not set on this service'
    return { problemWith: () => problem, callback: null }
  }
  const allowedHosts = callbackAllow ?? []
  return {
    problemWith: createAddressGuard(allowedHosts).problemWith,
    callback: createCallback({ secrets: callbackSecret, allowedHosts, version }),
  }
}

/** UUIDs in the order of time. */
function createIds(): () => string {
  const draw = createDraw(16)
  return () => uuid({ random: draw() })
}

/** Short, and no count: that would tell each how much the others ask. A UUID where the protocol wants one. */
function nameRequests(newUuid: () => string): (raw: { url?: string }) => string {
  const draw = createDraw(8)
  return ({ url = '' }) => (isAapPath(url) ? newUuid() : draw().toString('hex'))
}

/** So many random bytes, until the next draw. Drawn for many at once: one by one they are the dearest part of a request. */
function createDraw(size: number): () => Buffer {
  const pool = Buffer.alloc(256 * size)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += size
    return pool.subarray(used - size, used)
  }
}
