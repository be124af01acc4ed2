// The permission prompt, as Claude Code reads it: one text with a decision, in which nothing but an approval that was claimed is a
// yes, for exactly the input that was approved.
import t from 'tap'
import { until } from '../support.js'
import { connect, type Host, kinds, pace, patient, serve, type Serving } from './hosts.js'

/** Long enough for what is answered at once, also on a machine that is busy. */
const short = { ...pace, holdMs: 1500, promptMs: 20_000 }
const prompt = { tool_name: 'Bash', input: { command: 'git push --force', timeout: 10 }, tool_use_id: 'toolu_1' }

/** The decision, and nothing beside it. */
async function ask({ client }: Host, given: object, options?: Parameters<typeof client.callTool>[1]) {
  const result = await client.callTool(
    { name: 'permission_prompt', arguments: given as Record<string, unknown> },
    options,
  )
  const { content } = result as { content: { type: string; text: string }[] }
  t.equal(content.length, 1)
  t.equal(content[0]!.type, 'text')
  t.not(result.isError, true)
  return JSON.parse(content[0]!.text) as { behavior: string; message?: string; updatedInput?: object }
}

async function decide({ call }: Serving, verdict: 'approve' | 'deny', body: object = {}): Promise<string> {
  let id = ''
  await until(async () => (id = (await call('GET', '/confirm?status=pending')).body.confirmations[0]?.id))
  await call('POST', `/confirm/${id}/${verdict}`, body)
  return id
}

for (const kind of kinds) {
  const name = `(${kind.over}, ${kind.era})`

  t.test(`what is approved is allowed as it came, once, and anything else is denied ${name}`, async (t) => {
    const serving = await serve(t)
    const host = await connect(t, { kind, url: serving.url })
    const asking = ask(host, prompt)
    const id = await decide(serving, 'approve')
    t.same(await asking, { behavior: 'allow', updatedInput: prompt.input })
    t.match((await serving.call('GET', `/confirm/${id}`)).body, {
      action: 'tool:Bash',
      details: { tool_input: prompt.input },
      execution: 'claimed',
    })
    const denied = ask(host, prompt)
    await decide(serving, 'deny', { denier: 'bob', reason: 'not on a Friday' })
    t.match(await denied, { behavior: 'deny', message: /bob denied this.*not on a Friday/ })
    t.match(
      await ask(host, prompt),
      { behavior: 'deny', message: /denied exactly this before/ },
      'nobody is asked again',
    )
  })

  t.test(`approved late and asked again it is allowed, once ${name}`, async (t) => {
    const serving = await serve(t, { mcpPace: short })
    const host = await connect(t, { kind, url: serving.url, pace: short })
    t.match(await ask(host, prompt), { behavior: 'deny', message: /nobody has answered yet.*exactly this call again/i })
    await decide(serving, 'approve')
    t.match(await ask(host, { ...prompt, tool_use_id: 'toolu_2' }), { behavior: 'allow', updatedInput: prompt.input })
    t.match(await ask(host, { ...prompt, tool_use_id: 'toolu_3' }), {
      behavior: 'deny',
      message: /nobody has answered yet/i,
    })
    t.equal((await serving.call('GET', '/audit')).body.count, 2, 'the third is a request of its own')
  })

  t.test(`what nobody answers in time is denied, and asked anew when it comes again ${name}`, async (t) => {
    const long = { ...patient, holdMs: 600_000, promptMs: 600_000 }
    const serving = await serve(t, { mcpPace: long, rules: 'rules: [{ action: "tool:*", timeout: 30 }]' })
    const host = await connect(t, { kind, url: serving.url, pace: long })
    const asking = ask(host, prompt)
    await until(() => serving.service.countListeners().one === 1)
    await serving.clock.advance(30_000)
    t.match(await asking, { behavior: 'deny', message: /expired/ })
    const again = ask(host, prompt)
    await decide(serving, 'approve')
    t.match(await again, { behavior: 'allow' })
  })

  t.test(`what is wrong with the call is a denial, and no error ${name}`, async (t) => {
    const serving = await serve(t)
    const host = await connect(t, { kind, url: serving.url })
    const deep = JSON.parse('['.repeat(100) + ']'.repeat(100)) as unknown
    const hidden = JSON.parse('{"command":"ls","__proto__":{"command":"rm -rf ~"}}') as object
    const wrong: object[] = [
      {},
      { tool_name: 'Bash' },
      { input: prompt.input },
      { ...prompt, tool_name: '' },
      { ...prompt, tool_name: ' Bash' },
      { ...prompt, tool_name: 5 },
      { ...prompt, tool_name: 'x'.repeat(5000) },
      { ...prompt, input: 'ls' },
      { ...prompt, input: null },
      { ...prompt, behavior: 'allow' },
      { ...prompt, tool_use_id: 5 },
      // The route refuses it before a tool is called.
      ...(kind.over === 'http'
        ? []
        : [
            { ...prompt, input: { deep } },
            { ...prompt, input: hidden },
          ]),
    ]
    for (const given of wrong) {
      const answer = await ask(host, given)
      t.equal(answer.behavior, 'deny', JSON.stringify(given).slice(0, 100))
      t.ok(answer.message)
    }
    t.equal((await serving.call('GET', '/audit')).body.count, 0)
  })
}

t.test('a host that is told that it goes on is waited for longer', async (t) => {
  const serving = await serve(t)
  const kind = { over: 'stdio', era: '2025' } as const
  const host = await connect(t, { kind, url: serving.url, pace: { ...pace, holdMs: 20, promptMs: 20_000 } })
  let told = 0
  const asking = ask(host, prompt, { onprogress: () => (told += 1) })
  await until(() => told > 2)
  await decide(serving, 'approve')
  t.match(await asking, { behavior: 'allow' })
})

t.test(
  'over /mcp what is too large to be held is denied, and nobody is asked; over standard input it is held',
  async (t) => {
    const serving = await serve(t)
    const large = { ...prompt, input: { command: 'x'.repeat(100_000) } }
    const over = (transport: 'http' | 'stdio') =>
      connect(t, { kind: { over: transport, era: '2025' }, url: serving.url })
    t.match(await ask(await over('http'), large), { behavior: 'deny', message: /too large to be held here/ })
    t.equal((await serving.call('GET', '/audit')).body.count, 0)
    const asking = ask(await over('stdio'), large)
    await decide(serving, 'approve')
    t.same(await asking, { behavior: 'allow', updatedInput: large.input })
  },
)

t.test('the session that the command was started with is that of all it asks', async (t) => {
  const serving = await serve(t, { mcpPace: pace })
  const kind = { over: 'stdio', era: '2025' } as const
  const host = await connect(t, { kind, url: serving.url, pace, session: 'release' })
  await ask(host, prompt)
  await host.call('request_approval', { action: 'a', description: 'd' })
  const { entries } = (await serving.call('GET', '/audit')).body
  t.same(
    entries.map(({ session_key }: any) => session_key),
    ['release', 'release'],
  )
  const { id } = entries[0]
  await serving.call('POST', `/confirm/${id}/approve`)
  t.match(await host.call('claim_approval', { id, action: 'a', session_key: '' }), {
    said: { code: 'digest_mismatch' },
  })
  t.match(await host.call('claim_approval', { id, action: 'a' }), { said: { may_act: true } })
})
