// Every shell block of the documents beside the README, run as a reader would run it.
import t from 'tap'
import { listDocuments } from './markdown.js'
import { type Need, needs } from '../needs.js'
import { follow } from './shell.js'

// Most of a document's time is waiting, on purpose, so two are read at once.
t.jobs = 2

for (const document of listDocuments().filter(({ name }) => name !== 'README.md')) {
  t.test(`the commands of ${document.name} do what it says`, { buffered: true }, async (t) => {
    const more: Need[] = /^python3 /m.test(document.text) ? ['python3'] : []
    if (!needs(t, 'curl', ...more)) return
    const { failures } = await follow(t, document)
    for (const failure of failures) t.fail(failure)
    t.pass('to the end')
  })
}
