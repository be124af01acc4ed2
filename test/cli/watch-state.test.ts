// What keys and news make of the screen of watch, and how that looks: without a terminal and without a clock.
import t from 'tap'
import { columnsOf } from '../../src/cli/columns.js'
import { textOf } from '../../src/cli/span.js'
import { draw } from '../../src/cli/watch/screen.js'
import {
  arrange,
  begin,
  type Effect,
  type Item,
  learn,
  type News,
  press,
  type State,
} from '../../src/cli/watch/state.js'
import type { Key } from '../../src/cli/watch/keys.js'
import type { FoundConfirmation } from '../../src/client/index.js'
import { foundWith } from './found.js'

const deadline = 1767226200_000

function item(id: string, fields: Partial<Item> = {}): Item {
  const action = `act_${id}`
  const of = { requester: 'bot', description: 'why', risk: 'normal', given: 0, needed: 1, isOdd: false }
  return { id, action, expiresAt: deadline, ...of, ...fields }
}

/** A screen with its own time; keys come a second apart. */
function sit(columns = 80, rows = 24) {
  let now = deadline - 600_000
  let state: State = arrange(begin('http://127.0.0.1:6000', columns, rows))
  const effects: Effect[] = []
  const seat = {
    get state() {
      return state
    },
    effects,
    tell(news: News) {
      state = arrange(learn(state, news, now))
    },
    list(...ids: string[]) {
      seat.tell({ kind: 'list', items: ids.map((id) => item(id)), total: ids.length, aheadMs: 0 })
      seat.tell({ kind: 'live' })
      now += 1000
    },
    key(key: Key, afterMs = 1000) {
      now += afterMs
      const step = press(state, key, now)
      state = arrange(step.state)
      if (step.effect !== undefined) effects.push(step.effect)
      return step.effect
    },
    type(text: string) {
      for (const one of text) seat.key({ name: 'text', text: one })
    },
    screen() {
      return draw(state, now).lines.map(textOf)
    },
    cursor: () => draw(state, now).cursor,
    resize(width: number, height: number) {
      state = arrange({ ...state, columns: width, rows: height })
    },
    shows: () => seat.screen().join('\n'),
  }
  return seat
}

const text = (letter: string): Key => ({ name: 'text', text: letter })

/** One that is open, as it was found. */
function opened(fields: Partial<FoundConfirmation> = {}, rows = 60) {
  const seat = sit(80, rows)
  const found = foundWith({ id: 'one', ...fields })
  seat.list('one', 'two')
  seat.key({ name: 'enter' })
  seat.tell({ kind: 'record', found })
  return { seat, found }
}

t.test('what is chosen stays chosen, and in its place, whatever comes and goes around it', async (t) => {
  const seat = sit(80, 10)
  seat.list(...Array.from({ length: 30 }, (_, index) => String(index + 10)))
  for (let times = 0; times < 10; times++) seat.key({ name: 'down' })
  const row = () => seat.screen().findIndex((line) => line.startsWith('> '))
  const before = row()
  seat.tell({ kind: 'item', item: item('00', { expiresAt: deadline - 1 }) })
  seat.tell({ kind: 'ended', id: '15', how: 'denied by bob' })
  seat.tell({ kind: 'item', item: item('01', { expiresAt: deadline - 1 }) })
  t.equal(seat.state.chosen, '20')
  t.equal(row(), before)
  t.match(seat.screen()[before], /^> .*act_20 /)
  t.match(seat.shows(), /act_15 is denied by bob\./)
})

t.test('what took the place of another is not opened by a press that was meant for that', async (t) => {
  const seat = sit()
  seat.list('a', 'b')
  seat.tell({ kind: 'ended', id: 'a', how: 'denied by bob' })
  t.equal(seat.key({ name: 'enter' }, 100), undefined)
  t.match(seat.shows(), /The list has just moved: look again/)
  t.same(seat.key({ name: 'enter' }), { kind: 'load', id: 'b' })
})

t.test('it is approved after one more yes, and not by a key that came with the question', async (t) => {
  const { seat } = opened()
  seat.key(text('a'))
  t.match(seat.shows(), /^Approve send_mail, digest [0-9a-f]{16}\?$/m)
  t.equal(seat.key(text('y'), 10), undefined)
  t.equal(seat.key({ name: 'paste', text: 'y' }), undefined, 'what is pasted is a no')
  seat.key(text('a'))
  t.equal(seat.key({ name: 'enter' }), undefined, 'so is Enter')
  seat.key(text('a'))
  t.same(seat.key(text('y')), { kind: 'decide', verdict: 'approve', id: 'one', said: {} })
  seat.key(text('a'))
  t.match(seat.shows(), /A decision is under way/)
  t.equal(seat.effects.filter(({ kind }) => kind === 'decide').length, 1)
})

