// What keys and rules cost: submissions with one of a thousand keys under two hundred rules, and without either, in turn.
import { randomBytes } from 'node:crypto'
import { hashSecret, type Key, makeKeyText } from '../src/access/key.js'
import * as audit from '../src/audit/event.js'
import { actionCount, actionOf, askedBodies, sessionCount } from './asked.js'
import { fill } from './fill.js'
import type { Measured } from './load.js'
import { ratioOf } from './numbers.js'
import { paceOf, rate, ratesOf, ratio, type Row } from './rows.js'
import { withBench } from './servers.js'
import type { Size } from './size.js'

const keyCount = 1000
const ruleCount = 200
const connections = 128
const mostTimes = 1.15

export function keys(size: Size): Promise<Row[]> {
  return withBench(async (bench) => {
    const bodies = askedBodies()
    const secrets: string[] = []
    await fill(bench.path('keys.db'), (add) => {
      for (let n = 0; n < keyCount; n++) {
        const { key, text } = keyOf(n)
        const event = audit.keyAdded(key, { actor: key.createdBy, at: key.createdAt, via: 'local' })
        add({ writes: [{ kind: 'key', expect: 'absent', record: key }], events: [event] })
        secrets.push(text)
      }
    })
    const sides = {
      open: { served: await bench.startHoldpoint(bench.path('open.db')), keys: undefined },
      keyed: { served: await bench.startHoldpoint(bench.path('keys.db'), { rules: rules() }), keys: secrets },
    }
    const measured: Record<keyof typeof sides, Measured[]> = { open: [], keyed: [] }
    const workOf = (keys?: string[]) => ({
      kind: 'submit' as const,
      bodies,
      ...(keys === undefined ? {} : { keys: bodies.map((_, n) => keys[agentOf(n)]!) }),
    })
    for (const { served, keys } of Object.values(sides)) await bench.warm(served.port, workOf(keys))
    for (let round = 0; round < size.rounds; round++) {
      for (const side of ['open', 'keyed'] as const) {
        const { served, keys } = sides[side]
        const load = { port: served.port, connections, seconds: size.seconds, work: workOf(keys) }
        const result = await bench.load(load, served.process)
        measured[side].push(result)
        size.progress(`${side}: ${rate(result.perSecond)}`)
      }
    }
    const what = `submissions with ${keyCount} keys and ${ruleCount} rules: cost`
    const cost = ratioOf(ratesOf(measured.open), ratesOf(measured.keyed))
    return [ratio(what, paceOf(measured.keyed), `open ${paceOf(measured.open)}`, cost, { atMost: mostTimes })]
  })
}

/** Who sends the body of this place: each agent works in one session, on five actions. */
function agentOf(n: number): number {
  const agentsInSession = keyCount / sessionCount
  return Math.floor(n / actionCount) * agentsInSession + (n % agentsInSession)
}

function keyOf(n: number): { key: Key; text: string } {
  const { id, text } = makeKeyText(randomBytes(38).toString('hex'))
  const life = { createdAt: Date.now(), expiresAt: null, revokedAt: null, replacedBy: null }
  const createdBy = { kind: 'local' as const }
  return {
    key: { id, version: 1, person: `agent-${n}`, role: 'agent', hash: hashSecret(text), createdBy, ...life },
    text,
  }
}

/** Half are for actions that nobody asks for here; those that fit stand among them. */
function rules(): string {
  const one = (n: number) => {
    const isOurs = n % 2 === 0
    const action = isOurs ? actionOf((n / 2) % actionCount) : `team_${n}_*`
    const when = isOurs ? '' : `\n    when: { cluster: eu-${n}, build: { at_most: ${n} } }`
    return `  - name: rule ${n}\n    action: ${action}${when}\n    timeout: ${300 + n}\n`
  }
  return `sessions: { max_messages: 0 }\nrules:\n${Array.from({ length: ruleCount }, (_, n) => one(n)).join('')}`
}
