import t from 'tap'
import { prefersText } from '../../src/routes/accept.js'

const forms: [accept: string | undefined, isText: boolean][] = [
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/json', false],
  ['application/json, text/plain, */*', false],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', false],
  ['text/plain;q=0', false],
  ['text/plain;q=0.5, application/json', false],
  ['text/plain;q=0.5, */*;q=0.6', false],
  ['text/plain;q=nonsense', false],
  ['text/plainer', false],
  ['image/png', false],
  ['text/plain', true],
  ['TEXT/PLAIN', true],
  ['text/*', true],
  ['text/plain; charset=utf-8', true],
  ['text/plain;charset=utf-8;q=0.9, application/json;q=0.8', true],
  ['text/plain, */*;q=0.1', true],
  ['application/json;q=0.2,text/*;q=0.3', true],
  ['*/*, application/json;q=0', true],
  [' text/plain ; Q=1.000 , */* ; q=0.5 ', true],
]

for (const [accept, isText] of forms) {
  t.test(`Accept: ${String(accept)} asks for ${isText ? 'text' : 'JSON'}`, async (t) => {
    t.equal(prefersText(accept), isText)
  })
}
