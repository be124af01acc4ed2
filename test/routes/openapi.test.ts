// openapi.yaml as a contract: what it names, what it refers to, and which problems each operation may answer with.
import t from 'tap'
import { parse } from 'yaml'
import { z } from 'zod'
import { statuses } from '../../src/core/model.js'
import { comparisonNames } from '../../src/policy/when.js'
import * as answers from '../../src/routes/answers.js'
import { aapFormOf, beforeRoutes, extrasOf, type ProblemCode, problemCodes, problems } from '../../src/routes/errors.js'
import * as requests from '../../src/routes/requests.js'
import { build, problemWithHeaders, problemWithRefusal } from '../support.js'

type Json = Record<string, any>

interface Operation {
  name: string
  described: Json
}

async function describe(t: Parameters<typeof build>[0]) {
  const { openapi } = await build(t)
  const api = parse(openapi()) as Json
  const operations = Object.entries<Json>(api.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, described]): Operation => ({
      name: `${method.toUpperCase()} ${path}`,
      described,
    })),
  )
  const follow = (json: Json): Json =>
    typeof json.$ref === 'string'
      ? follow(
          json.$ref
            .split('/')
            .slice(1)
            .reduce<Json>((place, key) => place[key], api),
        )
      : json
  return { api, operations, follow }
}

t.test('every operation has a name of its own, a tag that is explained, a summary and a success', async (t) => {
  const { api, operations } = await describe(t)
  const ids = operations.map(({ described }) => described.operationId)
  t.equal(new Set(ids).size, operations.length)
  const tags = (api.tags as Json[]).map(({ name }) => name)
  for (const { name, described } of operations) {
    t.match(described.operationId, /^[a-z]+([A-Z][a-z]+)+$/, name)
    t.ok(described.tags.length === 1 && tags.includes(described.tags[0]), name)
    t.match(described.summary, /^[A-Z].*[^.]$/, name)
    t.match(Object.keys(described.responses)[0], /^20[0-4]$/, name)
  }
  for (const { name, description } of api.tags as Json[]) t.match(description, /\.$/, name)
  t.same(
    tags.filter((tag) => !operations.some(({ described }) => described.tags[0] === tag)),
    [],
  )
})

t.test('every reference leads to a component, and every component is referred to', async (t) => {
  const { api } = await describe(t)
  const text = JSON.stringify(api)
  const referred = new Set([...text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, path]) => path))
  const there = ['parameters', 'headers', 'responses', 'schemas'].flatMap((kind) =>
    Object.keys(api.components[kind]).map((name) => `${kind}/${name}`),
  )
  t.same([...referred].sort(), there.sort())
  for (const name of ['Confirmation', 'Vote', 'Grant', 'Event', 'Delivery', 'Key', 'Person', 'Submission', 'Status']) {
    t.ok(there.includes(`schemas/${name}`), name)
  }
  t.notMatch(text, '$defs')
})

t.test('what has a name is not written out again', async (t) => {
  const { api } = await describe(t)
  const schemas = Object.entries<Json>(api.components.schemas)
  const named = schemas.map(([, schema]) => JSON.stringify(schema))
  for (const [name, schema] of schemas) {
    for (const inner of objectsIn(Object.values(schema))) t.notOk(named.includes(JSON.stringify(inner)), name)
  }
  for (const inner of objectsIn(api.paths)) t.notOk(named.includes(JSON.stringify(inner)))
})

t.test('what may be left out is not required of a body, and all there is is required of an answer', async (t) => {
  const { api } = await describe(t)
  const { Submission, BatchItem, Approval, Confirmation, Vote, Problem } = api.components.schemas as Record<
    string,
    Json
  >
  t.same(Submission!.required, ['action', 'description'])
  t.same(BatchItem!.required, ['action', 'description'])
  t.equal(Approval!.required, undefined)
  t.same(Confirmation!.required, Object.keys(Confirmation!.properties))
  t.same(Vote!.required, Object.keys(Vote!.properties))
  t.same(Problem!.required, ['type', 'title', 'status', 'detail', 'error', 'code', 'request_id'])
  // A generated client would take a field with a default for one that must be sent.
  t.notMatch(JSON.stringify(api.components.schemas), '"default":')
})

