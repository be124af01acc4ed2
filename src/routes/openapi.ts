// openapi.yaml, written from the routes' own schemas: what has a name is a component, and everything else refers to it.
import { STATUS_CODES } from 'node:http'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { Document, isScalar, visit } from 'yaml'
import { z } from 'zod'
import { isAapPath } from '../aap/problem.js'
import { roles, rolesFor } from '../access/role.js'
import { aapError } from './aap-bodies.js'
import { aapFormOf, beforeRoutes, headersOf, isHookPath, type ProblemCode, problemCodes, problems } from './errors.js'
import * as answers from './answers.js'
import { idParams } from './requests.js'
import { type ResponseHeader, responseHeaderNames, responseHeaders } from './response-headers.js'

export type Route = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>

const tags = {
  confirmations: 'What agents ask for, wait for, claim and report.',
  decisions: 'What people say to it.',
  whitelist: 'What passes without asking.',
  hooks: 'What the hosts of agents ask before each call of a tool, in their own words.',
  sessions: 'What agents do in one conversation, counted, reset and stopped.',
  audit: 'What happened, as it stands and as it came about.',
  access: 'Keys, and the people they belong to.',
  aap: 'The Agent Approval Protocol, version 1, for its adapters: with the base URL `/aap`.',
  service: 'How the service is, and what it can do.',
}
export type Tag = keyof typeof tags

/** Remembers every route that is added from now on. */
export function collectRoutes(app: FastifyInstance): Route[] {
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    if (method !== 'HEAD') routes.push({ method, url, schema, config })
  })
  return routes
}

/** Every problem that a route may answer with, in the order of the table. */
export function problemsOf({ method, url, schema, config }: Omit<Route, 'url'> & Partial<Route>): ProblemCode[] {
  if (url !== undefined && isHookPath(url)) return []
  const { needs } = config ?? {}
  const isRead = method === 'GET' || method === 'HEAD'
  const isKeyed = needs !== undefined && needs !== 'page' && needs !== 'nothing'
  const may: ProblemCode[] = [
    'unknown_parameter',
    'invalid_request',
    'unknown_host',
    'internal_error',
    'outcome_unknown',
    'storage_unavailable',
    'shutting_down',
    ...(isKeyed ? (['unauthorized', 'guess_limited'] as const) : []),
    ...(isKeyed && rolesFor(needs).length < roles.length ? (['forbidden'] as const) : []),
    ...(config?.rateLimit === false ? [] : (['flood_limited'] as const)),
    ...(isRead ? [] : (['not_json', 'ambiguous_json', 'unknown_field', 'body_too_large'] as const)),
    ...(isRead ? [] : (['unsupported_media_type', 'cross_origin', 'contended'] as const)),
    // Also what has another name than an id may be too long for the router.
    ...(Object.keys(shapeOf(schema?.params)).length > 0 ? (['not_found'] as const) : []),
    ...('cursor' in shapeOf(schema?.querystring) ? (['invalid_cursor'] as const) : []),
    ...(schema?.problems ?? []),
  ]
  return problemCodes.filter((code) => may.includes(code))
}

/** Whether a route is about one confirmation, by its id. */
export function isOnConfirmation({ url }: Pick<Route, 'url'>): boolean {
  return url.startsWith('/confirm/:id')
}

export function describeApi(routes: Route[], version: string): string {
  // What has no schema is for people, in a browser.
  const described = routes.flatMap(({ schema, ...route }) => (schema === undefined ? [] : [{ ...route, schema }]))
  const schemas = createSchemas()
  // What is called the same in that protocol is something else.
  const ours = described.filter(({ url }) => !isAapPath(url))
  const parameters = shareParameters(ours.flatMap(({ schema }) => parametersOf(schema, schemas)))
  const responses = shareResponses(schemas)
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of described) {
    const path = route.url.replace(/:(\w+)/g, '{$1}')
    const method = String(route.method).toLowerCase()
    paths[path] = { ...paths[path], [method]: describeOperation(route, schemas, parameters, responses) }
  }
  return write({
    openapi: '3.1.0',
    info: {
      title: 'Holdpoint',
      version,
      description: "Holds an agent's irreversible actions until a person approves or denies them.",
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: 'http://127.0.0.1:6000', description: 'Where it listens unless it is told otherwise.' }],
    // Without a key while none was ever made.
    security: [{ key: [] }, {}],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A key: `hpk_...`. It is needed as soon as the first one was ever made. Until then everyone is let in ' +
            'without one where Holdpoint listens on loopback, and nobody where it listens on any other address.',
        },
      },
      parameters: Object.fromEntries([...parameters.values()].map((one) => [one.name, one])),
      headers: responseHeaders,
      responses: {
        ...Object.fromEntries([...responses.values()].map(({ name, response }) => [name, response])),
        [otherwise]: describeProblems([...beforeRoutes], false, schemas),
      },
      schemas: schemas.components(),
    },
  })
}

