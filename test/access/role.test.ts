import t from 'tap'
import {
  anyone,
  type Caller,
  holderActor,
  isForOwner,
  isOwn,
  localOwner,
  may,
  mayRead,
  type Permission,
  type Role,
  roles,
  rolesFor,
} from '../../src/access/role.js'

const holder = (name: string, role: Role): Caller => ({ actor: holderActor(name, role), role, keyId: 'k' })

/** Written out once more, so that a change of who may do what is seen in two places. */
const table: Record<Permission, Record<Role, boolean>> = {
  submit: { agent: true, operator: false, auditor: false, admin: true, provisioner: false },
  act: { agent: true, operator: false, auditor: false, admin: true, provisioner: false },
  read: { agent: true, operator: true, auditor: true, admin: true, provisioner: false },
  survey: { agent: false, operator: true, auditor: true, admin: true, provisioner: false },
  decide: { agent: false, operator: true, auditor: false, admin: true, provisioner: false },
  whitelist: { agent: false, operator: true, auditor: false, admin: true, provisioner: false },
  observe: { agent: true, operator: true, auditor: true, admin: true, provisioner: false },
  steer: { agent: false, operator: true, auditor: false, admin: true, provisioner: false },
  inspect: { agent: false, operator: false, auditor: true, admin: true, provisioner: false },
  administer: { agent: false, operator: false, auditor: false, admin: true, provisioner: false },
  provision: { agent: false, operator: false, auditor: false, admin: true, provisioner: true },
}

for (const [permission, row] of Object.entries(table) as [Permission, Record<Role, boolean>][]) {
  t.test(`${permission} is for ${roles.filter((role) => row[role]).join(', ')} and nobody else`, async (t) => {
    for (const role of roles) t.equal(may({ role }, permission), row[role], role)
    t.same([...rolesFor(permission)].sort(), roles.filter((role) => row[role]).sort())
    t.ok(may(anyone, permission), 'anyone, while the service is open')
    t.ok(may(localOwner, permission), "the database's owner")
  })
}

t.test('an auditor changes nothing, and an agent decides nothing', async (t) => {
  for (const permission of ['submit', 'act', 'decide', 'whitelist', 'steer', 'administer'] as const) {
    t.notOk(may({ role: 'auditor' }, permission), permission)
  }
  for (const permission of ['decide', 'whitelist', 'steer', 'administer', 'inspect', 'survey'] as const) {
    t.notOk(may({ role: 'agent' }, permission), permission)
  }
})

t.test("the owner's socket is for keys, people and sessions, and for nothing else", async (t) => {
  const all = [...Object.keys(table), 'nothing', 'page']
  t.same(all.filter(isForOwner).sort(), ['administer', 'inspect', 'observe', 'read', 'steer', 'survey', 'whitelist'])
})

t.test('agents read what they asked for themselves, others read everything', async (t) => {
  const of = (requester: string) => ({ requester })
  t.ok(mayRead(holder('bot', 'agent'), of('bot')))
  t.notOk(mayRead(holder('bot', 'agent'), of('Bot')))
  t.notOk(mayRead(holder('bot', 'agent'), of('')))
  for (const role of ['operator', 'auditor', 'admin'] as const) t.ok(mayRead(holder('x', role), of('bot')), role)
  t.ok(mayRead(anyone, of('bot')))
})

t.test('what was asked for is claimed by whoever asked, whatever else others may do', async (t) => {
  for (const role of roles) {
    t.ok(isOwn(holder('bot', role), { requester: 'bot' }), role)
    t.notOk(isOwn(holder('other', role), { requester: 'bot' }), role)
  }
  t.ok(isOwn(anyone, { requester: 'bot' }))
})