t.test('an answer may grow, and what a body may hold is closed', async (t) => {
  const { api } = await describe(t)
  const { Confirmation, Submission, Problem } = api.components.schemas as Record<string, Json>
  t.equal(Confirmation!.additionalProperties, undefined)
  t.equal(Problem!.additionalProperties, undefined)
  t.equal(Submission!.additionalProperties, false)
  t.same(Submission!.properties.details.additionalProperties, {}, 'but for what is free-form')
})

t.test('the codes of problems are one list, and each is explained in plain sentences', async (t) => {
  const { api } = await describe(t)
  const { ProblemCode, Problem } = api.components.schemas as Record<string, Json>
  t.same(ProblemCode!.enum, Object.keys(problems))
  t.same(Problem!.properties.code, { $ref: '#/components/schemas/ProblemCode' })
  for (const code of problemCodes) {
    const { meaning, status } = problems[code]
    t.match(meaning, /^[A-Z0-9`][^[\]*|\n]*\.$/, code)
    t.match(ProblemCode!.description, `- \`${code}\` (${status}): ${meaning}`)
  }
})

t.test('the status of a problem is a number, but in those about a state', async (t) => {
  const { api } = await describe(t)
  const { Problem, StateProblem, Status } = api.components.schemas as Record<string, Json>
  t.equal(Problem!.properties.status.type, 'integer')
  t.equal(StateProblem!.properties.status.$ref, '#/components/schemas/Status')
  t.same(Status!.enum, statuses)
  const withState = problemCodes.filter((code) => extrasOf(code).some(({ name }) => name === 'status'))
  t.same(StateProblem!.properties.code.enum, withState)
  for (const code of withState) t.equal(problems[code].status, 409, code)
})

/** Those of the Agent Approval Protocol have its error, and name the codes beside. */
const isAap = (name: string) => name.includes(' /aap/')
function aapCodes({ responses }: Json): ProblemCode[] {
  return Object.entries<Json>(responses).flatMap(([status, { description }]) =>
    problemCodes.filter((code) => {
      const form = aapFormOf(code)
      return description.includes(`\`${form.code}\``) && (status === 'default' || Number(status) === form.status)
    }),
  )
}

t.test('an operation of the Agent Approval Protocol has its error for each status, with its id', async (t) => {
  const { operations } = await describe(t)
  const all = operations.filter(({ name }) => isAap(name))
  t.equal(all.length, 7)
  for (const { name, described } of all) {
    t.same(described.security, [{ key: [] }], name)
    for (const [status, { headers, content }] of Object.entries<Json>(described.responses)) {
      t.ok('X-Request-ID' in headers, `${name} ${status}`)
      if (/^2/.test(status)) continue
      t.same(
        content,
        { 'application/json': { schema: { $ref: '#/components/schemas/AapError' } } },
        `${name} ${status}`,
      )
      t.ok(status === 'default' || Number(status) >= 400)
    }
    const statuses = Object.keys(described.responses)
    t.same(
      ['400', '401', '403', '429', '500', '503'].filter((status) => !statuses.includes(status)),
      [],
      name,
    )
    t.notOk(statuses.includes('422') || statuses.includes('423'), name)
  }
})

t.test('an operation lists its problems by status, each with all its codes', async (t) => {
  const { operations, follow } = await describe(t)
  const listed = new Set<string>(beforeRoutes)
  for (const { name, described } of operations) {
    if (isAap(name)) {
      for (const code of aapCodes(described)) listed.add(code)
      continue
    }
    for (const [status, response] of Object.entries<Json>(described.responses)) {
      if (/^2/.test(status)) continue
      const { content } = follow(response)
      const { schema } = content['application/problem+json']
      for (const { allOf } of schema.anyOf ?? [schema]) {
        const [{ $ref }, { properties }] = allOf
        for (const code of properties.code.enum as ProblemCode[]) {
          listed.add(code)
          if (status === 'default') continue
          t.equal(problems[code].status, Number(status), `${name} ${code}`)
          const isState = answers.hasState(code, name.includes('/confirm/{id}'))
          t.equal($ref, `#/components/schemas/${isState ? 'StateProblem' : 'Problem'}`, `${name} ${code}`)
        }
      }
    }
    const { default: otherwise } = described.responses
    t.equal(otherwise.$ref, '#/components/responses/Default', name)
  }
  // These are told on pages alone.
  t.same(
    problemCodes.filter((code) => !listed.has(code)),
    ['invalid_choice', 'link_used'],
  )
})

t.test('an id or a name that is longer than any is not found, and each operation that takes one says so', async (t) => {
  const { call } = await build(t)
  const { operations, follow } = await describe(t)
  const withName = operations.filter(({ name }) => name.includes('{') && !isAap(name))
  t.ok(withName.some(({ name }) => name === 'PUT /people/{name}'))
  for (const { name, described } of withName) {
    const [method, path] = name.split(' ') as ['GET', string]
    const answer = await call(method, path.replace(/\{\w+\}/, 'x'.repeat(3000)))
    t.match(answer, { status: 404, body: { code: 'not_found', error: /id or a name that long/ } }, name)
    t.match(JSON.stringify(follow(described.responses[404])), /"enum":\["not_found"\]/, name)
  }
})

t.test('a full whitelist is a number to whoever adds to it, and a state to whoever decides', async (t) => {
  const { api } = await describe(t)
  const schemaOf = (path: string) =>
    api.paths[path].post.responses[409].content['application/problem+json'].schema.allOf as Json[]
  for (const [path, ref] of [
    ['/whitelist', 'Problem'],
    ['/confirm/{id}/approve', 'StateProblem'],
  ] as const) {
    const [base, narrowed] = schemaOf(path)
    t.equal(base!.$ref, `#/components/schemas/${ref}`)
    t.ok(narrowed!.properties.code.enum.includes('whitelist_full'))
  }
})

t.test('the examples are what they are examples of', async (t) => {
  const { api } = await describe(t)
  const schemas: Record<string, z.ZodType> = {
    Submission: requests.submitBody,
    Confirmation: answers.confirmation,
    HeldConfirmation: answers.held,
    HookCall: requests.hookBody,
    Problem: answers.problem,
    StateProblem: answers.stateProblem,
  }
  const withExamples = Object.entries<Json>(api.components.schemas).filter(([, { examples }]) => examples !== undefined)
  t.same(withExamples.map(([name]) => name).sort(), Object.keys(schemas).sort())
  for (const [name, { examples }] of withExamples) {
    for (const example of examples) t.same(schemas[name]!.parse(example), example, name)
  }
})

t.test('a value that is refused is outside of what is described, and one that is taken is inside', async (t) => {
  const { api, operations } = await describe(t)
  const { Submission, BatchItem, GrantTerms, KeyTerms } = api.components.schemas as Record<string, Json>
  const setPerson = operations.find(({ described }) => described.operationId === 'setPerson')!.described
  const names = ['alice', 'Zoë 2', 'a', 'é'.repeat(100), 'é'.repeat(101), '', ' ', '-a', 'a-', 'a:b', 'a/b', 'a\nb']
  const texts = ['a', ' a ', 'x'.repeat(1000), 'x'.repeat(1001), '', ' ', '\t\u00a0\n']
  const ids = [
    '1',
    '9'.repeat(32),
    '9'.repeat(33),
    '',
    '-1',
    '1.0',
    '\u0661',
    'x',
    0,
    -1,
    1.5,
    2 ** 53 - 1,
    2 ** 53,
    null,
    true,
  ]
  const paths = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, 1]))
  const fields: [name: string, described: Json, taken: z.ZodType, values: unknown[]][] = [
    ['KeyTerms name', KeyTerms!.properties.name, requests.keyBody.shape.name, names],
    ['name in the path', setPerson.parameters[0].schema, requests.nameParams.shape.name, names],
    ['action', Submission!.properties.action, requests.submitBody.shape.action, texts],
    ['description', Submission!.properties.description, requests.submitBody.shape.description, texts.slice(4)],
    ['requester', GrantTerms!.properties.requester, requests.grantBody.shape.requester, texts],
    ['telegram_id', KeyTerms!.properties.telegram_id, requests.keyBody.shape.telegram_id, ids],
    ['discord_id', KeyTerms!.properties.discord_id, requests.keyBody.shape.discord_id, ids],
    [
      'idempotency_key',
      BatchItem!.properties.idempotency_key,
      requests.batchItem.shape.idempotency_key,
      ['a', '!~', '"a"', 'x'.repeat(255), 'x'.repeat(256), '', ' ', 'a b', 'é', '\x7f', 'a\n'],
    ],
    ['when', GrantTerms!.properties.when, requests.grantBody.shape.when, [0, 1, 20, 21].map(paths)],
  ]
  for (const [name, described, taken, values] of fields) {
    t.equal(typeof described.description, name === 'name in the path' ? 'undefined' : 'string', name)
    for (const value of values) {
      const said = `${name} ${JSON.stringify(value).slice(0, 40)}`
      t.equal(fits(described, value), taken.safeParse(value).success, said)
    }
  }
})