t.test('in the list nothing is approved: it is opened, to be read', async (t) => {
  const seat = sit()
  seat.list('one', 'two')
  t.same(seat.key(text('a')), { kind: 'load', id: 'one' })
  t.match(seat.shows(), /Read it, to its end; then a approves it/)
  t.equal(seat.key(text('y')), undefined)
  seat.tell({ kind: 'record', found: foundWith({ id: 'one' }) })
  t.equal(seat.key(text('y')), undefined)
  t.same(
    seat.effects.filter(({ kind }) => kind === 'decide'),
    [],
  )
})

t.test('before it has come it cannot be decided, and a reason can be typed', async (t) => {
  const seat = sit()
  seat.list('one', 'two')
  seat.key(text('d'))
  seat.type('no, never')
  t.equal(seat.key({ name: 'enter' }), undefined)
  t.match(seat.shows(), /It is not here yet/)
  seat.tell({ kind: 'record', found: foundWith({ id: 'one' }) })
  t.same(seat.key({ name: 'enter' }), { kind: 'decide', verdict: 'deny', id: 'one', said: { reason: 'no, never' } })
})

t.test('only what was on the screen from its beginning to its end can be approved', async (t) => {
  const details = { list: Array.from({ length: 60 }, (_, index) => index) }
  const { seat } = opened({ details }, 24)
  const canApprove = () => {
    seat.key(text('a'))
    const isAsked = /^Approve send_mail/m.test(seat.shows())
    if (isAsked) seat.key({ name: 'escape' })
    return isAsked
  }
  seat.key({ name: 'end' })
  t.match(seat.shows(), /^Digest/m)
  seat.key({ name: 'home' })
  seat.key({ name: 'end' })
  t.notOk(seat.state.open!.isSeen, 'a jump to the end has passed over the middle')
  t.notOk(canApprove())
  t.match(seat.shows(), /Read it to the end first/)
  for (let screens = 0; screens < 10; screens++) seat.key({ name: 'pagedown' })
  t.ok(seat.state.open!.isSeen)
  t.ok(canApprove())
})

t.test(
  'what was seen stays seen in another size, and what was hidden by help or a tiny terminal was not seen',
  async (t) => {
    const details = { list: Array.from({ length: 40 }, (_, index) => `a longer text ${index}`) }
    const { seat } = opened({ details }, 24)
    seat.key({ name: 'pagedown' })
    const seen = seat.state.open!.seen
    seat.key(text('?'))
    seat.resize(10, 3)
    seat.resize(200, 200)
    t.equal(seat.state.open!.seen, seen)
    seat.resize(40, 12)
    seat.key({ name: 'escape' })
    t.ok(seat.state.open!.seen >= seen)
    t.notOk(seat.state.open!.isSeen)
    for (let screens = 0; screens < 40; screens++) seat.key(text(' '))
    t.ok(seat.state.open!.isSeen)
    seat.resize(33, 9)
    seat.key(text('a'))
    t.match(seat.shows(), /^Approve send_mail/m)
  },
)

t.test('a vote that comes has to be seen, and what is another than was seen is read anew', async (t) => {
  const { seat, found } = opened({ approvals_needed: 2 }, 60)
  t.ok(seat.state.open!.isSeen)
  seat.resize(80, 12)
  const vote = {
    verdict: 'approve',
    by: 'bob',
    at: 1,
    at_iso: found.created_at_iso,
    via: 'http',
    comment: null,
  } as const
  const voted = { ...found, approvals_given: 1, votes: [{ ...vote, reason: 'x', proven: true, remember: null }] }
  seat.tell({ kind: 'record', found: voted })
  t.notOk(seat.state.open!.isSeen)
  for (let screens = 0; screens < 9; screens++) seat.key(text(' '))
  t.ok(seat.state.open!.isSeen)
  seat.key(text('g'))
  seat.tell({ kind: 'record', found: { ...voted, description: 'Something else' } })
  t.notOk(seat.state.open!.isSeen)
})

t.test('what is shown with the digest of something else cannot be approved', async (t) => {
  const { seat } = opened({ digest: 'f'.repeat(64) })
  seat.key(text('a'))
  t.match(seat.shows(), /Its digest is not that of what is shown/)
})

