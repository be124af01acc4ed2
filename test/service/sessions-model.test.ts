// For any sequence of messages, submissions, decisions, resets and restarts the stored counts are those of a simple model.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { anyone } from '../../src/access/role.js'
import { build, type Built, counter, manualClock, temporaryFolder } from '../support.js'
import { join } from 'node:path'

const keys = ['agent:main:telegram:dm:7', 'other']
const max = 6
const idleMs = 30 * 60_000
const rules = `sessions: { mode: idle, idle: 30, max_messages: ${max} }`
const ops = ['ops', anyone, 'http'] as const

/** What one session has, told as simply as can be. */
interface Model {
  runs: number
  messages: number
  submissions: number
  lastActive: number
  due: number | null
  pending: { id: string; createdAt: number }[]
  failures: number
  isSuspended: boolean
}

const fresh = (): Model => ({
  runs: 0,
  messages: 0,
  submissions: 0,
  lastActive: 0,
  due: null,
  pending: [],
  failures: 0,
  isSuspended: false,
})

/** It rotates if it is due and nothing from before is pending. */
function settle(model: Model, now: number): void {
  if (model.due === null && model.messages >= max) model.due = model.lastActive + 1
  if (model.due === null && model.messages > 0 && now >= model.lastActive + idleMs) {
    model.due = model.lastActive + idleMs
  }
  if (model.due !== null && !model.pending.some(({ createdAt }) => createdAt < model.due!)) begin(model)
}

function begin(model: Model): void {
  Object.assign(model, { runs: model.runs + 1, messages: 0, submissions: 0, due: null })
}

/** `asked` are the ids of submissions. */
function count(model: Model, messages: number, asked: string[], now: number): void {
  settle(model, now)
  if (model.runs === 0) begin(model)
  model.messages += messages
  model.submissions += asked.length
  model.pending.push(...asked.map((id) => ({ id, createdAt: now })))
  model.lastActive = now
  settle(model, now)
}

type Step =
  | { do: 'say'; count: number; key: number }
  | { do: 'ask' | 'batch' | 'approve' | 'deny' | 'cancel' | 'reset' | 'suspend' | 'resume'; key: number }
  | { do: 'pass'; ms: number }
  | { do: 'restart' }

const key = fc.integer({ min: 0, max: 1 })
const stepOf = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('say' as const), count: fc.integer({ min: 1, max: 3 }), key }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constantFrom('ask', 'ask', 'batch', 'approve', 'deny', 'deny', 'cancel', 'reset', 'suspend', 'resume'),
      key,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 1000, idleMs - 1, idleMs) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
) as fc.Arbitrary<Step>

async function follow(t: Test, steps: Step[], folder: string): Promise<void> {
  const clock = manualClock()
  const dbPath = join(folder, 'model.db')
  const newId = counter()
  const breakerOff = 'breaker: { warn: 0, wait: 0, suspend: 0, fixation: 0 }'
  const options = {
    dbPath,
    clock,
    newId,
    rules: `${rules}\nrules: [{ action: '*', timeout: 604800, ${breakerOff} }]`,
    config: { rateLimit: 1_000_000 },
  }
  let built: Built = await build(t, options)
  const models = keys.map(fresh)

  const submission = (n: number) => ({ action: 'a', description: 'd', session_key: keys[n], timeout_seconds: 604_800 })

  async function step(one: Step): Promise<void> {
    if (one.do === 'pass') {
      await clock.advance(one.ms)
      models.forEach((model) => settle(model, clock.now()))
      return
    }
    if (one.do === 'restart') {
      await built.stop()
      built = await build(t, options)
      return
    }
    const model = models[one.key]!
    const now = clock.now()
    const named = { key: keys[one.key]!, requester: null }
    const { sessions } = built.service
    switch (one.do) {
      case 'say': {
        const state = await sessions.addMessages(named.key, one.count, anyone, 'http')
        count(model, one.count, [], now)
        if ('refused' in state) throw new Error(state.sentence)
        return
      }
      case 'ask': {
        const { status, body } = await built.call('POST', '/confirm', submission(one.key))
        if (model.isSuspended) return void t.equal(status, 423)
        return count(model, 1, [body.id as string], now)
      }
      case 'batch': {
        const items = [submission(one.key), submission(one.key)]
        const { body } = await built.call('POST', '/confirm/batch', { items })
        if (model.isSuspended) return
        const ids = body.results.map((result: { body: { id: string } }) => result.body.id)
        return count(model, 2, ids, now)
      }
      case 'approve':
      case 'deny':
      case 'cancel': {
        const first = model.pending.shift()
        if (first === undefined) return
        t.equal((await built.call('POST', `/confirm/${first.id}/${one.do}`)).status, 200)
        if (one.do === 'deny') model.failures += 1
        if (one.do === 'approve') model.failures = 0
        settle(model, now)
        return
      }
      case 'reset':
        await sessions.reset(named, ...ops)
        if (model.runs === 0) return
        model.isSuspended = false
        model.due ??= now + 1
        settle(model, now)
        return
      case 'suspend':
      case 'resume':
        await sessions[one.do](named, null, ...ops)
        if (model.runs > 0) model.isSuspended = one.do === 'suspend'
    }
  }

  for (const [place, one] of steps.entries()) {
    await step(one)
    await clock.advance(0)
    for (const [n, model] of models.entries()) {
      const stored = await built.store.sessions.get('', keys[n]!)
      const past = await built.store.sessions.past('', keys[n]!, 1000)
      const found = {
        runs: stored?.run == null ? 0 : past.length + 1,
        messages: stored?.run?.messages ?? 0,
        submissions: stored?.run?.submissions ?? 0,
        failures: stored?.streak.failures ?? 0,
        isSuspended: stored?.suspension != null,
        isDue: stored?.due != null,
      }
      const { runs, messages, submissions, failures, isSuspended, due } = model
      const wanted = { runs, messages, submissions, failures, isSuspended, isDue: due !== null }
      if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        throw new Error(`after step ${place}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`)
      }
    }
  }
  await built.stop()
}

t.test('stored counts are those of the model', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepOf, { minLength: 1, maxLength: 40, size: 'max' }), async (steps) => {
      await follow(t, steps, temporaryFolder(t))
    }),
    { numRuns: 30 },
  )
})
