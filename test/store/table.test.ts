import t from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { migrate } from '../../src/store/sqlite/database.js'
import { events, keyUses, signIns, tables } from '../../src/store/records.js'
import { changing, describe, fixed, found } from '../../src/store/table.js'

interface Note {
  id: string
  version: number
  text: string
  reads: number
}

interface Pad {
  id: string
  notes: number | null
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
  for (const { name, insert } of [...Object.values(tables), events, keyUses, signIns]) {
    const inTable = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(name) as string[]
    const described = /\(([^)]*)\)/
      .exec(insert)![1]!
      .split(', ')
      .filter((column) => column !== 'seq')
    t.same(described.sort(), inTable.filter((column) => !['arrival', 'seq'].includes(column)).sort(), name)
  }
})

t.test('what other records say is read with a record, and never written', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  db.exec('CREATE TABLE pads (id TEXT PRIMARY KEY) STRICT; CREATE TABLE notes (pad TEXT) STRICT')
  const pads = describe<Pad>()({
    name: 'pads',
    key: ['id'],
    columns: { notes: found<Pad, number>('(SELECT count(*) FROM notes WHERE pad = pads.id)'), id: fixed((p) => p.id) },
    toRecord: (row) => row,
  })
  db.prepare(pads.insert).run(pads.insertValues({ id: 'p1', notes: 7 }))
  const read = () => pads.read(db.prepare(`SELECT ${pads.columns()} FROM pads`).raw().get() as string[])
  t.same(read(), { id: 'p1', notes: 0 })
  db.exec("INSERT INTO notes VALUES ('p1'), ('p2'), ('p1')")
  t.same(read(), { id: 'p1', notes: 2 })
})
