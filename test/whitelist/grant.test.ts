import t from 'tap'
import { findCover as findFor, type Grant, isLive, makeGrant } from '../../src/whitelist/grant.js'
import { person } from '../actors.js'

interface Request {
  action: string
  sessionKey: string
  requester?: string
  details?: string
}

const findCover = (grants: Grant[], request: Request, now: number) =>
  findFor(grants, { requester: 'bot', details: '{}', ...request }, now)

const base: Grant = {
  id: 'g1',
  version: 1,
  action: 'send_mail',
  sessionKey: null,
  requester: null,
  when: null,
  details: null,
  expiresAt: null,
  maxUses: null,
  uses: 0,
  reason: null,
  grantedBy: person('alice'),
  givenAt: 0,
  createdAt: 0,
  revokedAt: null,
}
const request = (action: string, sessionKey = '') => ({ action, sessionKey })

t.test('a global grant covers its action for everyone and no other action', async (t) => {
  t.equal(findCover([base], request('send_mail'), 1), base)
  t.equal(findCover([base], request('send_mail', 's1'), 1), base)
  t.equal(findCover([base], request('send_mails'), 1), undefined)
  t.equal(findCover([base], request('SEND_MAIL'), 1), undefined)
})

t.test('a session grant covers that session only, and never the empty one', async (t) => {
  const grant = { ...base, sessionKey: 's1' }
  t.equal(findCover([grant], request('send_mail', 's1'), 1), grant)
  t.equal(findCover([grant], request('send_mail', 's2'), 1), undefined)
  t.equal(findCover([grant], request('send_mail'), 1), undefined)
  t.equal(findCover([{ ...base, sessionKey: '' }], request('send_mail', ''), 1), undefined)
})

t.test('the narrower grant is used first', async (t) => {
  const session = { ...base, id: 'g2', sessionKey: 's1' }
  t.equal(findCover([base, session], request('send_mail', 's1'), 1), session)
  t.equal(findCover([base, { ...session, revokedAt: 0 }], request('send_mail', 's1'), 1), base)
})

t.test('no grant covers a high-risk action, however it got there', async (t) => {
  t.equal(findCover([{ ...base, action: 'delete_data' }], request('delete_data'), 1), undefined)
  t.equal(findCover([{ ...base, action: 'Delete-Data' }], request('Delete-Data'), 1), undefined)
  const odd = 'delete\u02cddata'
  t.equal(findCover([{ ...base, action: odd }], request(odd), 1), undefined)
})

t.test('a grant ends when it is revoked, expires, or is used up', async (t) => {
  t.ok(isLive({ ...base, expiresAt: 100, maxUses: 2, uses: 1 }, 99))
  t.notOk(isLive({ ...base, expiresAt: 100 }, 100))
  t.notOk(isLive({ ...base, maxUses: 2, uses: 2 }, 1))
  t.notOk(isLive({ ...base, revokedAt: 5 }, 1))
})

t.test('adding again keeps a live grant with new terms, and replaces a dead one', async (t) => {
  const terms = { expiresAt: 500, maxUses: 9, reason: 'r', grantedBy: person('bob') }
  const used = { ...base, uses: 4, version: 3 }
  t.match(makeGrant(used, base, terms, 'g2', 10), { id: 'g1', version: 4, uses: 4, ...terms, createdAt: 0 })
  t.match(makeGrant({ ...used, revokedAt: 1 }, base, terms, 'g2', 10), { id: 'g2', version: 4, uses: 0, createdAt: 10 })
  t.match(makeGrant(undefined, base, terms, 'g2', 10), { id: 'g2', version: 1, uses: 0 })
})

t.test('a grant for one requester covers nobody else, whatever session they name', async (t) => {
  const own = { ...base, sessionKey: 's1', requester: 'bot' }
  const asked = { action: base.action, sessionKey: 's1' }
  t.equal(findCover([own], asked, 0), own)
  t.equal(findCover([own], { ...asked, requester: 'other' }, 0), undefined)
  t.equal(findCover([{ ...own, requester: null }], { ...asked, requester: 'other' }, 0)?.requester, null)
})

t.test('a grant with conditions covers details that meet all of them, and nothing that cannot be judged', async (t) => {
  const when = '{"amount":{"at_most":100,"greater_than":0},"items.*.kind":{"equals":"a","every":true},"note":null}'
  const grant = { ...base, when }
  const covers = (details: object) =>
    findCover([grant], { ...request('send_mail'), details: JSON.stringify(details) }, 1) === grant
  const met = { amount: 5, items: [{ kind: 'a' }], note: null }
  t.ok(covers(met))
  t.ok(covers({ ...met, more: true }))
  for (const details of [
    {},
    { ...met, amount: 101 },
    { ...met, amount: '5' },
    { ...met, amount: null },
    { ...met, amount: [5] },
    { ...met, items: [{ kind: 'a' }, { kind: 'b' }] },
    { ...met, items: [{ kind: 'a' }, {}] },
    { ...met, items: [] },
    { ...met, items: 'a' },
    { amount: 5, items: [{ kind: 'a' }] },
  ]) {
    t.notOk(covers(details), JSON.stringify(details))
  }
})

t.test('conditions that cannot be read are met by nothing', async (t) => {
  for (const when of ['{}', '{"a":{"unlike":1}}', '[]', '{"a.":1}']) {
    t.equal(findCover([{ ...base, when }], { ...request('send_mail'), details: '{"a":1}' }, 1), undefined, when)
  }
})

t.test('a grant with conditions and exact details covers what meets both', async (t) => {
  const covers = (when: string) =>
    findCover([{ ...base, when, details: '{"a":1}' }], { ...request('send_mail'), details: '{"a":1}' }, 1) !== undefined
  t.ok(covers('{"a":{"at_most":1}}'))
  t.notOk(covers('{"a":{"at_most":0}}'))
  const grant = { ...base, when: '{"a":{"at_most":1}}', details: '{"a":1}' }
  t.equal(findCover([grant], { ...request('send_mail'), details: '{"a":0}' }, 1), undefined)
})

t.test('a grant for exactly these details covers no others', async (t) => {
  const grant = { ...base, details: '{"a":1,"b":{"c":[],"d":null}}' }
  const covers = (details: string) => findCover([grant], { ...request('send_mail'), details }, 1) === grant
  t.ok(covers('{"b": {"d": null, "c": []}, "a": 1.0}'), 'in whatever order they are written')
  for (const details of [
    '{}',
    '{"a":1}',
    '{"a":"1","b":{"c":[],"d":null}}',
    '{"a":1,"b":{"c":[],"d":null},"e":null}',
    '{"a":1,"b":{"c":[]}}',
    '{"a":1,"b":{"c":{},"d":null}}',
  ]) {
    t.notOk(covers(details), details)
  }
  const none = { ...base, details: '{}' }
  t.equal(findCover([none], request('send_mail'), 1), none)
  t.equal(findCover([none], { ...request('send_mail'), details: '{"a":1}' }, 1), undefined)
})

t.test('of several the one that is bound most is used', async (t) => {
  const details = '{"a":1}'
  const grants: Grant[] = [
    base,
    { ...base, id: 'r', requester: 'bot' },
    { ...base, id: 'w', when: details },
    { ...base, id: 'd', details },
    { ...base, id: 's', sessionKey: 's1' },
  ]
  for (let count = grants.length; count > 0; count--) {
    const found = findCover(grants.slice(0, count), { ...request('send_mail', 's1'), details }, 1)
    t.equal(found, grants[count - 1])
  }
})
