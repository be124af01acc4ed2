// Where the documents lead: every link to a file, a heading or a picture, in the repository and in the package.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { root } from '../e2e/program.js'
import { headingsOf, linksOf, listDocuments, readDocument } from './markdown.js'

const manual = listDocuments()
const documents = [...manual, readDocument('CONTRIBUTING.md'), readDocument('CHANGELOG.md')]

interface Lead {
  /** Which document, and in which line. */
  from: string
  document: string
  /** Relative to the repository. */
  file: string
  anchor: string | undefined
}

const leads: Lead[] = documents.flatMap((document) =>
  linksOf(document).map(({ target, line }) => {
    const [path, anchor] = target.split('#')
    const file = path === '' ? document.name : posix.join(posix.dirname(document.name), decodeURI(path!))
    return { from: `${document.name}:${line}: ${target}`, document: document.name, file, anchor }
  }),
)

t.test('every link leads to a file, and to a heading in it', async (t) => {
  t.ok(leads.length > 20, 'the links are found')
  for (const { from, file, anchor } of leads) {
    if (!existsSync(join(root, file))) t.fail(`${from} leads to no file`)
    else if (anchor !== undefined && !headingsOf(readDocument(file)).some((heading) => heading.anchor === anchor)) {
      t.fail(`${from} leads to no heading`)
    }
  }
})

t.test('every document is linked from the README, or from that of its folder', async (t) => {
  for (const { name } of manual.filter((one) => one.name !== 'README.md')) {
    const above = ['README.md', posix.join(posix.dirname(name), 'README.md')]
    const linked = leads.filter(({ document }) => document !== name && above.includes(document)).map(({ file }) => file)
    t.ok(linked.includes(name), name)
  }
})

t.test('files of the repository that the documents name are there', async (t) => {
  for (const { name, text } of [...manual, readDocument('CONTRIBUTING.md')]) {
    for (const [, path] of text.matchAll(/[\s`]((?:src|test|docs|scripts|bench|dist\/test)\/[\w./-]*\w)/g)) {
      const source = path!.replace(/^dist\/(.*)\.js$/, '$1.ts')
      t.ok(existsSync(join(root, source)), `${name}: ${path}`)
    }
  }
})

t.test('where the README and the manual lead, the package leads too', async (t) => {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
  })
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  const packed = new Set(files.map(({ path }) => path))
  t.ok(packed.has('README.md') && packed.has('dist/src/server.js'), 'the files are found')
  for (const { name } of manual) t.ok(packed.has(name), name)
  for (const { from, file } of leads.filter(({ document }) => manual.some(({ name }) => name === document))) {
    if (!packed.has(file)) t.fail(`${from} leads out of the package`)
  }
})

t.test('anchors are those that GitHub makes', async (t) => {
  const text = [
    '# Who may *do* what?',
    '## `npm start`, & more',
    '## Two -- dashes',
    '## Errors',
    '## Errors',
    '### [A link](a.md) in it',
    '## snake_case',
    '## Errors-1',
    '## Über ABC 1.2',
    '```bash',
    '# Not a heading',
    '```',
    '#Neither',
  ].join('\n')
  t.same(
    headingsOf({ name: 'fixture.md', text }).map(({ anchor }) => anchor),
    [
      ...['who-may-do-what', 'npm-start--more', 'two----dashes', 'errors', 'errors-1', 'a-link-in-it', 'snake_case'],
      ...['errors-1-1', 'über-abc-12'],
    ],
  )
})

t.test('links are found wherever they stand, and not in code', async (t) => {
  const text = `A [link over
two lines](a.md#b) and [![a picture](b.png)](c.md "title") and [one][ref], \`[no](d.md)\`,
[elsewhere](https://example.com/x.md), <img src="e.png">.

\`\`\`js
f[0](g.md)
\`\`\`

[ref]: h.md
`
  t.same(
    linksOf({ name: 'fixture.md', text }).map(({ target, line }) => `${line} ${target}`),
    ['2 a.md#b', '2 b.png', '2 c.md', '9 h.md', '3 e.png'],
  )
})
