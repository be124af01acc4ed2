import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { hashSecret, makeKeyText, readKeyId, stateOf } from '../../src/access/key.js'
import { problemWithName } from '../../src/access/person.js'

const chance = () => randomBytes(48).toString('hex')

t.test('a key is a prefix, its id and 256 bits of chance', async (t) => {
  const { id, text } = makeKeyText('0123456789ab'.padEnd(96, 'f'))
  t.equal(id, '0123456789ab')
  t.equal(text, `hpk_0123456789ab_${'f'.repeat(64)}`)
  t.equal(readKeyId(text), id)
})

t.test('the id is no part of the secret', async (t) => {
  const digits = chance()
  const { id, text } = makeKeyText(digits)
  t.notOk(text.slice(17).includes(id))
  t.equal(text, `hpk_${id}_${digits.slice(12, 76)}`)
})

t.test('no two keys are alike', async (t) => {
  const many = Array.from({ length: 1000 }, () => makeKeyText(chance()).text)
  t.equal(new Set(many).size, 1000)
})

t.test('only what has the form of a key has an id', async (t) => {
  const { text } = makeKeyText(chance())
  for (const other of [
    '',
    ' ',
    text.slice(0, -1),
    `${text}0`,
    ` ${text}`,
    `${text} `,
    `${text}\n`,
    text.toUpperCase(),
    text.replace('hpk_', 'hpx_'),
    text.replaceAll('_', '-'),
    'hpk__',
    `hpk_${'0'.repeat(12)}_${'g'.repeat(64)}`,
  ]) {
    t.equal(readKeyId(other), null, JSON.stringify(other))
  }
  fc.assert(fc.property(fc.string(), (any) => readKeyId(any) === null))
})

t.test('what is kept of a secret is its SHA-256', async (t) => {
  t.equal(hashSecret('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

t.test('a key is good until it expires or is revoked, whichever comes first', async (t) => {
  for (const [expiresAt, revokedAt, now, state] of [
    [null, null, 9e15, 'live'],
    [1000, null, 999, 'live'],
    [1000, null, 1000, 'expired'],
    [null, 500, 100, 'revoked'],
    [1000, 500, 2000, 'revoked'],
  ] as const) {
    t.equal(stateOf({ expiresAt, revokedAt }, now), state)
  }
})

t.test('people and agents have names that can be read and told apart', async (t) => {
  for (const name of [
    'alice',
    'a',
    'Zoë Ångström',
    'bot-7',
    'deploy.bot_2',
    'alice@example.com',
    'ops+oncall@example.com',
    '李雷',
    'محمد',
    'Сергей',
    'J. R.',
    'x'.repeat(100),
    'systems',
    'whitelister',
  ]) {
    t.equal(problemWithName(name), null, name)
  }
})

t.test('names that cannot be read, or are not names, are refused', async (t) => {
  for (const name of [
    '',
    ' ',
    ' alice',
    'alice ',
    '-alice',
    '.alice',
    'alice-',
    'x'.repeat(101),
    'a\nb',
    'a\tb',
    'a\0b',
    'telegram:-1001',
    'system:timeout',
    'whitelist:g1',
    'a/b',
    'a<b',
    'a"b',
    "a'b",
    'a,b',
    'a\u202eb',
    'a\u200bb',
    'a\u00adb',
    'a\ufeffb',
    '\ud800',
    '😀',
  ]) {
    t.match(problemWithName(name), /^must be/, JSON.stringify(name))
  }
})

t.test('nothing invisible is part of a name, also where Unicode calls it a letter', async (t) => {
  for (const name of ['\u3164', '\u115f\u1160', '\uffa0', 'alice\u3164', 'al\u034fice', 'alice\ufe0f', 'a\u17b4b']) {
    t.type(problemWithName(name), 'string', JSON.stringify(name))
  }
})

t.test('the names that the service signs with are its own, in every spelling', async (t) => {
  for (const name of [
    'system',
    'System',
    'SYSTEM',
    'sys tem',
    's.y.s.t.e.m',
    'ѕуѕtеm',
    'Whitelist',
    'local',
    'ｌocal',
  ]) {
    t.match(problemWithName(name), /reserved/, name)
  }
  for (const name of ['unknown', 'anonymous', 'Ánonymous']) t.match(problemWithName(name), /reserved/, name)
})
