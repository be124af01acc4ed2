// What is odd about a request, in words: whole sentences, and numbers that fit them.
import t from 'tap'
import { nameCaution, sayCaution } from '../../src/core/caution.js'

t.test('each oddity is a sentence, and a few words where there is no room for one', async (t) => {
  const table: [failures: number, repeats: number, sentences: string[], names: string[]][] = [
    [0, 0, [], []],
    [1, 0, ['In this session, the last request was denied or expired.'], ['1 denied or expired']],
    [2, 0, ['In this session, 2 requests in a row were denied or expired.'], ['2 denied or expired in a row']],
    [0, 2, ['The same action was asked for twice in a row, each time with other details.'], ['Asked twice in a row']],
    [
      3,
      5,
      [
        'In this session, 3 requests in a row were denied or expired.',
        'The same action was asked for 5 times in a row, each time with other details.',
      ],
      ['3 denied or expired in a row', 'Asked 5 times in a row'],
    ],
  ]
  for (const [failures, repeats, sentences, names] of table) {
    t.same(sayCaution({ failures, repeats }), sentences)
    t.same(nameCaution({ failures, repeats }), names)
  }
})

t.test('of a request with nothing odd about it nothing is said', async (t) => {
  t.same(sayCaution(null), [])
  t.same(nameCaution(null), [])
})
