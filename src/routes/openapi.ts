// openapi.yaml, written from the routes' own schemas.
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify'
import { stringify } from 'yaml'
import { z } from 'zod'
import { rolesFor } from '../access/role.js'
import { problems } from './errors.js'
import * as answers from './answers.js'

export type Route = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>

/** Remembers every route that is added from now on. */
export function collectRoutes(app: FastifyInstance): Route[] {
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    if (method !== 'HEAD') routes.push({ method, url, schema, config })
  })
  return routes
}

export function describeApi(routes: Route[], version: string): string {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { method, url, schema, config } of routes) {
    // What has no schema is for people, in a browser.
    if (schema === undefined) continue
    const path = url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [String(method).toLowerCase()]: operation(schema, config?.needs) }
  }
  return stringify(
    {
      openapi: '3.1.0',
      info: {
        title: 'Holdpoint',
        version,
        description:
          "Holds an agent's irreversible actions until a person approves or denies them.\n" +
          `Problem codes: ${Object.keys(problems).join(', ')}.`,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: 'http://127.0.0.1:6000' }],
      paths,
      // Without a key while there is none.
      security: [{ key: [] }, {}],
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A key: `hpk_...`.' } },
        schemas: { Problem: jsonSchema(answers.problem, 'output') },
      },
    },
    { lineWidth: 120, aliasDuplicateObjects: false },
  )
}

function operation(
  schema: NonNullable<Route['schema']>,
  needs: FastifyContextConfig['needs'],
): Record<string, unknown> {
  const responses = (schema.response ?? { 200: z.string().meta({ description: 'Text.' }) }) as Record<string, z.ZodType>
  const parameters = [
    ...parametersOf(schema.params, 'path'),
    ...parametersOf(schema.querystring, 'query'),
    ...parametersOf(schema.known, 'header'),
  ]
  const body = schema.body as z.ZodType | undefined
  return {
    summary: schema.summary,
    ...(needs === undefined || needs === 'page' || needs === 'nothing'
      ? { security: [] }
      : { description: `Roles: ${rolesFor(needs).join(', ')}.` }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !body.safeParse(undefined).success,
            content: { 'application/json': { schema: jsonSchema(body, 'input') } },
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, response]) => {
          const { description, contentMediaType, ...rest } = jsonSchema(response, 'output')
          if (rest.type === 'null') return [status, { description }]
          const type = contentMediaType ?? (rest.type === 'string' ? 'text/plain' : 'application/json')
          return [status, { description, content: { [type as string]: { schema: rest } } }]
        }),
      ),
      default: {
        description: 'A problem, with a stable code and a sentence that says what to do.',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

function parametersOf(schema: unknown, where: 'path' | 'query' | 'header'): Record<string, unknown>[] {
  if (!(schema instanceof z.ZodObject)) return []
  const { properties = {}, required = [] } = jsonSchema(schema, 'input')
  return Object.entries(properties as Record<string, Record<string, unknown>>).map(
    ([name, { description, ...rest }]) => ({
      name,
      in: where,
      required: (required as string[]).includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }),
  )
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' })
  return rest
}
