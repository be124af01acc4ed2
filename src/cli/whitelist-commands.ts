// What passes without asking: listed, added, taken back.
import type { Grant, GrantPage, Operator } from '../client/index.js'
import { shortLine } from '../core/cut.js'
import { inert } from '../core/json.js'
import { visibleJson, visibleLine } from '../core/visible.js'
import { type Context, readAll, readSeconds, wrong } from './key-commands.js'
import { CommandRefused } from './output.js'
import { withReader } from './reach.js'
import { readJsonOption } from './request-commands.js'
import { layOut } from './table.js'

type Options = Context['given']['options']

/** Ten years, as the API has it. */
const maxTtlSeconds = 315_360_000
const maxName = 60
const fewest = 6

export async function listWhitelist(context: Context): Promise<void> {
  const { output, given } = context
  await withReader(context, async (operator) => {
    const entries = await readGrants(operator)
    if (given.options.json === true) return output.print(inert(JSON.stringify(entries, null, 2)))
    if (entries.length === 0) return output.tell('Nothing passes without asking.')
    output.print(listText(entries))
  })
}

export async function addToWhitelist(context: Context): Promise<void> {
  const { output, given } = context
  const body = readTerms(given.argument, given.options)
  await withReader(
    context,
    async (operator) => {
      const { body: grant } = await operator.call<Grant>('POST', '/whitelist', { body })
      if (given.options.json === true) return output.print(inert(JSON.stringify(grant, null, 2)))
      output.tell(`Whitelisted: ${sayGrant(grant)}. To take it back: whitelist revoke ${visibleLine(grant.id)}`)
    },
    { needsRules: true },
  )
}

export async function revokeFromWhitelist(context: Context): Promise<void> {
  const { output, given } = context
  const { by, json } = given.options
  await withReader(context, async (operator) => {
    const id = await findGrant(operator, given.argument.trim().toLowerCase())
    const body = by === undefined ? undefined : { revoked_by: by }
    const { body: grant } = await operator.call<Grant>('DELETE', `/whitelist/${encodeURIComponent(id)}`, { body })
    if (json === true) return output.print(inert(JSON.stringify(grant, null, 2)))
    output.tell(`Revoked: ${sayGrant(grant)}.`)
  })
}

function readTerms(action: string, options: Options): object {
  const { session, requester, when, details, ttl, reason, by } = options
  const uses = options['max-uses']
  const read = readAll({
    when: () => (when === undefined ? undefined : readJsonOption('when', when)),
    details: () => (details === undefined ? undefined : readJsonOption('details', details)),
    ttl: () => (ttl === undefined ? undefined : readSeconds('ttl', ttl, 1, maxTtlSeconds)),
    uses: () => (uses === undefined ? undefined : readUses(uses)),
  })
  const { when: conditions, details: exactly, ttl: ttl_seconds, uses: max_uses } = read
  // What is undefined is not sent.
  const scope = { action, session_key: session, requester, when: conditions, details: exactly }
  return { ...scope, ttl_seconds, max_uses, reason, granted_by: by }
}

function readUses(text: string | true): number {
  if (!/^[1-9]\d{0,8}$/.test(String(text))) throw wrong('max-uses', 'must be a whole number, from 1')
  return Number(text)
}

/** All of them, page by page. */
async function readGrants(operator: Operator): Promise<Grant[]> {
  const found: Grant[] = []
  let next: string | null = null
  do {
    const query = { limit: 500, cursor: next }
    const page: GrantPage = await operator.page<GrantPage>('/whitelist', 'entries', { query })
    found.push(...page.entries)
    next = page.next_cursor ?? null
  } while (next !== null)
  return found
}

/** By the whole of it, or by its end. */
async function findGrant(operator: Operator, end: string): Promise<string> {
  if (end.length >= 36) return end
  if (end.length < fewest)
    throw new CommandRefused(`Say the whole id, or at least the last ${fewest} characters of it.`)
  const [first, ...others] = (await readGrants(operator)).filter(({ id }) => id.endsWith(end))
  if (first === undefined)
    throw new CommandRefused('No entry that stands has an id that ends so; whitelist list shows them.')
  if (others.length > 0) throw new CommandRefused('Several entries have an id that ends so: say more of it.')
  return first.id
}

function listText(entries: Grant[]): string {
  const rows = entries.map((one) => [
    visibleLine(one.id),
    shortLine(one.action, maxName),
    one.session_key === null ? 'any session' : shortLine(one.session_key, maxName),
    one.requester === null ? 'anyone' : shortLine(one.requester, maxName),
    one.expires_at_iso ?? 'revoked',
    one.max_uses === null ? String(one.uses) : `${one.uses} of ${one.max_uses}`,
    shortLine(one.granted_by, maxName),
    detailsOf(one),
  ])
  return layOut([['ID', 'ACTION', 'SESSION', 'REQUESTER', 'UNTIL', 'USES', 'BY', 'DETAILS'], ...rows])
}

function detailsOf({ when, details }: Grant): string {
  const parts = [
    ...(details === null ? [] : [`exactly ${shown(details)}`]),
    ...(when === null ? [] : [`where ${shown(when)}`]),
  ]
  return parts.join(', ') || 'any'
}

function shown(value: unknown): string {
  return visibleJson(JSON.stringify(value))
}

function sayGrant(grant: Grant): string {
  const { action, session_key, requester, expires_at_iso, max_uses } = grant
  const parts = [
    visibleLine(action),
    requester === null ? 'for anyone' : `for ${visibleLine(requester)}`,
    session_key === null ? 'in any session' : `in the session ${visibleLine(session_key)}`,
    grant.when === null && grant.details === null ? 'whatever the details' : `with details ${detailsOf(grant)}`,
    expires_at_iso === null ? 'until it is revoked' : `until ${expires_at_iso}`,
    ...(max_uses === null ? [] : [`${max_uses} times at most`]),
  ]
  return parts.join(', ')
}
