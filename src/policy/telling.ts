// Whom to tell of a request, as settings and rules name them, and when again (pure).
import { type Audience, type ChatName, chatNames, type Named, type Telling } from '../core/model.js'
import { nearTo } from '../core/closest.js'
import { visibleLine } from '../core/visible.js'

/**
 * `first`: one chat after the other until one takes it. `all`: every chat at once. Else these, all at once: a chat, `deciders`
 * (those whom the rule names, each by themselves), a person, or `group:NAME`.
 */
export type Target = string

/** Members by name; null where they could not be read. */
export type Groups = ReadonlyMap<string, string[] | null>

const alone = ['first', 'all'] as const
const words: readonly string[] = [...alone, ...chatNames, 'deciders']

/** What is wrong with one of them ("must …"), or null. Whether a group exists, only the rules can say. */
export function problemWithTarget(target: string): string | null {
  if (target.trim() !== '' && target.length <= 200 && !target.includes('*')) return null
  return `must name ${words.join(', ')}, people, or group:NAME, not ${visibleLine(target.slice(0, 50))}`
}

/** What is wrong with them together, or null. */
export function problemWithTargets(targets: Target[]): string | null {
  const one = alone.find((word) => targets.includes(word))
  return one === undefined || targets.length === 1 ? null : `must name ${one} alone, or leave it out`
}

/** The group that is named, if one is. */
export function groupIn(name: string): string | null {
  return name.startsWith('group:') ? name.slice('group:'.length) : null
}

/** Groups that are named and that there are not. */
export function unknownGroupsIn(targets: Target[], groups: Groups): string[] {
  return targets.flatMap((one) => groupIn(one) ?? []).filter((name) => !groups.has(name))
}

/** Once there is nothing wrong with them: groups are spelt out, and nobody is in one that there is not. */
export function audienceOf(targets: Target[], groups: Groups): Audience {
  const only = alone.find((word) => targets.includes(word))
  if (only !== undefined) return only
  const chats = chatNames.filter((chat) => targets.includes(chat))
  const others = targets.filter((one) => !words.includes(one))
  const people = others.flatMap((one) => {
    const group = groupIn(one)
    return group === null ? [one] : (groups.get(group) ?? [])
  })
  return { chats, people: [...new Set(people)], deciders: targets.includes('deciders') }
}

/** Which chats it names; none where it goes by those that there are. */
export function chatsIn(audience: Audience | null): ChatName[] {
  return audience === null || typeof audience === 'string' ? [] : audience.chats
}

/** A name that may be meant for something else, and what. */
export function doubtsAbout(targets: Target[], groups: Groups): { target: Target; meant: string }[] {
  return targets.flatMap((target) => {
    if (words.includes(target) || groupIn(target) !== null) return []
    if (groups.has(target)) return [{ target, meant: `group:${target}` }]
    const meant = nearTo(target, words)
    return meant === undefined ? [] : [{ target, meant }]
  })
}

/** As a sentence of the manual goes on. */
export function sayAudience(audience: Audience): string {
  if (audience === 'first') return 'one chat after the other until one takes it'
  if (audience === 'all') return 'every chat'
  return [...audience.chats, ...audience.people, ...(audience.deciders ? ['its deciders'] : [])].join(', ')
}

/** What a rule says about it, in sentences. */
export function sayTelling({ notify, remindAfter, escalation }: Telling): string[] {
  return [
    ...(notify === null ? [] : [`Told at once: ${sayAudience(notify)}.`]),
    ...(remindAfter === null ? [] : [`Told again after ${percent(remindAfter)} of the time.`]),
    ...(escalation === null ? [] : [`Told after ${percent(escalation.after)} of it: ${sayAudience(escalation.to)}.`]),
    ...(remindAfter === null && escalation === null ? [] : ['Told once more shortly before it expires.']),
  ]
}

/** In few words, for a list. */
export function summarizeTelling({ notify, remindAfter, escalation }: Telling): string[] {
  return [
    ...(notify === null ? [] : [`tells ${sayAudience(notify)}`]),
    ...(remindAfter === null ? [] : [`again after ${percent(remindAfter)}`]),
    ...(escalation === null ? [] : [`after ${percent(escalation.after)} ${sayAudience(escalation.to)}`]),
  ]
}

function percent(part: number): string {
  return `${Number((part * 100).toPrecision(4))} %`
}

export function isNamed(audience: Audience): audience is Named {
  return typeof audience === 'object'
}
