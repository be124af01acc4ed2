// Sessions that are due rotate by themselves: those that time makes due, and those that had to wait for what was pending.
import { type Clock, createAlarm } from '../clock.js'
import { system } from '../core/actor.js'
import { dueOf, resetTimeOf, type Session } from '../sessions/session.js'
import { type Commits, type Store, StoreUnavailable } from '../store/store.js'
import { type Runs, withEvents } from './runs.js'
import { nextTurn } from './turnstile.js'

const batch = 200
/** Each takes four reads and a commit: at four in the morning many are due, and others want to go on. */
const rotatedAtOnce = 25
const retryMs = 1000

export function createRotation(store: Store, clock: Clock, runs: Runs) {
  /** Those that wait for what was pending, by requester and key. */
  const held = new Map<string, Pick<Session, 'requester' | 'key'>>()
  /** Which of those to look at. */
  let freed = new Set<string>()
  let isStopped = false
  let refreshing: Promise<void> = Promise.resolve()

  const alarm = createAlarm(clock, () => orLater(sweep))
  let unfollow = () => {}

  /** What it answers, or when to try again where the database does not. */
  async function orLater(ask: () => Promise<number | undefined>): Promise<number | undefined> {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return clock.now() + retryMs
    }
  }

  async function notice({ changed }: Commits): Promise<void> {
    const next = await orLater(async () => {
      // Once each: what is committed together may be about one session many times.
      const news = new Map<string, { requester: string; id: string }>()
      for (const one of changed) if (one.kind === 'session') news.set(nameOf(one.requester, one.id), one)
      for (const [name, { requester, id }] of news) {
        const session = await store.sessions.get(requester, id)
        if (session?.due == null) held.delete(name)
        else held.set(name, session)
      }
      for (const one of changed) {
        if (one.kind !== 'confirmation' || held.size === 0) continue
        const about = await store.confirmations.brief(one.id)
        const name = about === undefined ? '' : nameOf(about.share, about.sessionKey)
        if (held.has(name)) freed.add(name)
      }
      if (freed.size > 0) return clock.now()
      return news.size > 0 ? store.sessions.nextDue() : undefined
    })
    if (next !== undefined) alarm.by(next)
  }

  /** Rotates what is due; answers when the next one is. */
  async function sweep(): Promise<number | undefined> {
    const released = [...freed]
    freed = new Set()
    for (const name of released) {
      const place = held.get(name)
      const session = place && (await store.sessions.get(place.requester, place.key))
      if (session !== undefined) await end(session)
    }
    for (;;) {
      const due = await store.sessions.due(clock.now(), rotatedAtOnce)
      if (due.length === 0 || isStopped) return store.sessions.nextDue()
      await Promise.all(due.map(end))
      await nextTurn()
    }
  }

  /** One that is not due after all, by the rules as they are now, is looked at again when it is. */
  async function end(session: Session): Promise<void> {
    const now = clock.now()
    const rule = runs.ruleOf(session.key)
    const due = dueOf(session, rule, now)
    if (due === null) return store.sessions.setReset([{ ...session, resetAt: resetTimeOf(session.run, rule) }])
    const { part } = await runs.end(session, due, now, { actor: system('sessions'), at: now, via: 'system' })
    const change = withEvents(part)
    // Whoever was faster has told of it.
    if (change !== null) await store.commit(change)
  }

  /** Brings the times in line with the rules, a few sessions at a time. */
  function refresh(): Promise<void> {
    refreshing = refreshing.then(async () => {
      const next = await orLater(async () => {
        for (let place: Session | null = null; !isStopped;) {
          const some: Session[] = await store.sessions.walk(place, batch)
          const changed = some.flatMap((session) => {
            const resetAt = resetTimeOf(session.run, runs.ruleOf(session.key))
            // One that is recorded as due is looked at by itself, one that is due by now at once.
            const isSettled = session.due !== null || (session.resetAt !== null && session.resetAt <= clock.now())
            return isSettled || resetAt === session.resetAt ? [] : [{ ...session, resetAt }]
          })
          if (changed.length > 0) await store.sessions.setReset(changed)
          if (some.length < batch) break
          place = some.at(-1)!
          await nextTurn()
        }
        return store.sessions.nextDue()
      })
      if (next !== undefined) alarm.by(next)
    })
    return refreshing
  }

  return {
    async start(): Promise<void> {
      // Only now: a service for one command does what it is asked for, and nothing else.
      unfollow = store.follow((commits) => void notice(commits))
      for (let place: Session | null = null; ;) {
        const some: Session[] = await store.sessions.held(place, batch)
        for (const one of some) {
          held.set(nameOf(one.requester, one.key), one)
          freed.add(nameOf(one.requester, one.key))
        }
        if (some.length < batch) break
        place = some.at(-1)!
      }
      alarm.by(clock.now())
      void refresh()
    },
    /** Something is due by now. */
    soon: () => alarm.by(clock.now()),
    /** After other rules were loaded. */
    refresh,
    async stop(): Promise<void> {
      isStopped = true
      unfollow()
      await alarm.stop()
      await refreshing
    },
  }
}

function nameOf(requester: string, key: string): string {
  return `${requester}\0${key}`
}
