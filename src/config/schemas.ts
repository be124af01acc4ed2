// What each setting may be, and what it becomes: in zod, once.
import { z } from 'zod'
import { chatIdPatterns } from '../access/person.js'
import type { PersonalChat } from '../core/model.js'
import { problemWithAllowedHost } from '../notify/address.js'
import { problemWithPublicKey } from '../notify/discord-signature.js'
import { problemWithSecret } from '../notify/signature.js'
import { problemWithTarget, problemWithTargets } from '../policy/telling.js'
import { type Key, logLevels, type settings } from './settings.js'

const whole = (min: number, max: number, error = `must be a whole number from ${min} to ${max}`) => {
  const digits = z
    .string()
    .trim()
    .regex(/^\d{1,15}$/)
    .transform(Number)
  return z.union([z.number(), digits], { error }).pipe(z.int(error).min(min, error).max(max, error))
}
const text = z
  .union([z.string(), z.number()], { error: 'must be text' })
  // A chat's id may have more digits than a number can hold, and the wrong chat would be told.
  .refine((value) => typeof value === 'string' || Number.isSafeInteger(value), 'has too many digits; put it in quotes')
  .transform(String)
  .pipe(z.string().trim().min(1, 'must not be empty'))
/** Several, separated by commas or spaces, or as a list in the file. */
const listOf = (problemWith: (item: string) => string | null) =>
  z
    .union([z.string(), z.int().transform(String), z.array(z.union([z.string(), z.int().transform(String)]))], {
      error: 'must be text, or a list of texts; put long numbers in quotes',
    })
    .transform((value) => (typeof value === 'string' ? value.split(/[\s,]+/) : value).filter((item) => item !== ''))
    .superRefine((items, context) => {
      if (items.length === 0) context.addIssue({ code: 'custom', message: 'must not be empty' })
      for (const item of items) {
        const problem = problemWith(item)
        if (problem !== null) context.addIssue({ code: 'custom', message: problem })
      }
    })
const httpUrl = text
  .refine((value) => /^https?:\/\/[^\s]+$/.test(value) && URL.canParse(value), 'must be an http or https URL')
  .transform((value) => value.replace(/\/+$/, ''))
/** The start of a site, and nothing behind or before that. */
function isTop(url: string): boolean {
  return URL.canParse(url) && new URL(url).href === `${new URL(url).origin}/`
}

/** By which a chat knows people; no names, which are anybody's to choose. */
const allowedUsers = (chat: PersonalChat, form: string) =>
  listOf((id) => (chatIdPatterns[chat].test(id) ? null : `must be ids of people, ${form}, separated by commas`))
const channelId = text.refine((value) => /^\d+$/.test(value), 'must be a channel id (digits)')

const portOrOff = 'must be a port from 0 to 65535, or off'

/** What each setting may be, and what it becomes. */
export const schemas = {
  host: text,
  port: whole(0, 65535),
  // YAML 1.1 tools write off as false.
  webPort: z.union([z.literal(['off', false]).transform(() => 'off' as const), whole(0, 65535, portOrOff)], {
    error: portOrOff,
  }),
  // The pages and their cookies know no other place than the top, and chats limit how long a link may be.
  publicUrl: httpUrl
    .refine(isTop, 'must end with the host or port: no path, user or query')
    .refine((url) => url.length <= 200, 'must have at most 200 characters'),
  dbPath: text,
  sessionGcHours: whole(0, 8760),
  auth: z.enum(['auto', 'keys'], { error: 'must be auto or keys' }),
  policy: text,
  rateLimit: whole(1, 1_000_000_000),
  rateWindow: whole(1, 31_536_000),
  openLimit: whole(0, 1_000_000),
  diskLimit: whole(0, 1_000_000_000),
  floodLimit: whole(0, 1_000_000_000),
  approvalTtl: whole(1, 31_536_000),
  reportTimeout: whole(1, 31_536_000),
  logLevel: z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }),
  notifyTimeout: whole(1, 120),
  notify: listOf(problemWithTarget).superRefine((targets, context) => {
    const problem = problemWithTargets(targets)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  }),
  notifyRate: whole(0, 1000),
  telegramBotToken: text,
  telegramHomeChannel: text,
  telegramAllowedUsers: allowedUsers('telegram', '1 to 32 digits each'),
  telegramMode: z.union([z.enum(['polling', 'webhook', 'off']), z.literal(false).transform(() => 'off' as const)], {
    error: 'must be polling, webhook or off',
  }),
  telegramWebhookSecret: text.refine(
    (value) => /^[A-Za-z0-9_-]{16,256}$/.test(value),
    'must be 16 to 256 letters, digits, _ and -',
  ),
  telegramApiBase: httpUrl,
  discordBotToken: text,
  discordHomeChannel: channelId,
  discordWebhookUrl: httpUrl,
  discordAllowedUsers: allowedUsers('discord', '1 to 32 digits each'),
  discordPublicKey: text.superRefine((value, context) => {
    const problem = problemWithPublicKey(value)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  }),
  discordApiBase: httpUrl,
  slackBotToken: text,
  slackAppToken: text,
  slackChannel: text.refine((value) => /^[CGD][A-Z0-9]{1,30}$/.test(value), 'must be a channel id, as C012AB3CD'),
  slackAllowedUsers: allowedUsers('slack', 'as U012AB3CD'),
  slackApiBase: httpUrl,
  ntfyTopic: text.refine((value) => /^[-_A-Za-z0-9]{1,64}$/.test(value), 'must be 1 to 64 letters, digits, _ and -'),
  ntfyUrl: httpUrl,
  ntfyToken: text,
  callbackAllow: listOf(problemWithAllowedHost),
  callbackSecret: listOf(problemWithSecret),
} as const satisfies Record<Key, z.ZodType>

type Value<K extends Key> = z.output<(typeof schemas)[K]>
type Optional<K extends Key> = (typeof settings)[K] extends { default: unknown }
  ? never
  : K extends 'dbPath'
    ? never
    : K

export type Config = { [K in Key]: Value<K> | (Optional<K> extends never ? never : undefined) }
