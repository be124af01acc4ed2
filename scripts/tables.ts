// The tables in docs/ that are made from the code: settings, rules, routes, problem codes, events, metrics.
import { format, resolveConfig } from 'prettier'
import { parse as parseYaml } from 'yaml'
import type { ZodType } from 'zod'
import { events } from '../src/audit/event.js'
import { metrics } from '../src/metrics.js'
import { breakerParts } from '../src/policy/breaker.js'
import { manual } from '../src/policy/parts.js'
import { highRiskActions } from '../src/policy/risk.js'
import { ruleSettings } from '../src/policy/schema.js'
import { sessionSettings } from '../src/policy/sessions.js'
import { shares } from '../src/policy/share.js'
import { comparisons } from '../src/policy/when.js'
import { problems } from '../src/routes/errors.js'
import { fileKey, otherSettings, type OtherSetting, type Setting, settingEntries } from '../src/config/settings.js'

interface Operation {
  operationId: string
  summary: string
  description?: string
  responses: Record<string, object>
}

/** Each by the name it has in the documents: `<!-- generated: NAME -->`. */
export function createTables(openapi: string): Record<string, string> {
  const { paths } = parseYaml(openapi) as { paths: Record<string, Record<string, Operation>> }
  const ours = settingEntries.filter(([, { env }]) => env.startsWith('CONFIRMATION_'))
  const groups = [...new Set(ours.map(([, { group }]) => group))]
  return {
    settings: groups
      .map((name) => `### ${name}\n\n${settingsTable(ours.filter(([, { group }]) => group === name))}`)
      .join('\n\n'),
    chats: settingsTable(settingEntries.filter((one) => !ours.includes(one))),
    'other-settings': table(
      ['Flag', 'Environment', 'Default', 'Meaning'],
      Object.values<OtherSetting>(otherSettings).map(({ flag, env, help, default: preset }) => [
        flag === undefined ? '' : code(`--${flag}`),
        env === undefined ? '' : code(env),
        preset === undefined ? '' : code(String(preset)),
        sentence(help),
      ]),
    ),
    'rule-settings': rulesTable('Setting', ruleSettings),
    breaker: rulesTable('Part', breakerParts),
    'session-settings': rulesTable('Setting', sessionSettings),
    comparisons: table(
      ['Comparison', 'Takes', 'Holds for'],
      Object.entries(comparisons.shape).map(([name, schema]) => [
        code(name),
        manual.get(schema)!.takes,
        schema.description!,
      ]),
    ),
    routes: table(
      ['Request', 'What it does', 'With a key of', 'Answers', 'Operation'],
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => [
          code(`${method.toUpperCase()} ${path}`),
          operation.summary,
          /Roles: (.*)\./.exec(operation.description ?? '')?.[1] ?? 'none needed',
          ownStatuses(operation).join(', '),
          code(operation.operationId),
        ]),
      ),
    ),
    codes: table(
      ['Code', 'Status', 'Meaning'],
      Object.entries(problems).map(([name, { status, meaning }]) => [code(name), String(status), meaning]),
    ),
    events: table(
      ['Type', 'Meaning'],
      Object.entries(events).map(([type, meaning]) => [code(type), meaning]),
    ),
    metrics: table(
      ['Name', 'Type', 'Labels', 'What it counts'],
      Object.values(metrics).map(({ name, type, labels, help }) => [
        code(name),
        type,
        labels.map(code).join(', '),
        help,
      ]),
    ),
    shares: table(
      ['Share', 'What', 'For all', 'For one requester', 'Refused with'],
      Object.entries(shares).map(([name, { what, total, each, code: refused }]) => [
        code(name),
        what,
        sizeText(total, what),
        sizeText(each, what),
        code(refused),
      ]),
    ),
    'high-risk': [...highRiskActions].map(code).join(', '),
  }
}

/** What the rules file takes at one place. */
function rulesTable(head: string, shape: Record<string, ZodType>): string {
  return table(
    [head, 'Takes', 'Left out', 'Meaning'],
    Object.entries(shape).map(([name, schema]) => {
      const { takes, leftOut = '' } = manual.get(schema)!
      return [code(name), takes, leftOut, schema.description!]
    }),
  )
}

/** Bytes in MiB; the rest with a comma in thousands. */
function sizeText(size: number | string, what: string): string {
  if (typeof size === 'string') return size
  return what.startsWith('Bytes') ? `${size / 1024 / 1024} MiB` : size.toLocaleString('en')
}

/** What the operation has of its own. What many answer alike is a reference; of these, only 404 tells something. */
function ownStatuses({ responses }: Operation): string[] {
  return Object.entries(responses).flatMap(([status, response]) =>
    '$ref' in response && status !== '404' ? [] : [status],
  )
}

function settingsTable(rows: [string, Setting][]): string {
  // Secrets, and so the chats, have no flags.
  const hasFlags = rows.some(([, { flag }]) => flag !== undefined)
  return table(
    [...(hasFlags ? ['Flag'] : []), 'Environment', 'In the file', 'Default', 'Meaning'],
    rows.map(([key, { flag, env, help, default: preset }]) => [
      ...(hasFlags ? [flag === undefined ? '' : code(`--${flag}`)] : []),
      code(env),
      code(fileKey(key)),
      preset === undefined ? '' : code(String(preset)),
      sentence(help),
    ]),
  )
}

/** The document with its generated parts made anew. Whatever else stands in it stays. */
export async function renewTables(document: string, tables: Record<string, string>, file: string): Promise<string> {
  const renewed = document.replace(
    /(<!-- generated: (.*?) -->)[\s\S]*?(<!-- end of generated -->|<!-- generated: |$)/g,
    (_, head: string, name: string, tail: string) => {
      const content = tables[name]
      if (content === undefined) throw new Error(`${file}: there is no table ${name}`)
      if (tail !== '<!-- end of generated -->') throw new Error(`${file}: the table ${name} has no end`)
      return `${head}\n\n${content}\n\n${tail}`
    },
  )
  return format(renewed, { ...(await resolveConfig(file)), filepath: file })
}

/** Which tables a document has. */
export function tablesIn(document: string): string[] {
  return [...document.matchAll(/<!-- generated: (.*?) -->/g)].map(([, name]) => name!)
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}

function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`
}
