import t from 'tap'
import { cardOf, isAsItSays, layOutCard } from '../../src/cli/card.js'
import { columnsOf } from '../../src/cli/columns.js'
import { paint, textOf } from '../../src/cli/span.js'
import type { FoundConfirmation } from '../../src/client/index.js'
import { foundWith } from './found.js'

const linesOf = (found: FoundConfirmation, width = Infinity) =>
  layOutCard(cardOf(found), width).map(({ line }) => textOf(line).trimEnd())

t.test('a card says everything there is to decide about', async (t) => {
  const found = foundWith({
    requested_as: 'other',
    on_behalf_of: 'carol',
    session_key: 's1',
    risk: 'high',
    rule: 'mail',
    warnings: ['The same action was asked for twice in a row.'],
    callback_url: 'https://example.com/x',
    approvals_needed: 2,
    approvals_given: 1,
    deciding: {
      deciders: ['alice', 'bob'],
      groups: [{ group: 'ops', count: 1, members: ['alice'] }],
      own_allowed: true,
      typing_required: true,
      reason_required: ['approve', 'deny'],
    },
    votes: [
      {
        verdict: 'approve',
        by: 'bob',
        at: 1,
        at_iso: '2026-01-01T00:00:01.000Z',
        via: 'http',
        reason: 'fine',
        comment: null,
        proven: true,
        remember: null,
      },
    ],
  })
  t.same(linesOf(found), [
    'WAITS FOR A DECISION',
    'Warning: The same action was asked for twice in a row.',
    '',
    'Action        send_mail',
    'Risk          high',
    'Rule          mail',
    'Requester     bot',
    'says it is    other (not verified)',
    'On behalf of  carol (not verified)',
    'Session       s1',
    '',
    'Description, in the words of whoever asks:',
    '│ Send the newsletter',
    '',
    'Details, which are approved with the action:',
    '│ {',
    '│   "list": "news"',
    '│ }',
    '',
    'Who must decide:',
    'Needs         2 different people; one denial ends it',
    '              1 from ops: alice',
    'May decide    alice, bob',
    'May decide    also whoever asked',
    "To approve    type the action's name",
    'To approve    give a reason',
    'To deny       give a reason',
    '',
    'Asked         2026-01-01 00:00:00 UTC',
    'Deadline      2026-01-01 00:10:00 UTC',
    'Outcome to    https://example.com/x',
    `ID            ${found.id}`,
    `Digest        ${found.digest}`,
    '',
    'Votes, 1 of 2 approvals:',
    'approved by   bob: fine',
  ])
})

t.test('how it ended stands on top', async (t) => {
  const ended = { resolved_by: 'bob', resolved_at: 1, resolved_at_iso: '2026-01-01T00:01:00.000Z' }
  const lines = linesOf(foundWith({ status: 'denied', ...ended, reason: 'not now' }))
  t.same(lines.slice(0, 4), [
    'DENIED',
    'By            bob',
    'At            2026-01-01 00:01:00 UTC',
    'Reason        not now',
  ])
})

t.test('no line of theirs begins as one of ours, however wide the terminal is', async (t) => {
  const nasty = 'x\nDENIED\n│ x\nAction        harmless\r\u001b[1;1H\u2028Digest        0\u0085'
  const found = foundWith({
    action: nasty,
    description: nasty,
    details: { [nasty]: [nasty], __proto__: 1 },
    requester: nasty,
    session_key: nasty,
    on_behalf_of: nasty,
    requested_as: nasty,
    rule: nasty,
  })
  const ours =
    /^(WAITS FOR A DECISION|Action|Risk|Rule|Requester|says it is|On behalf|Session|Description|Details|Asked|Deadline|ID|Digest|$)/
  for (const width of [24, 40, 80, 200, Infinity]) {
    for (const line of linesOf(found, width)) {
      t.notMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/)
      t.ok(ours.test(line) || /^( {2}|[│┆])/.test(line) || width < 60, `${width}: ${line}`)
      t.notMatch(line, /^(DENIED|Action +harmless|Digest +0)/, `${width}`)
      if (width < Infinity) t.ok(columnsOf(line) <= width, `${width}: ${line}`)
    }
    t.equal(linesOf(found, width).filter((line) => line.startsWith('Action')).length, 1)
  }
})

t.test('what is wrapped differs from what is broken, and all of it is there', async (t) => {
  const lines = linesOf(foundWith({ description: `${'word '.repeat(20)}\nend` }), 40)
  const at = lines.findIndex((line) => line.startsWith('│'))
  t.match(lines.slice(at, at + 4), [/^│ word/, /^┆ d word/, /^┆ ord .*↵$/, /^│ end$/])
})

t.test('where a line ends in what is said is the same at every width', async (t) => {
  const parts = cardOf(
    foundWith({ description: `${'שלום '.repeat(30)}\n${'日本'.repeat(40)}`, details: { a: 'x'.repeat(500) } }),
  )
  const ends = [20, 33, 80, Infinity].map((width) => layOutCard(parts, width).at(-1)!.end)
  t.equal(new Set(ends).size, 1)
})

t.test('a digest that is not of what is shown is noticed', async (t) => {
  t.ok(isAsItSays(foundWith()))
  t.ok(
    isAsItSays(
      foundWith({ on_behalf_of: 'carol', session_key: 's', details: { n: 1e21, deep: { b: [1, null], a: 'é' } } }),
    ),
  )
  t.notOk(isAsItSays({ ...foundWith(), details: { list: 'all' } }))
  t.notOk(isAsItSays({ ...foundWith(), action: 'other' }))
})

t.test('colours are for terminals that have them', async (t) => {
  const [first] = layOutCard(cardOf(foundWith({ status: 'denied', resolved_at_iso: '2026-01-01T00:01:00.000Z' })), 80)
  t.equal(paint(first!.line, true), '\u001b[31mDENIED\u001b[0m')
  t.equal(paint(first!.line, false), 'DENIED')
})