/** As YAML, with lists of words in one line, and with quotes around what older readers would take for a date. */
function write(description: Json): string {
  const document = new Document(description, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar: (_key, scalar) => {
      if (/^\d{4}-\d\d-\d\d/.test(String(scalar.value))) scalar.type = 'QUOTE_DOUBLE'
    },
    Seq: (_key, list) => {
      list.flow = list.items.length > 0 && list.items.every((item) => isScalar(item))
    },
  })
  return document.toString({ lineWidth: 120, flowCollectionPadding: false })
}

type Described = Route & { schema: FastifySchema }
type Json = Record<string, unknown>

function describeOperation(
  route: Described,
  schemas: Schemas,
  shared: ReturnType<typeof shareParameters>,
  common: ReturnType<typeof shareResponses>,
): Json {
  const { schema, config } = route
  const { needs } = config ?? {}
  const body = schema.body as z.ZodType | undefined
  const parameters = parametersOf(schema, schemas).map((one) =>
    shared.has(keyOf(one)) ? { $ref: `#/components/parameters/${one.name}` } : one,
  )
  const isOpen = needs === undefined || needs === 'page' || needs === 'nothing'
  const whoMay = isOpen ? 'For everyone, without a key.' : `Roles: ${rolesFor(needs).join(', ')}.`
  return {
    operationId: schema.operationId,
    tags: [schema.tag],
    summary: schema.summary,
    description: schema.description === undefined ? whoMay : `${schema.description}\n\n${whoMay}`,
    ...(isOpen ? { security: [] } : {}),
    ...(schema.needsKeyInOpenMode === true ? { security: [{ key: [] }] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !body.safeParse(undefined).success,
            content: { 'application/json': { schema: schemas.of('body', body) } },
          },
        }),
    responses: {
      ...Object.fromEntries(
        answersOf(schema).map(([status, answer]) => [
          status,
          describeAnswer(schemas.of('answer', answer), answer, schema),
        ]),
      ),
      ...(isAapPath(route.url)
        ? describeAapErrors(problemsOf(route), schemas)
        : {
            ...Object.fromEntries(
              byStatus(problemsOf(route)).map(([status, codes]) => [
                status,
                common.has(keyOf(codes))
                  ? { $ref: `#/components/responses/${common.get(keyOf(codes))!.name}` }
                  : describeProblems(codes, isOnConfirmation(route), schemas),
              ]),
            ),
            default: { $ref: `#/components/responses/${otherwise}` },
          }),
    },
  }
}

// -- answers -----------------------------------------------------------------------------------------------------------

const problemType = 'application/problem+json'

/** The answer with any other status: to what never got as far as a route. */
const otherwise = 'Default'

function answersOf({ response }: FastifySchema): [status: string, answer: z.ZodType][] {
  return Object.entries(response as Record<string, z.ZodType>)
}

/** What an answer is called by its status is its own description, or that of what it refers to. */
function describeAnswer(
  { description, contentMediaType, ...schema }: Json,
  answer: z.ZodType,
  { sends = [], also = {} }: FastifySchema,
): Json {
  const said = { description: description ?? z.globalRegistry.get(answer)?.description, ...referToHeaders(sends) }
  if (schema.type === 'null') return said
  const type = contentMediaType ?? (schema.type === 'string' ? 'text/plain' : 'application/json')
  const others = Object.entries(also).map(([other, text]) => [
    other,
    { schema: { type: 'string', ...z.globalRegistry.get(text) } },
  ])
  return { ...said, content: { [type as string]: { schema }, ...Object.fromEntries(others) } }
}

function referToHeaders(sends: readonly ResponseHeader[]): Json {
  const names = responseHeaderNames.filter((name) => sends.includes(name))
  if (names.length === 0) return {}
  return { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) }
}

function byStatus(codes: ProblemCode[]): [status: number, codes: ProblemCode[]][] {
  const found = [...new Set(codes.map((code) => problems[code].status))].sort((a, b) => a - b)
  return found.map((status) => [status, codes.filter((code) => problems[code].status === status)])
}

function describeProblems(codes: ProblemCode[], onConfirmation: boolean, schemas: Schemas): Json {
  return {
    description: `${codes.map((code) => problems[code].title).join('; ')}.`,
    ...referToHeaders(codes.flatMap(headersOf)),
    content: { [problemType]: { schema: schemas.of('answer', answers.problemWith(codes, onConfirmation)) } },
  }
}

