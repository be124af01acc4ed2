// Reading people, with the ids by which chats know them.
import type { ChatIdentity, Person } from '../../access/person.js'
import { people as table } from '../records.js'
import type { Store } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { read } from './reading.js'

export function readPeople(db: Database.Database): Store['people'] {
  const people = db.prepare(`SELECT ${table.columns()} FROM people`).raw()
  const identities = db.prepare('SELECT channel, id, person FROM chat_identities')
  return {
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
