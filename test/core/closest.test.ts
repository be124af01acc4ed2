import t from 'tap'
import { editsBetween, nearTo } from '../../src/core/closest.js'

t.test('letters put in, taken out, changed or swapped are one edit each', async (t) => {
  for (const [a, b, edits] of [
    ['', '', 0],
    ['port', 'port', 0],
    ['prot', 'port', 1],
    ['kyes', 'keys', 1],
    ['pot', 'port', 1],
    ['ports', 'port', 1],
    ['part', 'port', 1],
    ['', 'port', 4],
    ['trop', 'port', 3],
  ] as const) {
    t.equal(editsBetween(a, b), edits, `${a} ${b}`)
    t.equal(editsBetween(b, a), edits, `${b} ${a}`)
  }
})

t.test('what is near is found, and what is not is not', async (t) => {
  const known = ['port', 'web-port', 'rate-limit', 'rate-window', 'db-path']
  t.equal(nearTo('prot', known), 'port')
  t.equal(nearTo('PORT', known), 'port')
  t.equal(nearTo('rate-limti', known), 'rate-limit')
  t.equal(nearTo('db', known), 'db-path', 'cut short')
  t.equal(nearTo('window', known), 'rate-window', 'only its end')
  for (const name of ['rate', 'zebra', 'x', '', 'ate', 'p'.repeat(10_000)]) t.equal(nearTo(name, known), undefined)
})
