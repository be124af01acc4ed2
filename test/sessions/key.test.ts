import fc from 'fast-check'
import t from 'tap'
import { shortQuotedLine } from '../../src/core/cut.js'
import { submitBody } from '../../src/routes/requests.js'
import {
  buildSessionKey,
  chatTypes,
  isShared,
  parseSessionKey,
  type SessionKeyOptions,
  type SessionSource,
  type SourceId,
} from '../../src/sessions/key.js'

const telegram = { platform: 'telegram' }
const whatsapp = { platform: 'whatsapp' }
const dm = { ...telegram, chatType: 'dm' } as const
const group = { ...telegram, chatType: 'group' } as const
const channel = { platform: 'slack', chatType: 'channel' } as const
const thread = { platform: 'discord', chatType: 'thread' } as const
const whatsappDm = { ...whatsapp, chatType: 'dm' } as const
const whatsappGroup = { ...whatsapp, chatType: 'group' } as const
const matrix = { platform: 'matrix', chatType: 'group' } as const

const aliases = { 999: '4915', 888: '+4915:3@s.whatsapp.net', 777: '' }

const keys: [SessionSource, string, SessionKeyOptions?][] = [
  // Direct messages: the chat, else the user, else nothing; then the thread.
  [dm, 'agent:main:telegram:dm'],
  [{ ...dm, chatId: '7' }, 'agent:main:telegram:dm:7'],
  [{ ...dm, chatId: '7', threadId: '3' }, 'agent:main:telegram:dm:7:3'],
  [{ ...dm, chatId: '7', userId: '8' }, 'agent:main:telegram:dm:7'],
  [{ ...dm, chatId: '7', threadId: '3', userId: '8', userIdAlt: '9' }, 'agent:main:telegram:dm:7:3'],
  [{ ...dm, userId: '8' }, 'agent:main:telegram:dm:8'],
  [{ ...dm, userId: '8', threadId: '3' }, 'agent:main:telegram:dm:8:3'],
  [{ ...dm, userId: '8', userIdAlt: '9' }, 'agent:main:telegram:dm:9'],
  [{ ...dm, userIdAlt: '9', threadId: '3' }, 'agent:main:telegram:dm:9:3'],
  [{ ...dm, threadId: '3' }, 'agent:main:telegram:dm:3'],
  [{ ...dm, chatId: '7', userId: '8' }, 'agent:main:telegram:dm:7', { groupSessionsPerUser: false }],
  [{ ...dm, userId: '8' }, 'agent:main:telegram:dm:8', { groupSessionsPerUser: false }],
  [{ ...dm, chatId: '7', threadId: '3', userId: '8' }, 'agent:main:telegram:dm:7:3', { threadSessionsPerUser: true }],
  // Everything else: the chat, the thread, and the user unless it is shared.
  [group, 'agent:main:telegram:group'],
  [{ ...group, chatId: '-1001' }, 'agent:main:telegram:group:-1001'],
  [{ ...group, chatId: '-1001', userId: '8' }, 'agent:main:telegram:group:-1001:8'],
  [{ ...group, chatId: '-1001', userId: '8', userIdAlt: '9' }, 'agent:main:telegram:group:-1001:9'],
  [{ ...group, chatId: '-1001', userIdAlt: '9' }, 'agent:main:telegram:group:-1001:9'],
  [{ ...group, userId: '8' }, 'agent:main:telegram:group:8'],
  [{ ...group, chatId: '-1001', userId: '8' }, 'agent:main:telegram:group:-1001', { groupSessionsPerUser: false }],
  [{ ...group, chatId: '-1001', userId: '8' }, 'agent:main:telegram:group:-1001:8', { threadSessionsPerUser: true }],
  [{ ...group, chatId: '-1001', threadId: '3', userId: '8' }, 'agent:main:telegram:group:-1001:3'],
  [{ ...group, threadId: '3', userId: '8' }, 'agent:main:telegram:group:3'],
  [
    { ...group, chatId: '-1001', threadId: '3', userId: '8' },
    'agent:main:telegram:group:-1001:3:8',
    { threadSessionsPerUser: true },
  ],
  [
    { ...group, chatId: '-1001', threadId: '3', userId: '8', userIdAlt: '9' },
    'agent:main:telegram:group:-1001:3:9',
    { threadSessionsPerUser: true, groupSessionsPerUser: true },
  ],
  [
    { ...group, chatId: '-1001', threadId: '3', userId: '8' },
    'agent:main:telegram:group:-1001:3',
    { threadSessionsPerUser: true, groupSessionsPerUser: false },
  ],
  [{ ...channel, chatId: 'C1', userId: 'U1' }, 'agent:main:slack:channel:C1:U1'],
  [{ ...channel, chatId: 'C1', userId: 'U1', threadId: '17.5' }, 'agent:main:slack:channel:C1:17.5'],
  [{ ...channel, chatId: 'C1', userId: 'U1' }, 'agent:main:slack:channel:C1', { groupSessionsPerUser: false }],
  [{ ...thread, chatId: 'T1', threadId: 'T1', userId: 'U1' }, 'agent:main:discord:thread:T1:T1'],
  [{ ...thread, chatId: 'T1', userId: 'U1' }, 'agent:main:discord:thread:T1:U1'],
  [
    { ...thread, chatId: 'T1', threadId: 'T1', userId: 'U1' },
    'agent:main:discord:thread:T1:T1:U1',
    { threadSessionsPerUser: true },
  ],
  // Profiles.
  [{ ...dm, profile: null }, 'agent:main:telegram:dm'],
  [{ ...dm, profile: '' }, 'agent:main:telegram:dm'],
  [{ ...dm, profile: 'default' }, 'agent:main:telegram:dm'],
  [{ ...dm, profile: 'main' }, 'agent:main:telegram:dm'],
  [{ ...dm, profile: 'work' }, 'agent:work:telegram:dm'],
  [{ ...group, profile: 'work', chatId: '1', userId: '2' }, 'agent:work:telegram:group:1:2'],
  [dm, 'agent:work:telegram:dm', { profile: 'work' }],
  [{ ...dm, profile: '' }, 'agent:work:telegram:dm', { profile: 'work' }],
  [{ ...dm, profile: 'home' }, 'agent:home:telegram:dm', { profile: 'work' }],
  [{ ...dm, profile: 'default' }, 'agent:main:telegram:dm', { profile: 'work' }],
  [dm, 'agent:main:telegram:dm', { profile: 'default' }],
  // WhatsApp: direct chats and users, whichever form they come in.
  [{ ...whatsappDm, chatId: '4915' }, 'agent:main:whatsapp:dm:4915'],
  [{ ...whatsappDm, chatId: '+4915' }, 'agent:main:whatsapp:dm:4915'],
  [{ ...whatsappDm, chatId: ' +4915 ' }, 'agent:main:whatsapp:dm:4915'],
  [{ ...whatsappDm, chatId: '4915@s.whatsapp.net' }, 'agent:main:whatsapp:dm:4915'],
  [{ ...whatsappDm, chatId: '4915:12@s.whatsapp.net', threadId: '+3@x' }, 'agent:main:whatsapp:dm:4915:+3@x'],
  [{ ...whatsappDm, chatId: 4915 }, 'agent:main:whatsapp:dm:4915'],
  [{ ...whatsappDm, userId: '+4915:12@lid' }, 'agent:main:whatsapp:dm:4915'],
  [{ ...whatsappDm, userId: '4916', userIdAlt: '4915@lid', threadId: '3' }, 'agent:main:whatsapp:dm:4915:3'],
  [{ ...whatsappDm, chatId: '@s.whatsapp.net', userId: '4915' }, 'agent:main:whatsapp:dm:4915'],
  [{ ...whatsappDm, chatId: '+' }, 'agent:main:whatsapp:dm'],
  [{ ...whatsappDm, userId: '@lid' }, 'agent:main:whatsapp:dm:@lid'],
  [{ ...whatsappDm, chatId: 'c:3@s.whatsapp.net' }, 'agent:main:whatsapp:dm:c'],
  [
    { ...whatsappGroup, chatId: '1203@g.us', userId: '+4915:2@s.whatsapp.net' },
    'agent:main:whatsapp:group:1203@g.us:4915',
  ],
  [{ ...whatsappGroup, chatId: '1203@g.us', threadId: '5', userId: '4915' }, 'agent:main:whatsapp:group:1203@g.us:5'],
  [{ ...dm, chatId: '+4915:2@s.whatsapp.net' }, 'agent:main:telegram:dm:+4915:2@s.whatsapp.net'],
  // Aliases, there alone.
  [{ ...whatsappDm, chatId: '999@lid' }, 'agent:main:whatsapp:dm:4915', { canonical: aliases }],
  [{ ...whatsappDm, chatId: '888@lid' }, 'agent:main:whatsapp:dm:4915', { canonical: aliases }],
  [{ ...whatsappDm, chatId: '777@lid' }, 'agent:main:whatsapp:dm:777', { canonical: aliases }],
  [{ ...whatsappDm, chatId: '666@lid' }, 'agent:main:whatsapp:dm:666', { canonical: aliases }],
  [{ ...whatsappDm, userId: '999' }, 'agent:main:whatsapp:dm:4915', { canonical: aliases }],
  [
    { ...whatsappGroup, chatId: '999', userIdAlt: '999@lid' },
    'agent:main:whatsapp:group:999:4915',
    { canonical: aliases },
  ],
  [{ ...whatsappDm, chatId: 'constructor' }, 'agent:main:whatsapp:dm:constructor', { canonical: aliases }],
  [{ ...whatsappDm, chatId: '__proto__' }, 'agent:main:whatsapp:dm:__proto__', { canonical: {} }],
  [{ ...whatsappDm, chatId: '+49@x' }, 'agent:main:whatsapp:dm:1-49', { canonical: (id) => `1-${id}` }],
  [{ ...whatsappDm, chatId: '49' }, 'agent:main:whatsapp:dm:49', { canonical: () => undefined }],
  [{ ...whatsappDm, chatId: '@lid' }, 'agent:main:whatsapp:dm', { canonical: () => 'everybody' }],
  [{ ...dm, chatId: '999' }, 'agent:main:telegram:dm:999', { canonical: aliases }],
  // Numbers, and what counts as absent.
  [{ ...group, chatId: -100123, threadId: 0, userId: 42 }, 'agent:main:telegram:group:-100123:0'],
  [{ ...group, chatId: -100123, userId: 0 }, 'agent:main:telegram:group:-100123:0'],
  [{ ...group, chatId: 1234567890123456789n, userId: 42 }, 'agent:main:telegram:group:1234567890123456789:42'],
  [{ ...group, chatId: 9007199254740991 }, 'agent:main:telegram:group:9007199254740991'],
  [{ ...dm, chatId: '', userId: '', userIdAlt: '', threadId: '' }, 'agent:main:telegram:dm'],
  [{ ...dm, chatId: null, userId: null, userIdAlt: null, threadId: null }, 'agent:main:telegram:dm'],
  [{ ...group, chatId: '1', threadId: '', userId: '2', userIdAlt: '' }, 'agent:main:telegram:group:1:2'],
  [{ ...group, chatId: '1', threadId: null, userId: '2' }, 'agent:main:telegram:group:1:2'],
  [{ ...group, chatId: '1', userId: '2' }, 'agent:main:telegram:group:1:2', { groupSessionsPerUser: undefined }],
  // Ids with a colon, dots and what else platforms have.
  [{ ...matrix, chatId: '!r:a.org', userId: '@u:a.org' }, 'agent:main:matrix:group:!r:a.org:@u:a.org'],
  [{ ...matrix, chatId: '!r:[::1]:8448', threadId: '$e' }, 'agent:main:matrix:group:!r:[::1]:8448:$e'],
  [{ ...dm, chatId: 'ab:c' }, 'agent:main:telegram:dm:ab:c'],
  [{ ...dm, chatId: '1:c' }, 'agent:main:telegram:dm:1:c'],
  [{ ...dm, chatId: 'C' }, 'agent:main:telegram:dm:C'],
  [{ ...dm, chatId: 'a.b.c' }, 'agent:main:telegram:dm:a.b.c'],
  [{ ...dm, chatId: '.', threadId: '.' }, 'agent:main:telegram:dm:.:.'],
  [{ ...dm, chatId: 'Zoë 😀' }, 'agent:main:telegram:dm:Zoë 😀'],
  // What the key does not hold cannot harm it.
  [{ ...dm, chatId: '7', userId: '../8' }, 'agent:main:telegram:dm:7'],
  [{ ...group, chatId: '7', threadId: '3', userId: 'users/8' }, 'agent:main:telegram:group:7:3'],
  [{ ...group, chatId: '7', userId: '8/', userIdAlt: '9' }, 'agent:main:telegram:group:7:9'],
]

