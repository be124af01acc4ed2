// Whatever an agent calls, in whatever order: without a person's approval of exactly that nothing is claimed, and with it once.
import fc from 'fast-check'
import t from 'tap'
import { connect, pace, serve } from './hosts.js'

const acts = [
  { action: 'refund', details: { order: 1 } },
  { action: 'refund', details: { order: 2 } },
  { action: 'payout', details: {} },
]
const act = fc.constantFrom(...acts)
const session = fc.constantFrom({}, { session_key: 's1' })
/** Which request is meant: one of those there are, or none. */
const which = fc.nat(2)

const claiming = fc.record({
  tool: fc.constant('claim_approval' as const),
  which,
  isSame: fc.boolean(),
  act,
  session,
})
const toolCall = fc.oneof(
  fc.record({
    tool: fc.constant('request_approval' as const),
    act,
    session,
    key: fc.option(fc.constantFrom('k1', 'k2')),
  }),
  claiming,
  fc.record({ tool: fc.constantFrom('wait_for_decision' as const, 'cancel_request' as const), which }),
  fc.record({ tool: fc.constant('report_outcome' as const), which, outcome: fc.constantFrom('succeeded', 'failed') }),
  // What a model might make up.
  fc.record({
    tool: fc.constantFrom('request_approval', 'claim_approval', 'approve', 'permission_prompt', 'report_outcome'),
    wild: fc.oneof(
      fc.dictionary(
        fc.constantFrom('id', 'action', 'status', 'approved', 'outcome', 'tool_name', 'input'),
        fc.jsonValue(),
      ),
      fc.constant({ ...acts[0], id: 'id-0001', status: 'approved', may_act: true, approver: 'alice' }),
    ),
  }),
)
type Step = typeof toolCall extends fc.Arbitrary<infer T> ? T : never
/** Now and then a person comes by. */
const visit = fc.record({ person: fc.constantFrom('approve' as const, 'approve' as const, 'deny' as const), which })

t.test('no sequence of calls leads to a claim that no person has approved', async (t) => {
  const serving = await serve(t, {
    mcpPace: { ...pace, holdMs: 1, promptMs: 1 },
    config: { rateLimit: 100_000, floodLimit: 0 },
  })
  const { call } = await connect(t, { kind: { over: 'http', era: '2026-07-28' }, url: serving.url })
  let ids: string[] = []
  let claims = 0
  const asked = new Map<string, object>()
  const idOf = (number: number) => ids[number] ?? 'none'

  async function step(one: Step): Promise<any> {
    const given =
      'wild' in one
        ? one.wild
        : one.tool === 'request_approval'
          ? { ...one.act, ...one.session, description: 'd', ...(one.key === null ? {} : { idempotency_key: one.key }) }
          : one.tool === 'claim_approval'
            ? { id: idOf(one.which), ...one.act, ...one.session, ...(one.isSame ? asked.get(idOf(one.which)) : {}) }
            : one.tool === 'report_outcome'
              ? { id: idOf(one.which), outcome: one.outcome }
              : { id: idOf(one.which) }
    const { said } = await call(one.tool, given).catch((error: Error) => ({ said: { error: error.message } as any }))
    if (one.tool === 'request_approval' && said.status === 'pending' && !ids.includes(said.id)) {
      ids.push(said.id)
      const { description: _, idempotency_key: __, ...rest } = given as Record<string, unknown>
      asked.set(said.id, rest)
    }
    return { said, given }
  }

  const approve = { person: 'approve' as const, which: 0 }
  const claim = { tool: 'claim_approval' as const, which: 0, isSame: true, act: acts[0]!, session: {} }
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          { weight: 5, arbitrary: toolCall },
          { weight: 3, arbitrary: visit },
          { weight: 3, arbitrary: claiming },
        ),
        {
          minLength: 4,
          maxLength: 12,
        },
      ),
      async (steps) => {
        ids = []
        for (const one of acts) {
          await step({ tool: 'request_approval', act: one, session: {}, key: null })
        }
        const approved = new Map<string, string>()
        for (const one of steps) {
          if ('person' in one) {
            const id = idOf(one.which)
            const { status, body } = await serving.call('POST', `/confirm/${id}/${one.person}`)
            if (status === 200 && one.person === 'approve') {
              const { action, details, session_key } = (await serving.call('GET', `/confirm/${body.id}`)).body
              approved.set(id, JSON.stringify([action, details, session_key]))
            }
            continue
          }
          const { said, given } = await step(one)
          if (said.may_act !== true && said.behavior !== 'allow') continue
          const { id, action, details, session_key = '' } = given
          t.equal(one.tool, 'claim_approval')
          t.equal(
            approved.get(id),
            JSON.stringify([action, details, session_key]),
            'a person has approved exactly this',
          )
          approved.delete(id)
          claims += 1
        }
      },
    ),
    { numRuns: 40, examples: [[[approve, claim, claim]]] },
  )
  t.ok(claims > 0, 'and once it is there, one passes')
})
