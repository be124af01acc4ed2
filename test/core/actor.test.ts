import fc from 'fast-check'
import t from 'tap'
import { type Actor, isPersonal, isVerified, readActor, textOf } from '../../src/core/actor.js'

/** Each kind with its text, and whether it is verified and personal. */
const cases: [Actor, string, boolean, boolean][] = [
  [{ kind: 'person', name: 'alice' }, 'alice', true, true],
  [{ kind: 'agent', name: 'deploy-bot' }, 'deploy-bot', true, true],
  [{ kind: 'grant', id: '0197-x' }, 'whitelist:0197-x', true, true],
  [{ kind: 'rule', name: 'tool:Read, tool:Glob' }, 'rule:tool:Read, tool:Glob', true, true],
  [{ kind: 'system', part: 'first-start' }, 'system:first-start', true, true],
  [{ kind: 'chat', channel: 'telegram', id: '-100' }, 'telegram:-100', true, false],
  [{ kind: 'link', recipient: { kind: 'person', name: 'olga' } }, 'olga', true, true],
  [{ kind: 'link', recipient: { kind: 'chat', channel: 'discord', id: 'webhook' } }, 'discord:webhook', true, false],
  [{ kind: 'anyone', name: 'telegram:7' }, 'telegram:7', false, true],
  [{ kind: 'anyone', name: '' }, '', false, true],
  [{ kind: 'local' }, 'local', true, true],
  [{ kind: 'unknown' }, 'unknown', false, true],
]

t.test('every actor has one text, and is read back from that and its kind', async (t) => {
  for (const [actor, text, verified, personal] of cases) {
    t.equal(textOf(actor), text)
    t.same(readActor(actor.kind, text), actor)
    t.equal(isVerified(actor), verified, `${actor.kind} ${text}`)
    t.equal(isPersonal(actor), personal, `${actor.kind} ${text}`)
  }
})

t.test('a name that anyone gave is read back as it was, whatever it looks like', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.constantFrom('system:timeout', 'whitelist:1', 'local')), (name) => {
      const read = readActor('anyone', textOf({ kind: 'anyone', name }))
      return read.name === name && !isVerified(read)
    }),
  )
})
