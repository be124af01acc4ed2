import t from 'tap'
import { anyone } from '../../src/access/role.js'
import { build, giveKeys, t0, manualClock } from '../support.js'

const dayMs = 86_400_000
/** The beginnings are a clock, so these are as alike as those of one hour. */
const idWith = (end: string) => `019b7765-1c80-7d3f-9a51-${end.padStart(12, '0')}`
const idsWith = (...ends: string[]) => {
  const left = ends.map(idWith)
  return () => left.shift()!
}

t.test('a request is found by the end of its id, six characters or more, whatever its state', async (t) => {
  const { submit, call } = await build(t, { newId: idsWith('aaaaaa111111', 'bbbbbb222222') })
  await submit()
  await submit({ action: 'other' })
  await call('POST', `/confirm/${idWith('aaaaaa111111')}/deny`)
  const found = (await call('GET', `/confirm/${idWith('aaaaaa111111')}`)).body
  t.match(found, { status: 'denied', deliveries: [{ channel: 'log' }] })
  for (const short of ['111111', 'a111111', '9a51-aaaaaa111111', idWith('aaaaaa111111'), '%20111111%20', 'AAA111111']) {
    t.same((await call('GET', `/short-ids/${short}`)).body, found, short)
  }
  t.match((await call('GET', '/short-ids/222222')).body, { id: idWith('bbbbbb222222'), status: 'pending' })
})

t.test('what fits none is not found, and less than six characters are no id', async (t) => {
  const { submit, call } = await build(t, { newId: idsWith('aaaaaa111111') })
  await submit()
  const refusals: [short: string, error: RegExp][] = [
    ['111112', /^No request of the last week has an id that ends in '111112'; older ones need the whole id\.$/],
    ['b111111', /ends in 'b111111'/],
    ['11111', /^Say the whole id, or at least the last 6 characters of it\.$/],
    ['%25%25%25%25%25%25', /ends in '%%%%%%'/],
    ['______', /ends in '______'/],
    [idWith('aaaaaa111112'), /^There is no confirmation 019b7765-1c80-7d3f-9a51-aaaaaa111112\.$/],
    ['x'.repeat(500), /^There is no confirmation x+\.$/],
  ]
  for (const [short, error] of refusals) {
    t.match(await call('GET', `/short-ids/${short}`), { status: 404, body: { code: 'not_found', error } }, short)
  }
})

t.test('where several have this end, none is taken, and the answer says what tells them apart', async (t) => {
  const ends = ['aaaa1c777777', 'aaaa2c777777', 'aaaa3d777777']
  const { submit, call } = await build(t, { newId: idsWith(...ends), config: { rateLimit: 100 } })
  for (let n = 0; n < 3; n++) await submit({ details: { n } })
  t.match(await call('GET', '/short-ids/777777'), {
    status: 409,
    body: {
      code: 'ambiguous_id',
      error:
        "3 requests of the last week have an id that ends in '777777'; say more of it: 3d777777, 2c777777, 1c777777.",
      ids: [ends[2]!, ends[1]!, ends[0]!].map(idWith),
    },
  })
  t.match(await call('GET', '/short-ids/c777777'), { status: 409, body: { ids: [ends[1]!, ends[0]!].map(idWith) } })
  t.match((await call('GET', '/short-ids/2c777777')).body, { id: idWith('aaaa2c777777') })
})

t.test('of very many, ten are named', async (t) => {
  const ends = Array.from({ length: 14 }, (_, n) => `${n.toString(16)}ccccc777777`)
  const { submit, call } = await build(t, { newId: idsWith(...ends), config: { rateLimit: 100 } })
  for (let n = 0; n < 14; n++) await submit({ details: { n } })
  const { body } = await call('GET', '/short-ids/777777')
  t.match(body.error, /^More than 10 requests of the last week/)
  t.same(body.ids, ends.slice(4).toReversed().map(idWith))
})

t.test('only the last week counts, and what is older is found by its whole id', async (t) => {
  const newId = idsWith('aaaaaa777777', 'bbbbbb777777', 'cccccc777777')
  const { submit, call, clock } = await build(t, { newId })
  const find = async (short: string) => (await call('GET', `/short-ids/${short}`)).body
  await submit()
  await clock.advance(7 * dayMs)
  t.match(await find('777777'), { id: idWith('aaaaaa777777') }, 'a week old to the millisecond')
  await clock.advance(1)
  t.match(await find('777777'), { code: 'not_found' })
  await submit()
  t.match(await find('777777'), { id: idWith('bbbbbb777777') }, 'the older one is no rival')
  t.match(await find(idWith('aaaaaa777777')), { id: idWith('aaaaaa777777'), status: 'expired' })
  await clock.advance(6 * dayMs)
  await submit()
  t.match(await find('777777'), { code: 'ambiguous_id' }, 'whichever weeks of the index they are in')
})

t.test('what is ahead of a clock that was set back is found, too', async (t) => {
  const first = await build(t, { newId: idsWith('aaaaaa777777') })
  await first.submit()
  await first.stop()
  const second = await build(t, { dbPath: first.dbPath, clock: manualClock(t0 - dayMs) })
  t.match((await second.call('GET', '/short-ids/777777')).body, { id: idWith('aaaaaa777777'), status: 'expired' })
})

t.test('what an agent may not read does not exist for it, neither as an answer nor as a rival', async (t) => {
  const built = await build(t, { newId: idsWith('aaaaaa777777', 'bbbbbb777777', 'cccccc888888') })
  const { bot, other, olga } = await giveKeys(built, { bot: 'agent', other: 'agent', olga: 'operator' })
  const asked = { action: 'send_mail', description: 'd' }
  for (const agent of [bot, other, other])
    await agent('POST', '/confirm', { ...asked, details: { agent: agent.keyId } })
  t.match(await bot('GET', '/short-ids/777777'), { status: 200, body: { id: idWith('aaaaaa777777') } })
  t.match(await other('GET', '/short-ids/777777'), { status: 200, body: { id: idWith('bbbbbb777777') } })
  t.match(await olga('GET', '/short-ids/777777'), { status: 409, body: { code: 'ambiguous_id' } })
  t.match(await bot('GET', '/short-ids/888888'), { status: 404, body: { error: /^No request of the last week/ } })
  const whole = idWith('cccccc888888')
  t.match(await bot('GET', `/short-ids/${whole}`), {
    status: 404,
    body: { error: `There is no confirmation ${whole}.` },
  })
  t.equal((await built.call('GET', '/short-ids/777777')).status, 401)
})

t.test('it only reads: no short id decides', async (t) => {
  const { submit, call, service } = await build(t, { newId: idsWith('aaaaaa777777') })
  await submit()
  for (const verb of ['approve', 'deny', 'cancel', 'claim']) {
    t.equal((await call('POST', `/confirm/777777/${verb}`)).status, 404, verb)
    t.equal((await call('POST', `/short-ids/777777/${verb}`)).status, 404, verb)
  }
  t.match(await service.findByShortId('777777', anyone), { confirmation: { status: 'pending' } })
})
