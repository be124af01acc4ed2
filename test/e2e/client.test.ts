// A client generated from openapi.yaml: it compiles under strict TypeScript, works against the running service, and what the
// description does not allow does not compile.
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'
import t from 'tap'
import ts from 'typescript'
import { build, giveKeys, temporaryFolder } from '../support.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))

const setting = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

type Status = components['schemas']['Status']
const clientOf = (baseUrl: string, key: string) =>
  createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + key } })
`

/** What an agent and an operator do with one confirmation, from the first request to the report. */
const program = `${setting}
export async function run(baseUrl: string, agentKey: string, operatorKey: string) {
  const agent = clientOf(baseUrl, agentKey)
  const operator = clientOf(baseUrl, operatorKey)

  const submitted = await agent.POST('/confirm', {
    body: { action: 'send_mail', description: 'Send the newsletter', details: { list: 'news', count: 1200 } },
    params: { header: { 'Idempotency-Key': 'newsletter' } },
  })
  if (submitted.error !== undefined) throw new Error(submitted.error.error)
  const { id } = submitted.data
  const path = { id }

  const waiting = agent.GET('/confirm/{id}', { params: { path, query: { wait: 60 } } })
  const approved = await operator.POST('/confirm/{id}/approve', { params: { path }, body: { reason: 'go' } })
  const approvals: number | undefined = approved.data?.approvals_given
  const { data: found } = await waiting
  const told: string[] = found?.deliveries.map(({ channel }) => channel) ?? []
  const by: string[] = found?.votes.map((vote) => vote.by) ?? []

  // No body: nothing in it is required.
  const claimed = await agent.POST('/confirm/{id}/claim', { params: { path } })
  const execution: components['schemas']['ExecutionState'] | null | undefined = claimed.data?.execution
  const report: components['schemas']['Report'] = { outcome: 'succeeded' }
  const reported = await agent.POST('/confirm/{id}/report', { params: { path }, body: report })

  // A problem is told from another by its code, and what it holds follows from that.
  const tooLate = await operator.POST('/confirm/{id}/deny', { params: { path } })
  let stands: Status | undefined
  if (tooLate.error?.code === 'already_resolved') stands = tooLate.error.status
  const missing = await agent.GET('/confirm/{id}', { params: { path: { id: 'nothing' } } })
  let number: number | undefined
  if (missing.error?.code === 'not_found') number = missing.error.status
  const reused = await agent.POST('/confirm', {
    body: { action: 'send_mail', description: 'Another' },
    params: { header: { 'Idempotency-Key': 'newsletter' } },
  })
  const first: string | undefined = reused.error?.code === 'key_reused' ? reused.error.id : undefined

  // Of many, each is told from the others by the status that it would have had.
  const batch = await agent.POST('/confirm/batch', {
    body: { items: [{ action: 'tidy', description: 'Tidy up' }, { action: '', description: 'Nothing' }] },
  })
  const results = batch.data?.results.map((result): string => {
    if (result.status_code === 202) return result.body.approve_url
    if (result.status_code === 200) return result.body.message
    if (result.status_code === 409) return result.body.resolved_by ?? ''
    return result.body.code
  })

  const list = await operator.GET('/confirm', { params: { query: { status: 'approved', limit: 10 } } })
  const events = await operator.GET('/audit/events', {})
  const types: components['schemas']['EventType'][] = events.data?.events.map(({ type }) => type) ?? []
  return {
    status: submitted.data.status, approvals, told, by, execution, outcome: reported.data?.outcome, stands, number,
    first: first === id, results, listed: list.data?.confirmations.map((one) => one.id === id), types,
  }
}
`

/** What a compiler is to refuse, with what it says. */
const misuses: Record<string, [code: string, sentence: RegExp]> = {
  'a misspelt field of a body': [
    `{ action: 'a', description: 'b', detials: {} } satisfies components['schemas']['Submission']`,
    /'detials' does not exist/,
  ],
  'a body without what it must have': [
    `agent.POST('/confirm', { body: { action: 'a' } })`,
    /Property 'description' is missing/,
  ],
  'a body that must be there, left out': [`agent.POST('/confirm', {})`, /Property 'body' is missing/],
  'an item of a batch without what it must have': [
    `agent.POST('/confirm/batch', { body: { items: [{ action: 'a' }] } })`,
    /Property 'description' is missing/,
  ],
  'an outcome that cannot be reported': [
    `agent.POST('/confirm/{id}/report', { params: { path: { id: 'x' } }, body: { outcome: 'perhaps' } })`,
    /'"perhaps"' is not assignable/,
  ],
  'a misspelt field of an answer': [
    `agent.GET('/confirm/{id}', { params: { path: { id: 'x' } } }).then(({ data }) => data?.staus)`,
    /Property 'staus' does not exist/,
  ],
  'a field that another answer has': [
    `agent.GET('/confirm', {}).then(({ data }) => data?.confirmations[0]?.deliveries)`,
    /Property 'deliveries' does not exist/,
  ],
  'a status that there is not': [
    `agent.GET('/confirm/{id}', { params: { path: { id: 'x' } } }).then(({ data }) => data?.status === 'aproved')`,
    /no overlap/,
  ],
  'a code that this operation does not answer with': [
    `agent.GET('/confirm/{id}', { params: { path: { id: 'x' } } }).then(({ error }) => error?.code === 'rate_limited')`,
    /no overlap/,
  ],
  'the number of a problem about a state': [
    `agent.POST('/confirm/{id}/claim', { params: { path: { id: 'x' } } }).then(({ error }) => {
      if (error?.code === 'not_approved') return error.status === 409
    })`,
    /no overlap/,
  ],
  'a query parameter that there is not': [
    `agent.GET('/confirm', { params: { query: { state: 'pending' } } })`,
    /'state' does not exist/,
  ],
  'a path that there is not': [`agent.GET('/confirmations', {})`, /'"\/confirmations"' is not assignable/],
}

t.test('a client generated from openapi.yaml compiles and works, and its misuse does not compile', async (t) => {
  const folder = temporaryFolder(t)
  // So that imports are found as in a project of its own.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const write = (name: string, text: string) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }
  write('package.json', '{ "type": "module" }')
  write('api.d.ts', astToString(await openapiTS(pathToFileURL(join(root, 'openapi.yaml')))))
  const client = write('client.ts', program)
  const wrong = Object.entries(misuses).map(([name, [code, sentence]], index) => {
    const text = `${setting}\nexport const agent = clientOf('', '')\nexport const wrong = ${code}\n`
    return { name, sentence, file: write(`misuse-${index}.ts`, text) }
  })
  const compiled = ts.createProgram([client, ...wrong.map(({ file }) => file)], {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    module: ts.ModuleKind.NodeNext,
    types: [],
    skipLibCheck: true,
  })
  const problemsIn = (file: string) =>
    ts
      .getPreEmitDiagnostics(compiled, compiled.getSourceFile(file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  t.same(compiled.getGlobalDiagnostics(), [])
  t.same(problemsIn(client), [], 'the client compiles')
  for (const { name, sentence, file } of wrong) {
    const problems = problemsIn(file)
    t.equal(problems.length, 1, `${name} is the only mistake`)
    t.match(problems[0], sentence, name)
  }

  compiled.emit(compiled.getSourceFile(client))
  const { run } = (await import(pathToFileURL(join(folder, 'client.js')).href)) as { run: Run }
  const built = await build(t)
  const { bot, alice } = await giveKeys(built, { bot: 'agent', alice: 'operator' })
  const url = await built.app.listen({ host: '127.0.0.1', port: 0 })
  t.match(await run(url, bot.key, alice.key), {
    status: 'pending',
    approvals: 1,
    told: ['log'],
    by: ['alice'],
    execution: 'claimed',
    outcome: 'succeeded',
    stands: 'approved',
    number: 404,
    first: true,
    results: [/^\/confirm\/[\w-]+\/approve$/, 'invalid_request'],
    listed: [true],
    types: ['key_added', 'key_added', 'submitted'],
  })
})

type Run = (baseUrl: string, agentKey: string, operatorKey: string) => Promise<object>
