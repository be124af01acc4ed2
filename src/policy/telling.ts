// Whom to tell of a request, as settings and rules name them (pure).
import { chatNames } from '../core/model.js'
import { visibleLine } from '../core/visible.js'

/**
 * `first`: one chat after the other until one takes it. `all`: every chat at once. Else these, all at once: a chat, `deciders`
 * (those whom the rule names, each by themselves), a person, or `group:NAME`.
 */
export type Telling = 'first' | 'all' | Target[]
export type Target = string

/** What is wrong with one of them ("must …"), or null. Whether a group exists, only the rules can say. */
export function problemWithTarget(target: string): string | null {
  if (target.trim() !== '' && target.length <= 200 && !target.includes('*')) return null
  const known = ['first', 'all', ...chatNames, 'deciders'].join(', ')
  return `must name ${known}, people, or group:NAME, not ${visibleLine(target.slice(0, 50))}`
}

/** Of the settings, once each of them is good. */
export function readTelling(targets: Target[]): Telling {
  const [only, ...more] = targets
  return more.length === 0 && (only === 'first' || only === 'all') ? only : targets
}