t.test('a source has the key that the rules say', async (t) => {
  for (const [source, key, options] of keys) {
    t.equal(buildSessionKey(source, options), key, `${say(source)} ${options === undefined ? '' : say(options)}`)
  }
})

function say(value: object): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `${one}n` : one))
}

const outside: [string, string | RegExp][] = [
  ['..', `must not contain '..': ".."`],
  ['../etc', `must not contain '..': "../etc"`],
  ['a..b', `must not contain '..'`],
  ['a/b', `must not contain a slash or a backslash: "a/b"`],
  ['/', 'must not contain a slash'],
  ['a\\b', `must not contain a slash or a backslash: "a\\\\b"`],
  ['C:', `must not begin with a drive letter and a colon: "C:"`],
  ['c:x', 'must not begin with a drive letter'],
  ['a\0b', `must not contain control characters or line breaks: "a\\u{0}b"`],
  ['a\nb', `: "a\\nb"`],
  ['\u001b[31mred', `: "\\u{1b}[31mred"`],
  ['a\u007f', 'control characters'],
  ['a\u009b', 'control characters'],
  ['a\u2028b', 'line breaks'],
  ['a\ud800', 'must be valid Unicode text'],
  [`${'x'.repeat(5000)}..`, /: "x+… \\\{cut: \d+ more characters\}"$/],
]

