// Which actions always need a person, and how long a request may wait.
import { skeleton } from '../core/text.js'

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

/** Without l, and i and 1 that look like it: a bar may stand for one of them, or between two words. */
const outline = (name: string) => skeleton(name).replaceAll('l', '')

const highRiskOutlines: ReadonlyMap<string, string> = new Map([...highRiskActions].map((name) => [outline(name), name]))

/** The high-risk action that this is, in its own spelling or another; undefined if it is none. */
export function highRiskName(action: string): string | undefined {
  return highRiskOutlines.get(outline(action))
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
