import t from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { migrate } from '../../src/store/sqlite/database.js'
import { events, keyUses, signIns, tables } from '../../src/store/records.js'
import { changing, describe, fixed } from '../../src/store/table.js'

interface Note {
  id: string
  version: number
  text: string
  reads: number
}

const notes = describe<Note>()({
  name: 'notes',
  key: ['id'],
  columns: {
    id: fixed((n) => n.id),
    version: changing((n) => n.version),
    text: changing((n) => n.text),
    reads: changing((n) => n.reads, 'reads + ?'),
  },
  toRecord: (row) => row,
})

t.test(
  'what is described is written, changed and read back by its names, in whatever order the table has them',
  async (t) => {
    const db = new Database(':memory:')
    t.teardown(() => db.close())
    db.exec('CREATE TABLE notes (text TEXT, reads INTEGER, version INTEGER, id TEXT PRIMARY KEY) STRICT')
    const read = () =>
      notes.read(db.prepare(`SELECT 'first', ${notes.columns()} FROM notes`).raw().get() as string[], 1)
    const note = { id: 'n1', version: 1, text: 'a', reads: 2 }
    db.prepare(notes.insert).run(notes.insertValues(note))
    t.same(read(), note)
    db.prepare(notes.update).run(notes.updateValues({ id: 'n1', version: 2, text: 'b', reads: 3 }))
    t.same(read(), { id: 'n1', version: 2, text: 'b', reads: 5 })
    t.same(notes.keyValues(note), ['n1'])
    const short = db.prepare(`SELECT ${notes.columns({ text: "'…'" })} FROM notes WHERE ${notes.whereKey}`).raw()
    t.match(notes.read(short.get('n1') as string[]), { id: 'n1', text: '…' })
  },
)

t.test('every column of a table is in the description of its record, but for the order of arrival', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  migrate(db)
  for (const { name, columns } of [...Object.values(tables), events, keyUses, signIns]) {
    const inTable = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(name) as string[]
    const described = columns()
      .split(', ')
      .map((column) => column.replace(`${name}.`, ''))
    t.same(described.sort(), inTable.filter((column) => !['arrival', 'seq'].includes(column)).sort(), name)
  }
})
