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

const highRiskSkeletons: ReadonlySet<string> = new Set([...highRiskActions].map(skeleton))

/** Another spelling of a high-risk action is still that action. */
export function isHighRisk(action: string): boolean {
  return highRiskSkeletons.has(skeleton(action))
}

const timeoutBounds = { default: 300, min: 30, max: 3600 }

/** The wait an agent asked for, within bounds; what is no number means the default. */
export function timeoutSeconds(asked: unknown): number {
  if (typeof asked !== 'number' || Number.isNaN(asked)) return timeoutBounds.default
  return Math.trunc(Math.min(timeoutBounds.max, Math.max(timeoutBounds.min, asked)))
}
