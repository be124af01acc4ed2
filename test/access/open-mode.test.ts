import t from 'tap'
import { createOpenMode, isLoopback, makesFirstKey, mayBeOpen } from '../../src/access/open-mode.js'
import { hold } from '../../src/core/confirmation.js'
import { type Confirmation, defaultTerms } from '../../src/core/model.js'
import { castVote } from '../../src/core/vote.js'
import { anyone, person } from '../actors.js'
import { submissionOf } from '../submission.js'

t.test('what is loopback', async (t) => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5', 'example.com', '128.0.0.1', '127.0.0.1.example.com', '']) {
    t.notOk(isLoopback(host), host)
  }
  for (const host of ['127.0.0.1', '127.8.8.8', '::1', '[::1]', 'localhost', '::ffff:127.0.0.1']) {
    t.ok(isLoopback(host), host)
  }
})

t.test('it may be open on loopback, and makes the first key elsewhere; with --auth keys neither', async (t) => {
  const cases = [
    ['127.0.0.1', 'auto', true, false],
    ['0.0.0.0', 'auto', false, true],
    ['127.0.0.1', 'keys', false, false],
    ['0.0.0.0', 'keys', false, false],
  ] as const
  for (const [host, auth, isOpen, makes] of cases) {
    t.equal(mayBeOpen({ host, auth }), isOpen, `${host} ${auth}`)
    t.equal(makesFirstKey({ host, auth }), makes, `${host} ${auth}`)
  }
})

t.test('it is open until there is a key', async (t) => {
  let hasKeys = false
  const mode = createOpenMode(true, false, () => hasKeys)
  t.ok(mode.isOpen())
  hasKeys = true
  t.notOk(mode.isOpen())
  t.notOk(mode.hasLostKeys())
})

t.test('it is never open where it may not be, or where keys were lost', async (t) => {
  t.notOk(createOpenMode(false, false, () => false).isOpen())
  const lost = createOpenMode(true, true, () => false)
  t.notOk(lost.isOpen())
  t.ok(lost.hasLostKeys())
  t.notOk(createOpenMode(true, true, () => true).hasLostKeys())
})

const submission = submissionOf({ action: 'a' })

t.test('what anyone gave counts while it is open, and what a person gave always does', async (t) => {
  let hasKeys = false
  const mode = createOpenMode(true, false, () => hasKeys)
  const rest = { at: 2000, via: 'http', reason: null, comment: null, typed: null, remember: null } as const
  let current: Confirmation = hold(submission, 'c1', 1000, { ...defaultTerms, approvals: 3 })
  for (const by of [anyone('olga'), person('oscar')]) {
    current = castVote(current, { verdict: 'approve', by, ...rest }, 900) as Confirmation
  }
  t.equal(mode.counted(current), current)
  t.ok(mode.doesCount(anyone('olga')))
  hasKeys = true
  t.same(
    mode.counted(current).votes.map(({ by }) => by),
    [person('oscar')],
  )
  t.notOk(mode.doesCount(anyone('olga')))
  t.ok(mode.doesCount(person('olga')))
})

t.test('while it is open it goes by its own names alone', async (t) => {
  let hasKeys = false
  const mode = createOpenMode(true, false, () => hasKeys)
  for (const name of ['', 'localhost', '127.0.0.1', 'own.example.com'])
    t.ok(mode.mayBeCalled(name, ['own.example.com']))
  t.notOk(mode.mayBeCalled('rebound.example.com', ['own.example.com']))
  hasKeys = true
  t.ok(mode.mayBeCalled('rebound.example.com', ['own.example.com']))
})
