// The types of the API for the client, made from openapi.yaml.
import openapiTS, { astToString } from 'openapi-typescript'
import { format, resolveConfig } from 'prettier'
import { parse } from 'yaml'

export const clientTypesFile = 'src/client/api.ts'

/** The text of the file; `file` is where it will be, whose style it has. */
export async function createClientTypes(openapi: string, file: string): Promise<string> {
  const { components, ...rest } = parse(openapi) as { components: { schemas: object } }
  const shapes = { ...rest, paths: {}, components: { schemas: components.schemas } }
  const made = await openapiTS(shapes as never, { rootTypes: true, rootTypesNoSchemaPrefix: true, alphabetize: true })
  const text = astToString(made)
    .replace(/^export type webhooks = .*\n/m, '')
    .replace(/^export type \$defs = .*\n/m, '')
    .replace(/^export type (paths|operations) = .*\n/gm, '')
    .replace(/^ {4}(responses|parameters|requestBodies|headers|pathItems): never;\n/gm, '')
  const head = '// What the API takes and answers, written by `npm run docs` from openapi.yaml: edit nothing here.\n'
  return format(head + text, { ...(await resolveConfig(file)), parser: 'typescript' })
}
