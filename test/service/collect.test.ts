// For any sessions and settings, exactly those go that a simple model names.
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { hold } from '../../src/core/confirmation.js'
import { createCollector } from '../../src/service/collect.js'
import { type CollectableRun, collectRuleOf, usualSettings } from '../../src/sessions/collect.js'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.js'
import { onThisThread } from '../../src/store/sqlite/writing.js'
import type { Write } from '../../src/store/store.js'
import { locally, person, someEvent } from '../actors.js'
import { pastOf, runOf, seed, sessionOf } from '../sessions/seed.js'
import { submissionOf } from '../submission.js'
import { manualClock, t0, temporaryFolder } from '../support.js'

const hour = 3_600_000
const day = 24 * hour
const ages = [0, hour - 1, hour, day - 1, day, 7 * day - 1, 7 * day, 40 * day]

const oneRun = fc.record({
  age: fc.constantFrom(...ages),
  messages: fc.constantFrom(0, 1, 5, 6),
  isPending: fc.boolean(),
})
const oneSession = fc.record({
  current: fc.option(oneRun),
  past: fc.array(oneRun, { maxLength: 2 }),
  isSuspended: fc.boolean(),
  isDue: fc.boolean(),
  failures: fc.constantFrom(0, 2),
  repeats: fc.constantFrom(0, 1, 2),
  isGranted: fc.boolean(),
})
const asked = fc.record({
  emptyHours: fc.constantFrom(0, 24),
  trivialMax: fc.constantFrom(0, 5),
  trivialDays: fc.constantFrom(0, 7),
  maxAgeDays: fc.constantFrom(null, 30),
})

t.test('what goes is what is shown, and nothing goes that must stay', async (t) => {
  const folder = temporaryFolder(t)
  let count = 0
  const holds = fc.asyncProperty(fc.array(oneSession, { maxLength: 6 }), asked, async (all, numbers) => {
    const settings = { ...usualSettings, ...numbers }
    const goes: string[] = []
    const stays: string[] = []
    const judge = (run: CollectableRun, isKept: boolean) =>
      (isKept || collectRuleOf(run, settings, t0) === null ? stays : goes).push(run.id)
    const writes: Write[] = []
    const pend = (sessionKey: string, sessionId: string, at: number) => {
      const pending = hold(submissionOf({ sessionKey, timeoutSeconds: 100 * 86_400 }), `c${sessionId}`, at)
      writes.push({ kind: 'confirmation', expect: 'absent', record: { ...pending, sessionId } })
    }

    const [sessions, past] = [all.map(seedSession), all.flatMap(seedPast)]

    function seedSession(one: (typeof all)[number], s: number) {
      const { current, isSuspended, isDue, failures, repeats, isGranted } = one
      const key = `k${s}`
      const run = current === null ? null : runOf(`${s}`, t0 - current.age, current.messages)
      if (run !== null) {
        const isKept = isSuspended || isDue || isGranted || current!.isPending
        judge({ ...run, requester: '', key, platform: null, isCurrent: true }, isKept)
        if (current!.isPending) pend(key, run.id, run.lastActiveAt)
      }
      if (isGranted) {
        const scope = { action: 'ping', sessionKey: key, requester: null, when: null, details: null }
        const terms = { expiresAt: null, maxUses: null, reason: null, grantedBy: person('alice') }
        const times = { createdAt: t0, givenAt: t0, revokedAt: null }
        const record = { ...scope, ...terms, ...times, id: `g${s}`, version: 1, uses: 0 }
        writes.push({ kind: 'grant', expect: 'absent', record })
      }
      return sessionOf(key, run, {
        suspension: isSuspended && run !== null ? { at: t0, by: 'olga', reason: null } : null,
        due: isDue && run !== null ? { at: t0, reason: 'manual', to: null } : null,
        streak: { failures, steps: 0, steppedAt: 0, waitsUntil: 0 },
        fixation: repeats === 0 ? null : { action: 'a', digest: 'd', repeats },
      })
    }

    function seedPast({ past, isSuspended, current }: (typeof all)[number], s: number) {
      return past.map(({ age, messages, isPending }, p) => {
        const run = runOf(`${s}.${p}`, t0 - age, messages)
        const isKept = isPending || (isSuspended && current !== null)
        judge({ ...run, requester: '', key: `k${s}`, platform: null, isCurrent: false }, isKept)
        if (isPending) pend(`k${s}`, run.id, run.lastActiveAt)
        return pastOf(`k${s}`, run)
      })
    }

    const dbPath = join(folder, `${(count += 1)}.db`)
    seed(dbPath, sessions, past)
    const clock = manualClock()
    const store = openSqliteStore(dbPath, onThisThread, clock.now)
    await store.commit({ writes, events: [someEvent(t0)] })
    const desk = { store, budget: { recordFor: async () => true } }
    const collector = createCollector(desk, clock, null, async () => {})
    const shown = (await collector.list(settings, null)).items.map(({ run }) => run.id)
    t.same(shown.sort(), goes.sort())
    const events = (await store.events.lastSeq()) + (goes.length === 0 ? 0 : 1)
    const gone = await collector.collect(settings, locally)
    t.equal('refused' in gone ? -1 : gone.empty + gone.trivial + gone.aged, goes.length)
    t.equal(await store.events.lastSeq(), events)
    const left: string[] = []
    for (const [s, { past, failures, repeats }] of all.entries()) {
      const session = await store.sessions.get('', `k${s}`)
      if (session?.run != null) left.push(session.run.id)
      const earlier = await store.sessions.past('', `k${s}`, 10)
      left.push(...earlier.map(({ id }) => id))
      if (earlier.length > 0 || failures > 0 || repeats > 1 || all[s]!.isGranted) t.ok(session, 'it is needed still')
      if (session !== undefined && past.length + failures > 0) t.equal(session.streak.failures, failures)
    }
    t.same(left.sort(), stays.sort())
    await store.close()
  })
  await fc.assert(holds, { numRuns: 60 })
})
