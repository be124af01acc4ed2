// What each setting may be, and what it becomes: in zod, once.
import { z } from 'zod'
import { problemWithAllowedHost } from '../notify/address.js'
import { problemWithSecret } from '../notify/signature.js'
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
    .union([z.string(), z.array(z.string())], { error: 'must be text, or a list of texts' })
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
  telegramBotToken: text,
  telegramHomeChannel: text,
  telegramApiBase: httpUrl,
  discordBotToken: text,
  discordHomeChannel: text.refine((value) => /^\d+$/.test(value), 'must be a channel id (digits)'),
  discordWebhookUrl: httpUrl,
  discordApiBase: httpUrl,
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