t.test('an Idempotency-Key is described as it is taken', async (t) => {
  const { submit } = await build(t)
  const { api } = await describe(t)
  const { schema } = api.components.parameters['Idempotency-Key'] as Json
  const [most, more] = ['x'.repeat(255), 'x'.repeat(256)]
  for (const key of ['a', '"a"', 'a"b', most, `"${most}"`, more, `"${more}"`, 'a b', 'é']) {
    const { status } = await submit({}, { 'idempotency-key': key })
    t.equal(fits(schema as Json, key), status === 202, key.slice(0, 40))
  }
})

t.test('limits that no schema can express are told in words', async (t) => {
  const { api } = await describe(t)
  const { Submission, GrantTerms } = api.components.schemas as Record<string, Json>
  for (const { properties } of [Submission!, GrantTerms!]) {
    t.match(properties.details.description, /64 levels deep.* 10000 values/)
  }
  for (const name of comparisonNames) t.match(GrantTerms!.properties.when.description, `\`${name}\``)
  t.equal(Submission!.properties.callback_url.format, 'uri')
})

t.test('it says where a key is needed, and since when', async (t) => {
  const { call } = await build(t)
  const { api, operations } = await describe(t)
  t.same(api.security, [{ key: [] }, {}])
  t.match(api.components.securitySchemes.key.description, /first one.*loopback/)
  const own = operations.flatMap(({ name, described: { security } }) =>
    security === undefined || isAap(name) ? [] : [[name, security]],
  )
  t.same(own, [
    ['GET /health', []],
    ['PUT /people/{name}', [{ key: [] }]],
  ])
  t.match(await call('GET', '/confirm'), { status: 200 }, 'while there is none')
  t.match(await call('PUT', '/people/alice', {}), { status: 403, body: { code: 'forbidden' } }, 'even then')
})

