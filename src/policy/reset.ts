// When sessions are reset: what the rules file says about it, and which of that holds for a platform and a chat type.

/** What ends a session by time: a while without activity, an hour of the day, whichever comes first of both, or nothing. */
export const resetModes = ['none', 'idle', 'daily', 'both'] as const
export type ResetMode = (typeof resetModes)[number]

export const chatTypes = ['dm', 'group', 'channel', 'thread'] as const
export type ChatType = (typeof chatTypes)[number]

export interface ResetRule {
  mode: ResetMode
  /** By the clock of the time zone. */
  dailyHour: number
  /** An IANA name. */
  timeZone: string
  idleMs: number
  /** In every mode; 0: no limit. */
  maxMessages: number
  /** Whether ids of people and chats are hashed in the text for prompts. */
  hashesIds: boolean
}

/** What one place of the file says. What it leaves out is not there, not even as undefined. */
export type ResetSettings = Partial<ResetRule>

/** `sessions` of the rules file. */
export interface SessionRules {
  general: ResetSettings
  platforms: ReadonlyMap<string, ResetSettings>
  chatTypes: ReadonlyMap<string, ResetSettings>
}

export const defaultResetRule: ResetRule = {
  mode: 'both',
  dailyHour: 4,
  timeZone: 'UTC',
  idleMs: 86_400_000,
  maxMessages: 200,
  hashesIds: false,
}

export type FindResetRule = (platform: string | null, chatType: string | null) => ResetRule

/**
 * Setting by setting: what is said of the platform, else of the chat type, else in general, else what is built in. All rules
 * are made at once, so names that the file does not have, which agents choose, take no room.
 */
export function createResetRules(sessions: SessionRules | null, timeZone: string): FindResetRule {
  const general: ResetRule = { ...defaultResetRule, timeZone, ...sessions?.general }
  const rulesOn = (platform: ResetSettings) => ({
    byChatType: new Map(
      [...(sessions?.chatTypes ?? [])].map(([name, said]) => [name, { ...general, ...said, ...platform }]),
    ),
    other: { ...general, ...platform },
  })
  const elsewhere = rulesOn({})
  const byPlatform = new Map([...(sessions?.platforms ?? [])].map(([name, said]) => [name, rulesOn(said)]))
  return (platform, chatType) => {
    const { byChatType, other } = byPlatform.get(platform ?? '') ?? elsewhere
    return byChatType.get(chatType ?? '') ?? other
  }
}

export type TimedSetting = 'idleMs' | 'dailyHour' | 'timeZone'

/** What each mode goes by. */
const usedIn: Record<ResetMode, readonly TimedSetting[]> = {
  none: [],
  idle: ['idleMs'],
  daily: ['dailyHour', 'timeZone'],
  both: ['idleMs', 'dailyHour', 'timeZone'],
}

/** Of each place of the file, what it says about time that holds for no platform and no chat type. */
export function findUnused({ general, platforms, chatTypes }: SessionRules): Map<ResetSettings, Set<TimedSetting>> {
  const every = [general, ...platforms.values(), ...chatTypes.values()]
  const unused = new Map(every.map((place) => [place, new Set(usedIn.both.filter((setting) => setting in place))]))
  for (const platform of [{}, ...platforms.values()]) {
    for (const chatType of [{}, ...chatTypes.values()]) {
      const places: ResetSettings[] = [platform, chatType, general]
      const sayingOf = (setting: keyof ResetRule) => places.find((place) => setting in place)
      for (const setting of usedIn[sayingOf('mode')?.mode ?? defaultResetRule.mode]) {
        const place = sayingOf(setting)
        if (place !== undefined) unused.get(place)!.delete(setting)
      }
    }
  }
  return unused
}
