// Reading people, with the ids by which chats know them.
import type { ChatIdentity, Person } from '../../access/person.js'
import { people as table } from '../records.js'
import type { Store } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { read, readNow } from './reading.js'

export function readPeople(db: Database.Database): Store['people'] {
  const people = db.prepare(`SELECT ${table.columns()} FROM people`).raw()
  const identities = db.prepare('SELECT channel, id, person FROM chat_identities')
  const one = db.prepare(`SELECT ${table.columns()} FROM people WHERE ${table.whereKey}`).raw()
  const identitiesOf = db.prepare('SELECT channel, id FROM chat_identities WHERE person = ?')
  return {
    read: readNow((name: string) => {
      const row = one.get(name) as SqlValue[] | undefined
      return row && { ...table.read(row), identities: identitiesOf.all(name) as ChatIdentity[] }
    }),

    list: read(() => {
      const found = (people.all() as SqlValue[][]).map((row): Person => ({ ...table.read(row), identities: [] }))
      const byName = new Map(found.map((person) => [person.name, person]))
      for (const { person, ...identity } of identities.all() as (ChatIdentity & { person: string })[]) {
        byName.get(person)?.identities.push(identity)
      }
      return found
    }),
  }
}
