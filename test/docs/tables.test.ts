// What is made from the code is what the code makes: openapi.yaml, policy.schema.json, the client's types, the tables in docs/.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { clientTypesFile, createClientTypes } from '../../scripts/client-types.js'
import { createTables, renewTables, tablesIn } from '../../scripts/tables.js'
import { rulesJsonSchema } from '../../src/policy/schema.js'
import { root } from '../e2e/program.js'
import { build } from '../support.js'

const readText = (file: string) => readFileSync(join(root, file), 'utf8')
const documents = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
const advice = 'run npm run docs, and look at what it changed'

t.test('openapi.yaml is what the routes generate', async (t) => {
  const { openapi } = await build(t)
  t.ok(readText('openapi.yaml') === openapi(), `openapi.yaml is up to date; if not: ${advice}`)
})

t.test('policy.schema.json is what the schema of the rules describes', async (t) => {
  t.ok(readText('policy.schema.json') === rulesJsonSchema(), `policy.schema.json is up to date; if not: ${advice}`)
})

t.test("the client's types are those of openapi.yaml", async (t) => {
  const made = await createClientTypes(readText('openapi.yaml'), join(root, clientTypesFile))
  t.ok(readText(clientTypesFile) === made, `${clientTypesFile} is up to date; if not: ${advice}`)
})

t.test('the tables in docs/ have a row for every setting, route, code, event and metric, and no other', async (t) => {
  const tables = createTables(readText('openapi.yaml'))
  for (const name of documents) {
    const file = join('docs', name)
    const text = readText(file)
    t.ok(text === (await renewTables(text, tables, join(root, file))), `${file} is up to date; if not: ${advice}`)
  }
  const shown = documents.flatMap((name) => tablesIn(readText(join('docs', name))))
  t.same([...new Set(shown)].sort(), Object.keys(tables).sort(), 'every table is in a document')
})

t.test('a row that is missing, and one that is no longer true, are written anew', async (t) => {
  const tables = { events: '| Type | Meaning |\n| --- | --- |\n| `a` | One. |\n| `b` | Two. |' }
  const document = (rows: string) =>
    `Before.\n\n<!-- generated: events -->\n\n| Type | Meaning |\n| ---- | ------- |\n${rows}\n<!-- end of generated -->\n\nAfter.\n`
  const whole = document('| `a`  | One.    |\n| `b`  | Two.    |\n')
  t.equal(await renewTables(document('| `a`  | One.    |\n'), tables, 'x.md'), whole)
  t.equal(await renewTables(document('| `a`  | Wrong.  |\n| `c`  | Gone.   |\n'), tables, 'x.md'), whole)
  t.equal(await renewTables(whole, tables, 'x.md'), whole, 'the second time changes nothing')
})

t.test('a table that does not exist, or does not end, is refused', async (t) => {
  const tables = { events: 'x' }
  await t.rejects(renewTables('<!-- generated: evnets --><!-- end of generated -->', tables, 'x.md'), {
    message: 'x.md: there is no table evnets',
  })
  await t.rejects(renewTables('<!-- generated: events -->\n\n| a |\n', tables, 'x.md'), {
    message: 'x.md: the table events has no end',
  })
})

t.test('the registry has the metrics of the table, and the table those of the registry', async (t) => {
  const { call } = await build(t)
  const { body } = await call('GET', '/metrics')
  const served = [...String(body).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!)
  const listed = [...createTables(readText('openapi.yaml')).metrics!.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!)
  t.same(listed.toSorted(), served.toSorted())
})