t.test('the name has to be typed, exactly, and a reason given, where the rule wants that', async (t) => {
  const deciding = {
    deciders: null,
    groups: [],
    own_allowed: false,
    typing_required: true,
    reason_required: ['approve' as const, 'deny' as const],
  }
  const { seat } = opened({ deciding })
  seat.key(text('a'))
  seat.type('send mail')
  seat.key({ name: 'enter' })
  t.match(seat.shows(), /That is not the action's name/)
  seat.key({ name: 'ctrl-u' })
  seat.type('send_mail')
  seat.key({ name: 'enter' })
  seat.key({ name: 'enter' })
  t.match(seat.shows(), /Its rule wants a reason/)
  seat.type('due')
  seat.key({ name: 'enter' })
  const said = { typedAction: 'send_mail', reason: 'due' }
  t.same(seat.key(text('y')), { kind: 'decide', verdict: 'approve', id: 'one', said })
  const denied = opened({ deciding }).seat
  denied.key(text('d'))
  t.equal(denied.key({ name: 'enter' }), undefined)
  t.match(denied.shows(), /Its rule wants a reason/)
})

t.test('without the service nothing is decided, and what somebody else decided stands', async (t) => {
  const { seat, found } = opened()
  seat.tell({ kind: 'lost', why: 'It is away.', at: deadline - 600_000, isFinal: false })
  t.match(seat.screen()[0], /disconnected for \d+ s$/)
  for (const key of ['a', 'd']) {
    seat.key(text(key))
    t.match(seat.shows(), /Without the service nothing can be decided/)
  }
  seat.tell({ kind: 'live' })
  seat.key(text('a'))
  t.match(seat.shows(), /^Approve/m)
  seat.tell({
    kind: 'record',
    found: { ...found, status: 'denied', resolved_by: 'bob', resolved_at_iso: found.created_at_iso },
  })
  t.match(seat.shows(), /It was decided meanwhile, and that stands/)
  t.equal(seat.key(text('y')), undefined)
  t.same(
    seat.effects.filter(({ kind }) => kind === 'decide'),
    [],
  )
})

t.test('from a request one goes on to the next, also after it was decided', async (t) => {
  const { seat, found } = opened()
  t.same(seat.key(text('n')), { kind: 'load', id: 'two' })
  seat.key(text('n'))
  t.match(seat.shows(), /No other request that way/)
  t.same(seat.key(text('p')), { kind: 'load', id: 'one' })
  seat.tell({
    kind: 'record',
    found: { ...found, status: 'approved', resolved_by: 'bob', resolved_at_iso: found.created_at_iso },
  })
  seat.tell({ kind: 'ended', id: 'one', how: 'approved by bob' })
  t.same(seat.key(text('n')), { kind: 'load', id: 'two' })
})

t.test('a reason is edited as in a shell, and shown without what a terminal would obey', async (t) => {
  const { seat } = opened()
  seat.key(text('d'))
  seat.type('abc def')
  seat.key({ name: 'left' })
  seat.key({ name: 'backspace' })
  seat.key({ name: 'delete' })
  seat.key({ name: 'end' })
  t.equal(seat.screen().at(-1), '> abc d')
  seat.key({ name: 'ctrl-w' })
  seat.key({ name: 'home' })
  seat.key({ name: 'paste', text: 'x\n\u001b[2Jy\u202ez ' })
  t.equal(seat.screen().at(-1), '> x [2Jy\\u{202e}z abc ')
  t.same(seat.cursor(), { row: 59, column: 2 + 'x [2Jy\\u{202e}z '.length })
  seat.key({ name: 'ctrl-u' })
  seat.type('語'.repeat(100))
  t.ok(columnsOf(seat.screen().at(-1)!) <= 80)
  t.ok(seat.cursor()!.column < 80)
})

t.test('of every size, no line is wider than the screen, and there are as many as it has', async (t) => {
  const nasty = `\u001b[2J\u202e${'日本'.repeat(30)}\n${'👨‍👩‍👧‍👦'.repeat(30)}\nDENIED`
  const seats = [
    sit(),
    opened({ action: nasty, description: nasty, requester: nasty, details: { [nasty]: nasty } }, 24).seat,
  ]
  seats[0]!.tell({
    kind: 'list',
    items: [item('a', { action: nasty, requester: nasty, description: nasty })],
    total: 5000,
    aheadMs: 0,
  })
  const asking = opened({}, 24).seat
  asking.key(text('d'))
  asking.key({ name: 'paste', text: nasty })
  const help = sit()
  help.key(text('?'))
  for (const seat of [...seats, asking, help]) {
    for (let columns = 1; columns < 130; columns += 3) {
      for (const rows of [1, 2, 4, 5, 6, 8, 24]) {
        seat.resize(columns, rows)
        const lines = seat.screen()
        t.equal(lines.length, rows, `${columns} by ${rows}`)
        for (const line of lines) {
          if (columnsOf(line) > columns) t.fail(`${columns} by ${rows}: ${columnsOf(line)}: ${line}`)
          if (/[\u0000-\u001f\u007f-\u009f\u202e]/.test(line)) t.fail(line)
          if (/^DENIED/.test(line)) t.fail(line)
        }
      }
    }
  }
})

t.test('what happened to one that is not open any more is told without opening it', async (t) => {
  const { seat, found } = opened()
  seat.key({ name: 'escape' })
  seat.tell({ kind: 'record', found })
  seat.tell({ kind: 'failed', id: 'one', why: 'gone' })
  t.equal(seat.state.open, null)
  seat.tell({ kind: 'answered', id: 'one', text: 'It is approved.', isGood: true })
  t.match(seat.shows(), /It is approved\./)
  seat.key({ name: 'enter' })
  seat.tell({ kind: 'failed', id: 'one', why: 'It is gone.' })
  t.equal(seat.state.open, null)
  t.match(seat.shows(), /It is gone\./)
})

t.test('the time that is left is the service’s', async (t) => {
  const seat = sit()
  seat.tell({ kind: 'list', items: [item('a')], total: 1, aheadMs: 300_000 })
  t.match(seat.screen()[2], /^> 5 min /)
})
