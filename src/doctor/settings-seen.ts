// The settings as a report shows them, and everything in them that no report may show.
import { chatNames } from '../core/model.js'
import { isIP } from 'node:net'
import type { Given, ReadSetting, ReadSettings } from '../config/sources.js'
import { masked, maskSetting, secretsIn } from './mask.js'

export interface SeenSetting {
  name: string
  /** Null for a secret, for what is wrong, and for what is not set. */
  value: string | null
  from: Given['from'] | null
  is_secret: boolean
  is_wrong: boolean
}

export function seeSettings({ settings }: ReadSettings): SeenSetting[] {
  return settings.map((setting) => ({
    name: setting.name,
    value: setting.isSecret || setting.isWrong || setting.value === undefined ? null : show(setting),
    from: setting.given[0]?.from ?? null,
    is_secret: setting.isSecret,
    is_wrong: setting.isWrong,
  }))
}

/** Where nearly anything is taken: what it usually looks like. Nothing else is shown, since it may be a secret. */
const usual: Record<string, (text: string) => boolean> = {
  host: isAddress,
  telegram_home_channel: (text) => /^(-?\d{1,20}|@\w{3,40})$/.test(text),
  notify: (text) => text.split(/[\s,]+/).every((word) => [...chatNames, 'first', 'all', 'deciders'].includes(word)),
  callback_allow: (text) =>
    text
      .split(/[\s,]+/)
      .map((place) => place.replace(/:\d+$/, ''))
      .every((place) => isAddress(place) || /^[\w-]+(\.[\w-]+)+$/.test(place)),
}

function isAddress(text: string): boolean {
  return text === 'localhost' || isIP(text.replace(/^\[|\]$/g, '')) !== 0
}

function show({ name, value }: ReadSetting): string {
  const text = Array.isArray(value) ? value.join(', ') : String(value)
  return usual[name]?.(text) === false ? masked : maskSetting(withoutPath(text))
}

/** A URL with no more of a path than those of the chats have: anything else in one may be what lets somebody in. */
function withoutPath(text: string): string {
  const [, site, path] = /^(https?:\/\/[^/]*)(\/.*)$/is.exec(text) ?? []
  return path === undefined || /^(\/(api|v\d+))*$/.test(path) ? text : `${site!}/${masked}`
}

/** In a setting that is wrong anything may stand; what is shorter is a word, or a number. */
const leastWrong = 6

/** Also of values that do not count, because another wins or the name is wrong. */
export function secretsOf({ settings, ignored }: ReadSettings): string[] {
  return [...settings.flatMap(secretsOfSetting), ...ignored.flatMap(textsIn).flatMap((text) => wholeAndParts(text))]
}

function secretsOfSetting({ name, isSecret, isWrong, given }: ReadSetting): string[] {
  return given.flatMap(({ from, value }, index) =>
    (from === 'default' ? [] : textsIn(value)).flatMap((text) => {
      const isUnusual = usual[name]?.(text) === false
      const isHidden = isSecret || ((isWrong || isUnusual) && index === 0 && text.length >= leastWrong)
      return isHidden ? wholeAndParts(text) : secretsIn(text)
    }),
  )
}

/** Several may stand in one. */
function wholeAndParts(text: string): string[] {
  return [text, ...text.split(/[\s,]+/), ...secretsIn(text)]
}

/** Every text in what a file may hold. */
function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (typeof value === 'object' && value !== null) return Object.entries(value).flat().flatMap(textsIn)
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
}
