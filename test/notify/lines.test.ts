// Whom a message reaches, as tables: from those who are to be told to lines of places.
import t from 'tap'
import { hold } from '../../src/core/confirmation.js'
import { type Audience, type ChatName, defaultTerms, type Terms } from '../../src/core/model.js'
import { linesFor, type Reach } from '../../src/notify/lines.js'
import { alarmOf } from '../alarm.js'
import { submissionOf } from '../submission.js'
import { t0 } from '../support.js'

/** alice is known in Telegram, bob in Discord and Telegram, and nobody knows zed. */
const known: Record<string, [ChatName, string][]> = {
  alice: [['telegram', '11']],
  bob: [
    ['telegram', '12'],
    ['discord', '22'],
  ],
}

function reachOf(chats: ChatName[], isPrivate = false): Reach {
  return {
    chats,
    isPrivate: () => isPrivate,
    placesOf: (name) =>
      (known[name] ?? []).flatMap(([channel, destination]) =>
        chats.includes(channel) ? { channel, destination } : [],
      ),
  }
}

const named = (fields: Partial<Exclude<Audience, string>>): Audience => ({
  chats: [],
  people: [],
  deciders: false,
  ...fields,
})

/** Each line as telegram > telegram:11. */
function lines(
  audience: Audience,
  given: { terms?: Partial<Terms>; requester?: string; reach?: Reach } = {},
): string[] {
  const { terms = {}, requester = 'bot', reach = reachOf(['telegram', 'discord']) } = given
  const held = hold(submissionOf({ requester }), 'id-0001', t0, { ...defaultTerms, ...terms })
  return linesFor(audience, held, reach).map(({ places }) =>
    places.map(({ channel, destination }) => (destination === '' ? channel : `${channel}:${destination}`)).join(' > '),
  )
}

const usual = 'telegram > discord'

const audiences: [name: string, audience: Audience, terms: Partial<Terms>, lines: string[]][] = [
  ['first: one after the other', 'first', {}, [usual]],
  ['all: each for itself', 'all', {}, ['telegram', 'discord']],
  ['one chat', named({ chats: ['discord'] }), {}, ['discord']],
  ['chats in their own order', named({ chats: ['discord', 'telegram'] }), {}, ['telegram', 'discord']],
  ['a chat that is not set up: as usual', named({ chats: ['slack'] }), {}, [usual]],
  [
    'somebody: where they are known, then as usual',
    named({ people: ['alice'] }),
    {},
    ['telegram:11 > telegram > discord'],
  ],
  [
    'somebody who is known in two chats',
    named({ people: ['bob'] }),
    {},
    ['telegram:12 > discord:22 > telegram > discord'],
  ],
  ['somebody whom nobody knows: as usual', named({ people: ['zed'] }), {}, [usual]],
  [
    'a chat and somebody',
    named({ chats: ['discord'], people: ['alice'] }),
    {},
    ['discord', 'telegram:11 > telegram > discord'],
  ],
  [
    'the deciders of the rule',
    named({ deciders: true }),
    { deciders: ['alice', 'bob'] },
    ['telegram:11 > telegram > discord', 'telegram:12 > discord:22 > telegram > discord'],
  ],
  [
    'the members of its groups, each once',
    named({ deciders: true, people: ['alice'] }),
    { approvals: 2, seats: ['a', 'b'].map((group) => ({ group, count: 1, members: ['alice', 'bob'] })) },
    ['telegram:11 > telegram > discord', 'telegram:12 > discord:22 > telegram > discord'],
  ],
  ['deciders where the rule names none: as usual', named({ deciders: true }), {}, [usual]],
  [
    'fewer than must approve: as usual, too',
    named({ people: ['alice'] }),
    { approvals: 2 },
    ['telegram:11 > telegram > discord', usual],
  ],
  ['a chat that many read is enough for two', 'first', { approvals: 2 }, [usual]],
]
for (const [name, audience, terms, wanted] of audiences) {
  t.test(name, async (t) => t.same(lines(audience, { terms }), wanted))
}

t.test('where the first chat is one person’s own, two that are needed are told some other way', async (t) => {
  const reach = reachOf(['telegram', 'discord'], true)
  t.same(lines('first', { reach }), [usual], 'one is enough')
  t.same(lines('first', { reach, terms: { approvals: 2 } }), ['telegram', 'discord'])
  t.same(lines('first', { reach, terms: { approvals: 2, deciders: ['alice', 'zed'] } }), [
    usual,
    'telegram:11 > telegram > discord',
    usual,
  ])
})

t.test('whoever asked is not told to decide it, unless they may', async (t) => {
  const terms = { deciders: ['alice', 'bob'] }
  const both = lines(named({ deciders: true }), { terms })
  t.same(lines(named({ deciders: true }), { terms, requester: 'alice' }), both.slice(1))
  t.same(lines(named({ deciders: true }), { terms: { ...terms, allowsOwn: true }, requester: 'alice' }), both)
})

t.test('without any chat there is no place', async (t) => {
  const reach = reachOf([])
  for (const audience of ['first', 'all', named({ people: ['alice'] })] as const) {
    t.equal(lines(audience, { reach }).join(''), '')
  }
})

t.test('an alarm is nobody’s own: it goes to chats', async (t) => {
  const reach = reachOf(['telegram', 'discord'])
  const of = (audience: Audience) =>
    linesFor(audience, alarmOf(), reach).map(({ places }) => places.map(({ channel }) => channel).join(' > '))
  t.same(of('first'), [usual])
  t.same(of('all'), ['telegram', 'discord'])
  t.same(of(named({ chats: ['discord'], people: ['alice'] })), ['discord'])
  t.same(of(named({ people: ['alice'], deciders: true })), [usual])
})