t.test('what could leave a folder or steer a terminal makes no key, and the error says where it stands', async (t) => {
  const places: [string, (text: string) => [SessionSource, SessionKeyOptions?]][] = [
    ['chatId', (chatId) => [{ ...dm, chatId }]],
    ['chatId', (chatId) => [{ ...group, chatId }]],
    ['threadId', (threadId) => [{ ...dm, threadId }]],
    ['threadId', (threadId) => [{ ...channel, chatId: '1', threadId }]],
    ['userId', (userId) => [{ ...dm, userId }]],
    ['userId', (userId) => [{ ...group, chatId: '1', userId }]],
    ['userIdAlt', (userIdAlt) => [{ ...group, chatId: '1', userId: '1', userIdAlt }]],
    ['platform', (platform) => [{ ...dm, platform }]],
    ['profile', (profile) => [{ ...dm, profile }]],
    ['profile', (profile) => [dm, { profile }]],
  ]
  for (const [field, place] of places) {
    for (const [text, said] of outside) {
      const message = messageOf(() => buildSessionKey(...place(text)))
      t.ok(message.startsWith(`Field '${field}' must`), `${field} ${shortQuotedLine(text, 60)}`)
      t.match(message, said)
      t.notMatch(message, /[\p{C}\u2028]/u, 'nothing in it steers a terminal')
    }
  }
})

