// Which actions always need a person, and how long a request may wait.
import { signs, skeleton } from '../core/text.js'

/** No whitelist entry, global or session, ever covers these. */
export const highRiskActions: ReadonlySet<string> = new Set([
  'deploy_production',
  'delete_data',
  'transfer_funds',
  'modify_permissions',
  'shutdown_service',
  'wipe_database',
  'exec_remote',
  'publish_package',
  'rotate_keys',
  'migrate_database',
])

/** Two letters that are drawn like one count as that. */
const joined = (letters: string) => letters.replaceAll('rn', 'm').replaceAll('vv', 'w').replaceAll('cl', 'd')

/** Without l, and i and 1 that look like it: a bar may stand for one of them, or between two words. */
const outline = (name: string) => joined(skeleton(name)).replaceAll('l', '')

const highRiskOutlines: ReadonlyMap<string, string> = new Map([...highRiskActions].map((name) => [outline(name), name]))
const highRiskShapes: ReadonlyMap<string, string> = new Map(
  [...highRiskActions].map((name) => [joined(skeleton(name)), name]),
)

/** Nobody reads a longer name letter by letter, and to find out what its letters look like would take long. */
const maxRead = 100

/**
 * The high-risk action that this is, in its own spelling or another; undefined if it is none. A name that nobody can read
 * counts as one of its own.
 */
export function highRiskName(action: string): string | undefined {
  if (action.length > maxRead && /[^ -~]/.test(action)) return action
  return highRiskOutlines.get(outline(action)) ?? (/[^ -{}~]/.test(action) ? drawnLike(action) : undefined)
}

/** With more of them, or with less of the name around them, nobody would read it so; and words of two scripts are no trick. */
const maxUnknown = 3

/** The one that it could be taken for, whatever the few signs in it are that nobody can name. */
function drawnLike(action: string): string | undefined {
  const drawn = joined(signs(action)).replaceAll('c*', 'd')
  const unknown = drawn.replace(/[^?*]/g, '').length
  if (unknown > maxUnknown) return undefined
  for (const [shape, name] of highRiskShapes) {
    if ((drawn.length - unknown) * 4 >= shape.length * 3 && fits(drawn, shape)) return name
  }
  return undefined
}

/** Whether the signs spell the name. */
function fits(drawn: string, name: string): boolean {
  let reached = new Set([0])
  for (const sign of drawn) {
    const next = new Set<number>()
    for (const at of reached) {
      if (sign === '*') next.add(at)
      if (at < name.length && (sign === '?' || sign === '*' || sign === name[at])) next.add(at + 1)
    }
    if (next.size === 0) return false
    reached = next
  }
  return reached.has(name.length)
}

/** Another spelling of a high-risk action is still that action. */
export function isHighRisk(action: string): boolean {
  return highRiskName(action) !== undefined
}

/** How many seconds a request may wait. */
export interface TimeoutBounds {
  default: number
  min: number
  max: number
}

export const defaultTimeout: TimeoutBounds = { default: 300, min: 30, max: 3600 }

/** The wait an agent asked for, within bounds; null, which is no number, means the default. */
export function timeoutWithin(asked: number | null, bounds: TimeoutBounds): number {
  if (asked === null) return bounds.default
  return Math.trunc(Math.min(bounds.max, Math.max(bounds.min, asked)))
}