t.test('a header that some answers have is declared where it is sent, and nowhere else', async (t) => {
  const { operations, follow, api } = await describe(t)
  const headersOf = (operationId: string, status: number | 'default') => {
    const { described } = operations.find((one) => one.described.operationId === operationId)!
    return Object.keys(follow(described.responses[status]).headers ?? {})
  }
  const ofSubmission = ['Idempotency-Replayed', 'Preference-Applied', 'RateLimit', 'RateLimit-Policy']
  t.same(headersOf('submitConfirmation', 200), ofSubmission)
  t.same(headersOf('submitConfirmation', 202), ofSubmission)
  t.same(headersOf('submitConfirmation', 409), ['Retry-After'], 'denied_before')
  t.same(headersOf('submitConfirmation', 429), ['RateLimit', 'RateLimit-Policy', 'Retry-After'])
  t.same(headersOf('getConfirmation', 200), ['Preference-Applied'])
  t.same(headersOf('claimConfirmation', 200), ['Idempotency-Replayed'])
  t.same(headersOf('claimConfirmation', 409), [])
  t.same(headersOf('reportConfirmation', 200), ['Idempotency-Replayed'])
  t.same(headersOf('listConfirmations', 200), [])
  t.same(headersOf('listConfirmations', 401), ['WWW-Authenticate'])
  t.same(headersOf('listConfirmations', 429), ['Retry-After'])
  t.same(headersOf('listConfirmations', 503), ['Retry-After'])
  t.same(headersOf('listConfirmations', 'default'), ['Allow'])
  for (const [name, { description, schema }] of Object.entries<Json>(api.components.headers)) {
    t.match(description, /\.$/, name)
    t.ok(['string', 'integer'].includes(schema.type), name)
  }
})