function messageOf(action: () => unknown): string {
  try {
    return `no error, but ${String(action())}`
  } catch (error) {
    return (error as Error).message
  }
}

const wrong: [object, string, SessionKeyOptions?][] = [
  [{ chatType: 'dm' }, "Field 'platform' is required, such as telegram"],
  [{ chatType: 'dm', platform: '' }, "Field 'platform' is required, such as telegram"],
  [{ chatType: 'dm', platform: 5 }, "Field 'platform' must be text: 5"],
  [{ ...dm, platform: 'a2:b' }, `Field 'platform' must not contain a colon: "a2:b"`],
  [{ ...dm, profile: 'a2:b' }, `Field 'profile' must not contain a colon: "a2:b"`],
  [{ ...dm, profile: {} }, "Field 'profile' must be text"],
  [dm, `Field 'profile' must not contain a colon: "a2:b"`, { profile: 'a2:b' }],
  [telegram, "Field 'chatType' must be one of dm, group, channel, thread"],
  [{ ...telegram, chatType: 'DM' }, `Field 'chatType' must be one of dm, group, channel, thread: "DM"`],
  [{ ...telegram, chatType: 'toString' }, `Field 'chatType' must be one of dm, group, channel, thread: "toString"`],
  [{ ...telegram, chatType: '../\n' }, `Field 'chatType' must be one of dm, group, channel, thread: "../\\n"`],
  [{ ...telegram, chatType: ['dm'] }, "Field 'chatType' must be one of dm, group, channel, thread"],
  // Read from JSON, the last digits of such an id are gone.
  [{ ...dm, chatId: Number('1234567890123456789') }, `; give long ids as text: 1234567890123456800`],
  [{ ...channel, threadId: 1712345678.125 }, "Field 'threadId' must be text or a whole number that is exact"],
  [{ ...dm, chatId: NaN }, "Field 'chatId' must be text or a whole number"],
  [{ ...dm, userId: -Infinity }, "Field 'userId' must be text or a whole number"],
  [{ ...dm, chatId: true }, "Field 'chatId' must be text or a whole number that is exact; give long ids as text"],
  [{ ...dm, chatId: ['7'] }, "Field 'chatId' must be text or a whole number"],
  [{ ...dm, chatId: { toString: () => '7' } }, "Field 'chatId' must be text or a whole number"],
  [{ ...whatsappDm, chatId: '1/2@lid' }, `Field 'chatId' must not contain a slash or a backslash: "1/2"`],
  [{ ...whatsappDm, chatId: '1' }, `Field 'chatId' must not contain '..': "../2"`, { canonical: { 1: '../2' } }],
  [{ ...whatsappGroup, userId: '1' }, `Field 'userId' must not contain`, { canonical: () => 'a\nb' }],
  [{ ...whatsappGroup, chatId: 'C:3@g.us' }, "Field 'chatId' must not begin with a drive letter"],
]

