// Plays Discord's Gateway: sessions that outlive their connections, with the codes and limits of the real one.
import type { Teardown } from './chat-server.js'
import { type Guest, type SocketServer, startSocketServer } from './socket-server.js'

export interface FakeGateway {
  url: string
  /** All that ever connected, the last one last. */
  guests: Guest[]
  refuse: SocketServer['refuse']
  /** What is said of the sessions that may be begun. */
  limit: { total: number; remaining: number; reset_after: number; max_concurrency: number }
  /** When each session was begun, as far as it was tried. */
  identified: number[]
  /** How often one went on, as far as it was tried. */
  resumed: number
  /** The sequence numbers that came with heartbeats. */
  beats: (number | null)[]
  /** Whether heartbeats are answered. */
  answersBeats: boolean
  /** Tells it to the session, now or when it goes on; its number there. */
  tell(type: string, data: object): number
  /** Waits until somebody has a session that is told. */
  listened(): Promise<void>
  isListened(): boolean
  /** Any operation to those that are connected. */
  say(message: object): void
  /** Asks them to come back. */
  reconnect(): void
  /** The session is no good now; it may be gone altogether. */
  invalidate(canResume: boolean): void
  /** The session cannot go on, which nobody is told before they try. */
  forget(): void
  close(code: number): void
  /** Breaks all connections without a word. */
  drop(): void
  freeze(): void
}

interface Session {
  id: string
  guest: Guest | null
  isReady: boolean
  seq: number
  events: { s: number; t: string; d: object }[]
}

const ops = { event: 0, heartbeat: 1, identify: 2, resume: 6, reconnect: 7, invalid: 9, hello: 10, heard: 11 }
const codes = { unknown: 4001, unreadable: 4002, noSession: 4003, badToken: 4004, already: 4005, badSeq: 4007 }
const privileged = (1 << 1) | (1 << 8) | (1 << 15)
const maxBytes = 4096

export async function startGateway(
  t: Teardown,
  botToken: string,
  ready: object,
  { now, beatMs, identifyPauseMs }: { now(): number; beatMs: number; identifyPauseMs: number },
): Promise<FakeGateway> {
  let session: Session | null = null
  let count = 0
  const busy = new Set<Guest>()

  const line = await startSocketServer(t, greet, hear)

  function greet(guest: Guest): void {
    const { url } = guest
    if (url.searchParams.get('v') !== '10' || url.searchParams.get('encoding') !== 'json') return guest.close(4012)
    guest.say({ op: ops.hello, d: { heartbeat_interval: beatMs }, s: null, t: null })
  }

  function hear(guest: Guest, message: any): void {
    const d = message?.d
    if (typeof message !== 'object' || JSON.stringify(message).length > maxBytes) return guest.close(codes.unreadable)
    switch (message.op) {
      case ops.heartbeat:
        gateway.beats.push(d)
        if (d !== null && d !== session?.seq && !(d < (session?.seq ?? 0))) return guest.close(codes.badSeq)
        if (gateway.answersBeats) guest.say({ op: ops.heard, d: null, s: null, t: null })
        return
      case ops.identify:
        return identify(guest, d)
      case ops.resume:
        return resume(guest, d)
      default:
        return guest.close(busy.has(guest) ? codes.unknown : codes.noSession)
    }
  }

  function identify(guest: Guest, d: any): void {
    if (busy.has(guest)) return guest.close(codes.already)
    const at = now()
    const last = gateway.identified.at(-1) ?? -Infinity
    gateway.identified.push(at)
    if (d?.token !== botToken) return guest.close(codes.badToken)
    const names = Object.keys(d.properties ?? {})
      .sort()
      .join()
    if (!Number.isInteger(d.intents) || names !== 'browser,device,os') return guest.close(4013)
    if ((d.intents & privileged) !== 0) return guest.close(4014)
    if (at - last < identifyPauseMs || gateway.limit.remaining <= 0) return invalid(guest, false)
    gateway.limit.remaining -= 1
    count += 1
    session = { id: `session-${count}`, guest, isReady: false, seq: 0, events: [] }
    busy.add(guest)
    gateway.tell('READY', { v: 10, session_id: session.id, resume_gateway_url: `${line.url}/resume`, ...ready })
    session.isReady = true
  }

  function resume(guest: Guest, d: any): void {
    if (busy.has(guest)) return guest.close(codes.already)
    gateway.resumed += 1
    if (d?.token !== botToken) return guest.close(codes.badToken)
    if (session === null || d.session_id !== session.id || !guest.url.pathname.startsWith('/resume')) {
      return invalid(guest, false)
    }
    if (!Number.isInteger(d.seq) || d.seq > session.seq) return guest.close(codes.badSeq)
    session.guest = guest
    busy.add(guest)
    for (const event of session.events) if (event.s > d.seq) guest.say({ op: ops.event, ...event })
    gateway.tell('RESUMED', {})
  }

  function invalid(guest: Guest, canResume: boolean): void {
    guest.say({ op: ops.invalid, d: canResume, s: null, t: null })
  }

  const openOnes = () => line.guests.filter((one) => one.isOpen())
  const gateway: FakeGateway = {
    url: line.url,
    guests: line.guests,
    refuse: line.refuse,
    limit: { total: 1000, remaining: 1000, reset_after: 86_400_000, max_concurrency: 1 },
    identified: [],
    resumed: 0,
    beats: [],
    answersBeats: true,
    tell(type, data) {
      if (session === null) throw new Error('there is no session')
      session.seq += 1
      const event = { s: session.seq, t: type, d: data }
      session.events.push(event)
      if (session.guest?.isOpen() === true) session.guest.say({ op: ops.event, ...event })
      return session.seq
    },
    isListened: () => session?.isReady === true && session.guest?.isOpen() === true,
    async listened() {
      for (const end = Date.now() + 10_000; !gateway.isListened();) {
        if (Date.now() > end) throw new Error('nobody listens')
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    say(message) {
      for (const one of openOnes()) one.say(message)
    },
    reconnect: () => gateway.say({ op: ops.reconnect, d: null, s: null, t: null }),
    invalidate(canResume) {
      if (!canResume) session = null
      for (const one of openOnes()) invalid(one, canResume)
    },
    forget: () => void (session = null),
    close(code) {
      for (const one of openOnes()) one.close(code)
    },
    drop() {
      for (const one of openOnes()) one.cut()
    },
    freeze() {
      for (const one of openOnes()) one.freeze()
    },
  }
  return gateway
}
