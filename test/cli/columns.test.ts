import t from 'tap'
import { columnsOf, fit, padEnd, wrap, wrapWords } from '../../src/cli/columns.js'
import { visibleLine } from '../../src/core/visible.js'

t.test('wide characters take two columns, marks none', async (t) => {
  for (const [text, columns] of [
    ['', 0],
    ['plain', 5],
    ['日本', 4],
    ['ｆｕｌｌ', 8],
    ['한글', 4],
    ['e\u0301te\u0301', 3],
    ['🎉', 2],
    ['schön', 5],
    ['│ a', 3],
  ] as const)
    t.equal(columnsOf(text), columns, text)
})

t.test('where terminals differ, the larger number counts, so that nothing is pushed past the edge', async (t) => {
  t.ok(columnsOf('👨‍👩‍👧‍👦') >= 8, 'a picture of four, which some draw as four')
  t.ok(columnsOf('❤️') >= 2)
  t.ok(columnsOf('🇩🇪') >= 2)
  t.ok(columnsOf('👍🏽') >= 2)
})

t.test('what is wrapped is whole, and no line is wider than there is room', async (t) => {
  const texts = [
    'a'.repeat(100),
    'word '.repeat(30),
    '日本語'.repeat(20),
    'a日'.repeat(20),
    '👨‍👩‍👧‍👦'.repeat(9),
    'e\u0301'.repeat(50),
    visibleLine(`${'שלום '.repeat(20)}x\u202e${'\u0301'.repeat(20)}`),
    visibleLine('\u001b[31m'.repeat(20)),
  ]
  for (const text of texts) {
    for (const room of [2, 3, 7, 20, 79]) {
      const lines = wrap(text, room)
      const plain = (one: string) => one.replace(/[\u2067\u2069]/g, '')
      t.equal(lines.map(plain).join(''), plain(text), `${room}: ${text}`)
      for (const line of lines) {
        const one = [...plain(line)].length <= 7
        t.ok(columnsOf(line) <= room + 2 || one, `${columnsOf(line)} of ${room}: ${line}`)
        t.equal(line.split('\u2067').length, line.split('\u2069').length, 'no isolate is left open')
      }
    }
  }
  t.same(wrap('abcdef', Infinity), ['abcdef'])
  t.same(wrap('', 5), [''])
})

t.test('what does not fit is cut with a mark, and the rest is filled up', async (t) => {
  t.equal(fit('send_mail', 9), 'send_mail')
  t.equal(fit('send_mail', 5), 'send…')
  t.equal(fit('日本語', 4), '日…')
  t.equal(fit('x', 0), '')
  t.equal(padEnd('日', 4), '日  ')
})

t.test('words of ours stay whole where they fit', async (t) => {
  t.same(wrapWords('one two three', 8), ['one two ', 'three'])
  t.same(wrapWords('a verylongword b', 6), ['a very', 'longwo', 'rd b'])
  t.same(wrapWords('', 5), [''])
  for (const room of [1, 2, 5, 9, 30]) {
    const text = 'Description (1,619 characters, 21 lines), in the words of whoever asks:'
    t.equal(wrapWords(text, room).join(''), text)
    for (const line of wrapWords(text, room)) t.ok(line.trimEnd().length <= room, line)
  }
})
