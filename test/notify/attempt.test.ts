import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { attempt } from '../../src/notify/attempt.js'

const go = new AbortController().signal

/** Nothing but its signal ends it. */
function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

t.test('an attempt answers what it came to, and its signal falls', async (t) => {
  let seen: AbortSignal | undefined
  const answer = await attempt(60_000, go, async (signal) => {
    seen = signal
    t.notOk(signal.aborted)
    return 'done'
  })
  t.equal(answer, 'done')
  t.ok(seen?.aborted)
  t.same(getEventListeners(go, 'abort'), [], 'and nothing hangs on what would have stopped it')
})

t.test('what goes wrong by itself is thrown', async (t) => {
  await t.rejects(
    attempt(60_000, go, () => Promise.reject(new Error('refused'))),
    { message: 'refused' },
  )
})

t.test('an attempt that takes too long ends', async (t) => {
  t.same(await attempt(10, go, hang), { kind: 'failed', error: 'no answer in time' })
})

t.test('an attempt ends in time though everything unreachable is collected meanwhile', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const collecting = setInterval(collect, 5)
  t.teardown(() => clearInterval(collecting))
  t.same(await attempt(100, go, hang), { kind: 'failed', error: 'no answer in time' })
})

t.test('an attempt can be called off, also before it begins', async (t) => {
  const stop = new AbortController()
  const running = attempt(60_000, stop.signal, hang)
  stop.abort()
  t.same(await running, { kind: 'failed', error: 'called off' })
  let ran = false
  const second = await attempt(60_000, stop.signal, async () => (ran = true))
  t.same(second, { kind: 'failed', error: 'called off' })
  t.notOk(ran)
})