t.test('a refusal has none of the headers of the answer that was asked for', async (t) => {
  const { call, submit } = await build(t)
  const prefer = { prefer: 'wait=0' }
  const { headers } = await submit({}, prefer)
  t.match(headers, { 'preference-applied': 'wait=0', 'ratelimit-policy': String, ratelimit: String })
  for (const refused of [await call('GET', '/confirm/x', undefined, prefer), await submit({ details: 5 }, prefer)]) {
    t.ok(refused.status >= 400)
    t.notOk('preference-applied' in refused.headers)
    t.notOk('ratelimit' in refused.headers)
  }
})

t.test('every test of a route fails for a header that the route does not declare', async (t) => {
  const sent = { 'content-type': 'text/plain', 'retry-after': 1, 'x-colour': 'red' }
  t.equal(problemWithHeaders(sent, ['Retry-After', 'X-Colour']), null)
  t.equal(problemWithHeaders(sent, ['Retry-After']), 'it does not declare the header x-colour')
  t.equal(problemWithHeaders(sent, []), 'it does not declare the header retry-after, x-colour')
})

t.test('what is clamped is not bounded', async (t) => {
  const { api } = await describe(t)
  const { wait } = api.components.parameters as Record<string, Json>
  t.same(wait!.schema, { type: 'number', minimum: 0 })
  t.match(wait!.description, `more than ${requests.maxWaitSeconds} is clamped`)
})

t.test('text, streams and answers without a body are described as what they are', async (t) => {
  const { api } = await describe(t)
  const answerOf = (path: string, status: number) => api.paths[path].get.responses[status] as Json
  t.same(Object.keys(answerOf('/metrics', 200).content), ['text/plain'])
  t.same(Object.keys(answerOf('/events', 200).content), ['text/event-stream'])
  t.same(Object.keys(answerOf('/openapi.yaml', 200).content), ['application/yaml'])
  t.equal(answerOf('/confirm/{id}/events', 204).content, undefined)
})

t.test(
  'every test of a route fails for a problem that the route does not declare or that holds another field',
  async (t) => {
    const { app, submit, call } = await build(t)
    const { id } = (await submit()).body
    await call('POST', `/confirm/${id}/deny`)
    const { body } = await call('POST', `/confirm/${id}/cancel`)
    t.equal(body.code, 'already_resolved')
    const route = { method: 'POST', url: '/confirm/:id/cancel', config: { needs: 'act' } } as const
    const params = requests.idParams
    const flawOf = (declared: ProblemCode[], answered: Json, url: string = route.url) =>
      problemWithRefusal({ ...route, url, schema: { params, problems: declared } } as never, answered as never)
    t.equal(flawOf(['already_resolved'], body), null)
    t.equal(flawOf([], body), 'it does not declare the problem already_resolved')
    t.match(flawOf(['already_resolved'], { ...body, status: 409 }), /"status"/, 'a number for the state')
    t.match(flawOf(['already_resolved'], { ...body, colour: 'red' }), /colour/, 'a field that no row has')
    t.match(flawOf(['already_resolved'], { ...body, resolved_by: undefined }), /resolved_by/, 'a field that is missing')
    t.match(flawOf([], { ...body, code: 'gone' }), /no code gone/)
    const full = { ...body, code: 'whitelist_full', status: 'pending' }
    delete full.resolved_by
    delete full.resolved_at
    t.equal(flawOf(['whitelist_full'], full), null)
    t.match(flawOf(['whitelist_full'], full, '/whitelist'), /"status"/, 'a state for the number')
    t.ok(app.hasRoute({ method: 'POST', url: route.url }))
  },
)

/** As a validator that takes patterns for Unicode, which JSON Schema asks for. */
function fits({ pattern, ...described }: Json, value: unknown): boolean {
  if (typeof value === 'string' && pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return false
  return z.fromJSONSchema(described).safeParse(value).success
}

function objectsIn(json: unknown): Json[] {
  if (typeof json !== 'object' || json === null) return []
  const inner = Object.values(json).flatMap(objectsIn)
  return Array.isArray(json) ? inner : [json, ...inner]
}
