// The connections of all servers: a bound for all and a share for each requester. A connection is whose key was last shown on
// it, and nobody's before that. Who comes when there is no room takes the place of one that is idle.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '../policy/share.js'
import type { Api } from './api.js'
import type { Problem } from './errors.js'
import type { Shares } from './shares.js'
import { hasBody } from './body.js'
import { refuse } from './socket.js'

export interface Connections {
  /** Counts and bounds those of this server from now on. */
  watch(server: Server): void
  count(): number
  /** Ends all that have no request under way, also those that never sent anything; the others end with their answer. */
  drain(): void
}

interface Connection {
  socket: Socket
  owner: Owner
  /** Those that are not sent to their end yet, in the order of their requests. */
  answers: Set<ServerResponse>
}

interface Owner {
  name: string
  count: number
  /** Those with no request under way, the longest first. Who does not take an answer that is written is one of them. */
  idle: Set<Connection>
}

/** Requests one behind the other that one connection may have under way. Each may be held, and takes memory. */
const maxUnderWay = 16
/** So many of those that found no room are told so at a time; beyond that they are cut off, for each has a file open. */
const maxRefused = 100

/** `onAccept` is told of each that found a place. */
export function createConnections(
  app: Api,
  shares: Shares,
  { total, each }: Limits,
  onAccept: () => void,
): Connections {
  const all = new Map<Socket, Connection>()
  // Only who has a connection is remembered.
  const owners = new Map<string, Owner>()
  const nobody: Owner = { name: '', count: 0, idle: new Set() }
  let refused = 0
  let draining = false

  function accept(socket: Socket): void {
    if (all.size >= total && !makeRoom()) return refuseOne(socket)
    const connection: Connection = { socket, owner: nobody, answers: new Set() }
    all.set(socket, connection)
    nobody.count += 1
    nobody.idle.add(connection)
    onAccept()
    socket.once('close', () => forget(connection))
  }

  /** The longest idle of nobody's makes room, or else of whoever has the most. What is under way is never cut off for it. */
  function makeRoom(): boolean {
    let most = nobody
    if (nobody.idle.size === 0) {
      for (const owner of owners.values()) {
        if (owner.idle.size > 0 && (most === nobody || owner.count > most.count)) most = owner
      }
    }
    const [longest] = most.idle
    if (longest === undefined) return false
    forget(longest)
    longest.socket.destroy()
    return true
  }

  function refuseOne(socket: Socket): void {
    if (refused >= maxRefused) return void socket.destroy()
    refused += 1
    socket.once('close', () => (refused -= 1))
    refuse(socket, tooMany('As many connections are open as there may be, and none is idle'))
  }

  function tooMany(what: string): Problem {
    return shares.refuse('connections', `${what}; try again in 5 s.`, 5)
  }

  function forget(connection: Connection): void {
    if (!all.delete(connection.socket)) return
    leave(connection)
  }

  function leave(connection: Connection): void {
    const { owner } = connection
    owner.idle.delete(connection)
    owner.count -= 1
    if (owner.count === 0) owners.delete(owner.name)
  }

  function begin({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = all.get(socket)
    if (connection === undefined) return
    connection.answers.add(response)
    settle(connection)
    response.once('prefinish', () => settle(connection))
    response.once('close', () => {
      connection.answers.delete(response)
      settle(connection)
    })
    // What comes out of turn cannot be answered before the others are.
    if (connection.answers.size > maxUnderWay) socket.destroy()
  }

  /** Whether it is idle: the first of its answers is written, or there is none. */
  function settle(connection: Connection): void {
    const { socket, owner, answers } = connection
    if (!all.has(socket)) return
    const [first] = answers
    if (first?.writableEnded === false) owner.idle.delete(connection)
    else owner.idle.add(connection)
    if (draining && first === undefined) socket.destroySoon()
  }

  /** What it is from now on; answers whether its owner has more than there may be. */
  function assign(connection: Connection, who: string): boolean {
    // Nobody's idle ones make room anyway; only what they have under way counts.
    if (who === '') return connection.owner === nobody && nobody.count - nobody.idle.size > each
    const owner = owners.get(who) ?? { name: who, count: 0, idle: new Set() }
    if (connection.owner !== owner) {
      leave(connection)
      connection.owner = owner
      owner.count += 1
      owners.set(who, owner)
    }
    return owner.count > each
  }

  // When it is known who asks, and before anything is read of the body.
  app.addHook('preParsing', (request, reply, payload, done) => {
    const connection = all.get(request.raw.socket)
    const who = shares.requesterOf(request)
    // Supervisors must get an answer then too; and what comes without a key or a body is answered at once.
    const isExempt = request.routeOptions.config.rateLimit === false || (who === '' && !hasBody(request))
    if (connection === undefined || who === null || !assign(connection, who) || isExempt) return done(null, payload)
    void reply.header('connection', 'close')
    const whose = who === '' ? 'without a key' : request.linkHash === null ? `of ${who}` : 'by this link'
    done(tooMany(`As many connections ${whose} are open as their share is`))
  })

  return {
    watch(server) {
      server.on('connection', accept)
      // Before the listener that answers.
      server.prependListener('request', begin)
      server.prependListener('checkExpectation', begin)
    },

    count: () => all.size,

    drain() {
      draining = true
      for (const { socket, answers } of all.values()) if (answers.size === 0) socket.destroy()
    },
  }
}