t.test('a source without a platform, with another chat type or with ids that are none makes no key', async (t) => {
  for (const [source, said, options] of wrong) {
    t.match(
      messageOf(() => buildSessionKey(source as SessionSource, options)),
      said,
    )
  }
})

t.test('a key is as long as the API takes it, and no longer', async (t) => {
  const longest = 1000 - 'agent:main:telegram:dm:'.length
  const key = buildSessionKey({ ...dm, chatId: 'x'.repeat(longest) })
  const doesTake = (session_key: string) => submitBody.safeParse({ action: 'a', description: 'd', session_key }).success
  t.ok(doesTake(key))
  t.notOk(doesTake(`${key}x`))
  t.same(parseSessionKey(key)?.ids, ['x'.repeat(longest)])
  t.equal(parseSessionKey(`${key}x`), null)
  t.throws(() => buildSessionKey({ ...dm, chatId: 'x'.repeat(longest + 1) }), {
    message: 'The session key would have 1001 characters, and at most 1000 are taken',
  })
})

const parsed: [string, string, string, string, string[]][] = [
  ['agent:main:telegram:dm', 'main', 'telegram', 'dm', []],
  ['agent:main:telegram:dm:7', 'main', 'telegram', 'dm', ['7']],
  ['agent:work:telegram:group:-1001:3:8', 'work', 'telegram', 'group', ['-1001', '3', '8']],
  ['agent:main:slack:channel:C1:U1', 'main', 'slack', 'channel', ['C1', 'U1']],
  ['agent:main:discord:thread:1:1', 'main', 'discord', 'thread', ['1', '1']],
  ['agent:main:matrix:group:!r:a.org:@u:a.org', 'main', 'matrix', 'group', ['!r', 'a.org', '@u', 'a.org']],
  ['agent:main:matrix:group:!r:[::1]', 'main', 'matrix', 'group', ['!r', '[', '', '1]']],
  ['agent:agent:agent:dm:agent', 'agent', 'agent', 'dm', ['agent']],
  ['agent:default:telegram:dm', 'default', 'telegram', 'dm', []],
  ['agent:__proto__:constructor:dm:__proto__', '__proto__', 'constructor', 'dm', ['__proto__']],
  ['agent:main:telegram:dm:Zoë 😀', 'main', 'telegram', 'dm', ['Zoë 😀']],
  ['agent:main:telegram:dm:C:x', 'main', 'telegram', 'dm', ['C', 'x']],
]

