// `sessions`: when sessions are reset, from the rules file.
import { z } from 'zod'
import { nearTo } from '../core/closest.js'
import { closed, describe, explain, filled, mapOf, text, truth, whole } from './parts.js'
import {
  type ChatType,
  chatTypes,
  defaultResetRule,
  findUnused,
  type ResetMode,
  resetModes,
  type ResetSettings,
  type SessionRules,
  type TimedSetting,
} from './reset.js'
import type { Finding } from './sentences.js'
import type { Path } from './yaml.js'

const minuteMs = 60_000
/** As long as a platform's name may be; none comes near it. */
const maxPlatformName = 100

const notZone = 'must be a time zone by its IANA name, such as Europe/Zurich'
const timeZone = z
  .string(notZone)
  // Offsets such as +01:00 are no names, and not every Node takes them.
  .regex(/^[A-Za-z][A-Za-z0-9_+/-]*$/, { error: notZone, abort: true })
  .superRefine((name, context) => {
    if (isTimeZone(name)) return
    const meant = nearTo(name, Intl.supportedValuesOf('timeZone'))
    const hint = meant === undefined ? 'use an IANA name, such as Europe/Zurich' : `did you mean \`${meant}\`?`
    context.addIssue({ code: 'custom', message: `there is no time zone \`${name}\`; ${hint}` })
  })

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const resetShape = {
  mode: explain(
    z.enum(resetModes, `must be one of ${resetModes.join(', ')}`).optional(),
    'When a session is reset by time: after a while without use, at an hour of the day, at the earlier of both, or never.',
    { takes: '`idle`, `daily`, `both`, `none`', leftOut: `\`${defaultResetRule.mode}\`` },
  ),
  daily_hour: explain(whole(0, 23).optional(), 'The hour of the day, in the time zone.', {
    takes: '0 to 23',
    leftOut: String(defaultResetRule.dailyHour),
  }),
  time_zone: explain(timeZone.optional(), 'By its IANA name, such as `Europe/Zurich`.', {
    takes: 'a time zone',
    leftOut: "the machine's",
  }),
  idle: explain(whole(1, 525_600).optional(), 'How long a session may go unused.', {
    takes: 'minutes, 1 to 525600',
    leftOut: String(defaultResetRule.idleMs / minuteMs),
  }),
  max_messages: explain(
    whole(0, 1_000_000).optional(),
    'How many messages fill a session, in every mode; 0: no number does.',
    { takes: '0 to 1000000', leftOut: String(defaultResetRule.maxMessages) },
  ),
  hash_ids: explain(truth.optional(), 'Ids of people and chats are hashed in the text for prompts.', {
    takes: '`true`, `false`',
    leftOut: `\`${defaultResetRule.hashesIds}\``,
  }),
}

const notReset = 'must be made of settings, such as `{ mode: idle, idle: 60 }`'
const reset = filled(closed('session setting', resetShape, notReset))

const platformName = text(maxPlatformName).regex(/^[^A-Z]*$/, 'must be in lower case, as in a session key')
const platforms = mapOf(reset, {
  error: 'must have one line for each platform, such as `telegram: { mode: idle }`',
  propertyNames: describe(platformName),
  problemWithName: (name) => platformName.safeParse(name).error?.issues[0]!.message ?? null,
})

const byChatType = closed(
  'chat type',
  Object.fromEntries(chatTypes.map((name) => [name, reset.optional()])) as Record<
    ChatType,
    z.ZodOptional<typeof reset>
  >,
  'must have one line for each chat type, such as `group: { max_messages: 50 }`',
)

export const sessionsSchema = filled(
  closed(
    'session setting',
    {
      ...resetShape,
      platforms: explain(platforms.optional(), 'Other settings for a platform, by its name in session keys.', {
        takes: 'the settings above, for each name',
        leftOut: 'none',
      }),
      chat_types: explain(byChatType.optional(), 'Other settings for a chat type.', {
        takes: 'the settings above, for `dm`, `group`, `channel`, `thread`',
        leftOut: 'none',
      }),
    },
    'must be made of settings, such as `mode: daily`',
  ),
)

/** Every setting of sessions, in the order of the manual. */
export const sessionSettings = sessionsSchema.shape

export function sessionRulesFrom({ platforms, chat_types, ...general }: z.output<typeof sessionsSchema>): SessionRules {
  return {
    general: resetFrom(general),
    platforms: new Map([...(platforms ?? [])].map(([name, given]) => [name, resetFrom(given)])),
    chatTypes: new Map(
      Object.entries(chat_types ?? {}).flatMap(([name, given]) =>
        given === undefined ? [] : [[name, resetFrom(given)]],
      ),
    ),
  }
}

function resetFrom(given: z.output<typeof reset>): ResetSettings {
  const {
    mode,
    daily_hour: dailyHour,
    time_zone: timeZone,
    idle,
    max_messages: maxMessages,
    hash_ids: hashesIds,
  } = given
  const idleMs = idle === undefined ? undefined : idle * minuteMs
  const said = Object.entries({ mode, dailyHour, timeZone, idleMs, maxMessages, hashesIds })
  return Object.fromEntries(said.filter(([, value]) => value !== undefined))
}

const timedInFile: Record<TimedSetting, { name: keyof typeof resetShape; mode: ResetMode }> = {
  idleMs: { name: 'idle', mode: 'idle' },
  dailyHour: { name: 'daily_hour', mode: 'daily' },
  timeZone: { name: 'time_zone', mode: 'daily' },
}

/** What the file says about time that no session goes by. */
export function warnAboutSessions(sessions: SessionRules, place: Path): Finding[] {
  const unused = findUnused(sessions)
  const places = [
    { path: [], said: sessions.general },
    ...[...sessions.platforms].map(([name, said]) => ({ path: ['platforms', name], said })),
    ...[...sessions.chatTypes].map(([name, said]) => ({ path: ['chat_types', name], said })),
  ]
  return places.flatMap(({ path, said }) =>
    [...unused.get(said)!].map((setting) => {
      const { name, mode } = timedInFile[setting]
      const sentence = `\`${name}\` has no effect here: only mode \`${mode}\` or \`both\` goes by it`
      return { path: [...place, ...path, name], sentence }
    }),
  )
}
