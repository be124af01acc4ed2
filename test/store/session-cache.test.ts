// What is remembered of sessions: as much as was told, and no more of one requester than its share.
import t from 'tap'
import { noStreak } from '../../src/sessions/breaker.js'
import { type Session, unknownSession } from '../../src/sessions/session.js'
import { createSessionCache } from '../../src/store/sqlite/session-cache.js'

const run = { id: 'run-1', createdAt: 1000, lastActiveAt: 5000, messages: 2, submissions: 1 }
const sessionOf = (requester: string, key: string): Session => ({ ...unknownSession(requester, key), version: 3, run })
const counting = { below: 10, max: 0, messages: 1, submissions: 1, resetAt: null }

t.test('a session is known once it was read, also that there is none', (t) => {
  const cache = createSessionCache()
  t.equal(cache.get('a', 's1'), undefined)
  cache.keep('a', 's1', sessionOf('a', 's1'))
  cache.keep('a', 's2', null)
  t.match(cache.get('a', 's1'), { version: 3, run })
  t.equal(cache.get('a', 's2'), null)
  t.equal(cache.get('b', 's1'), undefined, "another requester's session of that key is another")
  cache.forget('a', 's1')
  t.equal(cache.get('a', 's1'), undefined)
  cache.forgetAll()
  t.equal(cache.get('a', 's2'), undefined)
  t.end()
})

t.test('what is counted is as the writer says, and an earlier time takes nothing back', (t) => {
  const cache = createSessionCache()
  const asks = [{ action: 'deploy', digest: 'd1' }]
  const told = { ...counting, requester: 'a', sessionKey: 's1', at: 4000, asks }
  cache.count(told, { messages: 9, submissions: 4, repeats: 2 })
  t.equal(cache.get('a', 's1'), undefined, 'what is not known stays so')
  const read = sessionOf('a', 's1')
  cache.keep('a', 's1', read)
  cache.count(told, { messages: 9, submissions: 4, repeats: 2 })
  t.same(cache.get('a', 's1'), {
    ...read,
    run: { ...run, messages: 9, submissions: 4, lastActiveAt: 5000 },
    fixation: { action: 'deploy', digest: 'd1', repeats: 2 },
    streak: noStreak,
  })
  cache.count({ ...told, at: 6000, asks: [] }, { messages: 10, submissions: 4, repeats: 2 })
  t.match(cache.get('a', 's1'), { run: { messages: 10, lastActiveAt: 6000 }, fixation: { repeats: 2 } })
  t.match(read, { run: { messages: 2 }, fixation: null }, 'whoever holds what was read before keeps it as it was')
  t.end()
})

t.test('one requester with many sessions pushes out its own; of many requesters the first gives way', (t) => {
  const cache = createSessionCache({ most: 6, mostEach: 3 })
  const keep = (requester: string, key: string) => cache.keep(requester, key, sessionOf(requester, key))
  const knows = (requester: string) => ['s1', 's2', 's3', 's4'].filter((key) => cache.get(requester, key) !== undefined)
  keep('calm', 's1')
  for (const key of ['s1', 's2', 's3', 's4']) keep('busy', key)
  t.same(knows('busy'), ['s2', 's3', 's4'])
  t.same(knows('calm'), ['s1'])
  keep('busy', 's4')
  t.same(knows('busy'), ['s2', 's3', 's4'], 'what is there takes no more room')
  for (const key of ['s1', 's2', 's3']) keep('other', key)
  t.same([knows('calm'), knows('busy'), knows('other')], [[], ['s2', 's3', 's4'], ['s1', 's2', 's3']])
  t.end()
})