t.test('a key is taken apart at its colons', async (t) => {
  for (const [key, profile, platform, chatType, ids] of parsed) {
    t.strictSame(parseSessionKey(key), { profile, platform, chatType, ids }, key)
  }
})

const unconventional: unknown[] = [
  ...['', ':', ':::', 'agent', 'agent:', 'agent:main', 'agent:main:telegram', 'agent:main:telegram:'],
  ...['release-4.2', 'Agent:main:telegram:dm', ' agent:main:telegram:dm', 'user:main:telegram:dm'],
  ...['agent::telegram:dm', 'agent:main::dm', 'agent:main:telegram::7', 'agent:main:telegram:dm:'],
  ...['agent:main:telegram:DM:7', 'agent:main:telegram:dm ', 'agent:main:telegram:dms', 'agent:main:telegram:toString'],
  ...['agent:main:telegram:dm:../x', 'agent:..:telegram:dm', 'agent:main:a/b:dm', 'agent:main:telegram:dm:a\\b'],
  ...['agent:main:telegram:dm:a\n', 'agent:main:tele\0gram:dm', 'agent:\u001b[31m:telegram:dm'],
  ...['agent:main:telegram:dm:\ud800', 'agent:main:telegram:dm:\u2029'],
  `agent:main:telegram:dm:${'x'.repeat(1000)}`,
  ':'.repeat(10_000_000),
  ...[undefined, null, 5, {}, ['agent', 'main', 'telegram', 'dm'], { length: 1, split: 1 }],
]

t.test('what is no key of this form is null', async (t) => {
  for (const key of unconventional) {
    t.equal(parseSessionKey(key as string), null, typeof key === 'string' ? shortQuotedLine(key, 60) : typeof key)
  }
})

t.test('a place is shared where another user gets the same key, and direct messages never are', async (t) => {
  const both: (boolean | undefined)[] = [true, false, undefined]
  for (const chatType of chatTypes) {
    for (const threadId of ['3', 0, '', null, undefined]) {
      for (const groupSessionsPerUser of both) {
        for (const threadSessionsPerUser of both) {
          const options = { groupSessionsPerUser, threadSessionsPerUser }
          const source = { ...telegram, chatType, threadId, chatId: '1' }
          const [one, other] = ['8', '9'].map((userId) => buildSessionKey({ ...source, userId }, options))
          t.equal(isShared(source, options), chatType !== 'dm' && one === other, `${say(source)} ${say(options)}`)
        }
      }
    }
  }
  t.notOk(isShared({ ...group, chatId: '1' }))
  t.ok(isShared({ ...group, chatId: '1', threadId: '3' }))
  t.notOk(isShared({ ...dm, chatId: '1', threadId: '3' }))
  t.throws(() => isShared({ ...dm, chatType: 'private' as 'dm' }), { message: /^Field 'chatType' must be one of/ })
})

