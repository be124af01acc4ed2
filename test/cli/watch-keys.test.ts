import t from 'tap'
import { createKeyReader } from '../../src/cli/watch/keys.js'

function read(...chunks: string[]) {
  const reader = createKeyReader()
  return chunks.flatMap((chunk) => reader.read(chunk)).map((key) => ('text' in key ? [key.name, key.text] : [key.name]))
}

t.test('keys are told apart, as different terminals send them', async (t) => {
  t.same(read('a日\r\x7f\x03'), [['text', 'a'], ['text', '日'], ['enter'], ['backspace'], ['ctrl-c']])
  t.same(read('\x1b[A\x1bOB\x1b[1;5C\x1b[D'), [['up'], ['down'], ['right'], ['left']])
  t.same(read('\x1b[5~\x1b[6~\x1b[H\x1bOF\x1b[1~\x1b[4~\x1b[3~'), [
    ['pageup'],
    ['pagedown'],
    ['home'],
    ['end'],
    ['home'],
    ['end'],
    ['delete'],
  ])
})

t.test('what is no key of ours is none, nor is any part of it', async (t) => {
  t.same(read('\x1b[<0;10;10M\x1b[200;3u\x1ba\x1b[15~\x1b[I\x00\x9b'), [])
})

t.test('a sequence may come in pieces', async (t) => {
  t.same(read('\x1b', '[', '6', '~', 'y'), [['pagedown'], ['text', 'y']])
})

t.test('an escape alone is a key once nothing follows', async (t) => {
  const reader = createKeyReader()
  t.same(reader.read('\x1b'), [])
  t.ok(reader.isOpen())
  t.same(reader.settle(), [{ name: 'escape' }])
  t.notOk(reader.isOpen())
  t.same(reader.settle(), [])
})

t.test('two escapes are two keys, also where they come together', async (t) => {
  const reader = createKeyReader()
  t.same([...reader.read('\x1b\x1b'), ...reader.settle()], [{ name: 'escape' }, { name: 'escape' }])
})

t.test('what is pasted is one thing, whatever it holds, and is no key', async (t) => {
  t.same(read('\x1b[200~y\ry\x1b[A\x03\x1b[201~q'), [
    ['paste', 'y\ry\x1b[A\x03'],
    ['text', 'q'],
  ])
  t.same(read('\x1b[200~y\x1b[20', '1~'), [['paste', 'y']])
  t.same(read(`\x1b[200~${'x'.repeat(300_000)}`, '\x1b[201~')[0]![1]!.length, 100_000)
})
