// Hooks as Claude Code and Codex keep them: by event, in groups that share a matcher.
import { isDeepStrictEqual } from 'node:util'
import { type HostName, isInstalled, isObject } from './host.js'
import { end, put, readJson, remove } from './json-text.js'

/** What is kept of one event. */
export interface Group {
  matcher?: string
  hooks: Record<string, unknown>[]
}

export type Groups = Record<string, Group>

/** One hook, where it stands. */
export interface Standing {
  event: string
  matcher: unknown
  hook: Record<string, unknown>
}

/** As settings that hold nothing else. */
export function showHooks(wanted: Groups): { text: string; data: object } {
  const data = { hooks: Object.fromEntries(Object.entries(wanted).map(([event, group]) => [event, [group]])) }
  return { text: JSON.stringify(data, null, 2), data }
}

export function mergeHooks(text: string, host: HostName, wanted: Groups): string {
  return Object.entries(wanted).reduce((merged, [event, group]) => {
    const ours = groupsOf(merged, event).filter((one) => holdsOurs(one, host))
    if (ours.length === 1 && isDeepStrictEqual(ours[0], group)) return merged
    return put(removeFrom(merged, host, event), ['hooks', event, end], group)
  }, text)
}

export function removeHooks(text: string, host: HostName): string {
  const { hooks } = readObject(text)
  return isObject(hooks) ? Object.keys(hooks).reduce((left, event) => removeFrom(left, host, event), text) : text
}

/** Every hook that is read of these settings. */
export function listHooks(settings: unknown): Standing[] {
  const hooks = isObject(settings) && isObject(settings.hooks) ? settings.hooks : {}
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : [])
      .filter(isObject)
      .flatMap((group) =>
        (Array.isArray(group.hooks) ? group.hooks : [])
          .filter(isObject)
          .map((hook) => ({ event, matcher: group.matcher, hook })),
      ),
  )
}

function removeFrom(text: string, host: HostName, event: string): string {
  const groups = groupsOf(text, event)
  // From the last on: those before keep their numbers.
  return groups.reduceRight<string>((left, group, index) => {
    if (!holdsOurs(group, host)) return left
    const hooks = (group as Group).hooks
    const isAll = hooks.every(({ command }) => isInstalled(command, host))
    if (isAll) return remove(left, ['hooks', event, index])
    return hooks.reduceRight(
      (rest, { command }, at) =>
        isInstalled(command, host) ? remove(rest, ['hooks', event, index, 'hooks', at]) : rest,
      left,
    )
  }, text)
}

function holdsOurs(group: unknown, host: HostName): boolean {
  if (!isObject(group) || !Array.isArray(group.hooks)) return false
  return group.hooks.some((hook) => isObject(hook) && isInstalled(hook.command, host))
}

function groupsOf(text: string, event: string): unknown[] {
  const { hooks } = readObject(text)
  const groups = isObject(hooks) ? hooks[event] : undefined
  return Array.isArray(groups) ? groups : []
}

function readObject(text: string): Record<string, unknown> {
  const settings = readJson(text)
  return isObject(settings) ? settings : {}
}