const id = fc.oneof(
  fc.constantFrom<SourceId>('', null, undefined, '..', 'a/b', 'C:', '+49:1@lid', '!r:a.org', ':', '\n'),
  fc.string({ unit: fc.constantFrom(...'ab:./\\@+1 ') }),
  fc.string({ unit: 'binary' }),
  fc.maxSafeInteger(),
  fc.bigInt(),
)
const name = fc.oneof(
  fc.constantFrom('telegram', 'whatsapp', 'default', 'main', 'work', '..', 'a:b', ''),
  fc.string({ unit: 'binary', maxLength: 10 }),
)
const sources = fc.record(
  {
    platform: name,
    chatType: fc.constantFrom(...chatTypes),
    chatId: id,
    threadId: id,
    userId: id,
    userIdAlt: id,
    profile: fc.option(name),
  },
  { requiredKeys: ['platform', 'chatType'] },
)
const optionSets = fc.record(
  {
    groupSessionsPerUser: fc.boolean(),
    threadSessionsPerUser: fc.boolean(),
    canonical: fc.constantFrom<SessionKeyOptions['canonical']>({ 49: '1', a: '..' }, (one) => `${one}${one}`),
  },
  { requiredKeys: [] },
)

/** Null where it is refused. */
function tryBuild(source: SessionSource, options: SessionKeyOptions): string | null {
  try {
    return buildSessionKey(source, options)
  } catch {
    return null
  }
}

t.test('what is built can be taken apart, and no part of it leaves a folder', async (t) => {
  let built = 0
  fc.assert(
    fc.property(sources, optionSets, (source, options) => {
      const key = tryBuild(source, options)
      if (key === null) return
      built += 1
      const found = parseSessionKey(key)
      const profile = source.profile == null || ['', 'default'].includes(source.profile) ? 'main' : source.profile
      const { platform, chatType } = source
      if (found === null) throw new Error(`${key} is not taken apart`)
      t.strictSame({ ...found, ids: [] }, { profile, platform, chatType, ids: [] })
      t.equal(['agent', profile, platform, chatType, ...found.ids].join(':'), key, 'nothing is lost')
      t.notMatch(key, /\.\.|[/\\\p{Cc}]/u)
    }),
    { numRuns: 2000 },
  )
  t.ok(built > 200, `${built} of them are built`)
})

t.test('whatever comes, parsing does not throw, and finds what is there', async () => {
  const part = fc.constantFrom('agent', 'main', 'telegram', ...chatTypes, '', '..', '7', '\n', '\ud800')
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(part).map((parts) => parts.join(':')),
    fc.array(part).map((parts) => ['agent', 'main', 'telegram', 'dm', ...parts].join(':')),
  )
  fc.assert(
    fc.property(texts, (key) => {
      const found = parseSessionKey(key)
      if (found === null) return true
      return ['agent', found.profile, found.platform, found.chatType, ...found.ids].join(':') === key
    }),
    { numRuns: 2000 },
  )
})

t.test('where a place is not shared, two users have two keys', async () => {
  const plain = fc.string({ unit: fc.constantFrom(...'ab.1'), minLength: 1 }).filter((text) => !text.includes('..'))
  const users = fc.tuple(plain, plain).filter(([one, other]) => one !== other)
  const place = fc.record(
    {
      platform: fc.constantFrom('telegram', 'whatsapp'),
      chatType: fc.constantFrom(...chatTypes),
      chatId: id,
      threadId: id,
    },
    { requiredKeys: ['platform', 'chatType'] },
  )
  fc.assert(
    fc.property(place, users, optionSets, (source, [one, other], { canonical: _, ...options }) => {
      fc.pre(source.chatType !== 'dm')
      const [a, b] = [one, other].map((userId) => tryBuild({ ...source, userId }, options))
      fc.pre(a !== null && b !== null)
      return (a === b) === isShared(source, options)
    }),
    { numRuns: 1000 },
  )
})
