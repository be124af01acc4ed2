// Which actions always need a person, and how long a request may wait.
import { isPlain } from './name.js'

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

/**
 * What is left of a plain name without case, separators and ASCII look-alikes: 0 is o, two letters that are drawn like one
 * are that one, and l, i and 1 are left out, because a / or a : may stand for one of them or between two words.
 */
function outline(name: string): string {
  const drawn = name
    .toLowerCase()
    .replace(/[_.:/-]/g, '')
    .replace(/[i1]/g, 'l')
    .replaceAll('0', 'o')
  return drawn.replaceAll('rn', 'm').replaceAll('vv', 'w').replaceAll('cl', 'd').replaceAll('l', '')
}

const outlines: ReadonlyMap<string, string> = new Map([...highRiskActions].map((name) => [outline(name), name]))

/** Which of the ten this plain name is, in its own spelling or another; undefined if it is none. */
export function highRiskName(action: string): string | undefined {
  return isPlain(action) ? outlines.get(outline(action)) : undefined
}

/** The ten in every spelling, and every name that is not plain: nobody can tell what it passes for. */
export function isHighRisk(action: string): boolean {
  return !isPlain(action) || highRiskName(action) !== undefined
}

/** How many seconds a request may wait. */
export interface TimeoutBounds {
  default: number
  min: number
  max: number
}

/** No rule allows a longer wait. It may grow, but not shrink: what is on record relies on it. */
export const longestTimeoutSeconds = 604_800

export const defaultTimeout: TimeoutBounds = { default: 300, min: 30, max: 3600 }

/** The wait an agent asked for, within bounds; null, which is no number, means the default. */
export function timeoutWithin(asked: number | null, bounds: TimeoutBounds): number {
  if (asked === null) return bounds.default
  return Math.trunc(Math.min(bounds.max, Math.max(bounds.min, asked)))
}