/** The same in the words of that protocol. Its answers to what never got as far as a route are alike. */
function describeAapErrors(codes: ProblemCode[], schemas: Schemas): Json {
  const forms = codes.map((code) => ({ title: problems[code].title, from: code, ...aapFormOf(code) }))
  const statuses = [...new Set(forms.map(({ status }) => status))].sort((a, b) => a - b)
  const describe = (some: typeof forms): Json => ({
    description: `${some.map(({ title, code }) => `${title} (\`${code}\`)`).join('; ')}.`,
    ...referToHeaders(['X-Request-ID', ...some.flatMap(({ from }) => headersOf(from))]),
    content: { 'application/json': { schema: schemas.of('answer', aapError) } },
  })
  return {
    ...Object.fromEntries(statuses.map((one) => [one, describe(forms.filter(({ status }) => status === one))])),
    default: describe(beforeRoutes.map((code) => ({ title: problems[code].title, from: code, ...aapFormOf(code) }))),
  }
}

/** What reads and what changes something by its id: the problems that many routes share, by their codes. */
const usual = [
  { name: 'OnRead', method: 'GET', schema: { params: idParams }, config: { needs: 'survey' } },
  { name: 'OnChange', method: 'POST', schema: { params: idParams }, config: { needs: 'decide' } },
] as const

function shareResponses(schemas: Schemas) {
  const shared = new Map<string, { name: string; response: Json }>()
  for (const route of usual) {
    const others = usual.filter((other) => other !== route).flatMap((other) => byStatus(problemsOf(other)))
    for (const [status, codes] of byStatus(problemsOf(route))) {
      const hasTwin = others.some(([twin, twinCodes]) => twin === status && keyOf(twinCodes) !== keyOf(codes))
      const name = `${STATUS_CODES[status]!.replaceAll(/\W/g, '')}${hasTwin ? route.name : ''}`
      shared.set(keyOf(codes), { name, response: describeProblems(codes, false, schemas) })
    }
  }
  return shared
}

// -- parameters --------------------------------------------------------------------------------------------------------

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: Json
}

function parametersOf({ params, querystring, known }: FastifySchema, schemas: Schemas): Parameter[] {
  const places = [
    ['path', params],
    ['query', querystring],
    ['header', known],
  ] as const
  return places.flatMap(([place, schema]) => {
    if (!(schema instanceof z.ZodObject)) return []
    const { properties = {}, required = [] } = schemas.of('parameter', schema)
    return Object.entries(properties as Record<string, Json & { description?: string }>).map(
      ([name, { description, ...rest }]) => ({
        name,
        in: place,
        required: (required as string[]).includes(name),
        ...(description === undefined ? {} : { description }),
        schema: rest,
      }),
    )
  })
}

/** Those that several operations have, and that go by their name alone. */
function shareParameters(all: Parameter[]): Map<string, Parameter> {
  const shared = new Map<string, Parameter>()
  for (const one of all) {
    const alike = all.filter((other) => other.name === one.name)
    if (alike.length > 1 && alike.every((other) => keyOf(other) === keyOf(one))) shared.set(keyOf(one), one)
  }
  return shared
}

// -- schemas -----------------------------------------------------------------------------------------------------------

/** A field with a default may be left out of a body, and is in every answer; so a name stands for one of them. */
type Direction = 'parameter' | 'body' | 'answer'

type Schemas = ReturnType<typeof createSchemas>

/** Schemas as JSON, and what they refer to by its name. */
function createSchemas() {
  const components = new Map<string, Json>()

  function of(direction: Direction, schema: z.ZodType): Json {
    const json = z.toJSONSchema(schema, {
      io: direction === 'answer' ? 'output' : 'input',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => fit(direction, jsonSchema, z.globalRegistry.get(zodSchema)),
    })
    const text = JSON.stringify(json).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')
    const { $schema: _, $defs = {}, ...rest } = JSON.parse(text) as Json
    for (const [name, one] of Object.entries($defs as Record<string, Json>)) {
      const known = components.get(name)
      if (known !== undefined && keyOf(known) !== keyOf(inOrder(one)))
        throw new Error(`${name} is the name of two schemas`)
      components.set(name, inOrder(one))
    }
    return inOrder(rest)
  }

  function fit(direction: Direction, json: Json, { default: usual, examples, maximum }: Json = {}): void {
    // Of what is transformed zod leaves these out, for they could be of what comes out. Ours are of what comes in.
    if (direction !== 'answer' && usual !== undefined) json.default = usual
    if (direction !== 'answer' && examples !== undefined) json.examples = examples
    // How a number is written in a query, and what the format says already.
    if (json.type !== 'string' || json.format === 'date-time') delete json.pattern
    // Every name in JSON is a string, and every whole number is between these, unless it is said that others are refused.
    delete json.propertyNames
    if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum
    if (json.maximum === Number.MAX_SAFE_INTEGER && maximum === undefined) delete json.maximum
    // A list whose items are judged one by one names what they are.
    if (json.items instanceof z.ZodType) json.items = of(direction, json.items)
    // Clients must bear with fields that come later.
    if (direction === 'answer' && json.additionalProperties === false) delete json.additionalProperties
    // Generators of clients take a default for a field that is always there, which in a body it is not.
    if (direction === 'body' && 'default' in json) {
      const leftOut = `Left out: \`${JSON.stringify(json.default)}\`.`
      delete json.default
      json.description = typeof json.description === 'string' ? `${json.description} ${leftOut}` : leftOut
    }
  }

  return {
    of,
    /** All that has been referred to so far, in the order of the alphabet. */
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** What it is comes first. */
function inOrder({ description, ...rest }: Json): Json {
  return description === undefined ? rest : { description, ...rest }
}

function keyOf(value: unknown): string {
  return JSON.stringify(value)
}

function shapeOf(schema: unknown): object {
  return schema instanceof z.ZodObject ? schema.shape : {}
}
