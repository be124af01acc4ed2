// The digest from a file: that of every vector, and nothing of what can be read in two ways.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { build, temporaryFolder } from '../support.js'
import { command } from './command.js'

interface Vectors {
  vectors: { name: string; of: Record<string, string>; canonical: string; digest: string }[]
  refused: { name: string; details: string }[]
}
const vectorsFile = new URL('../../../test/vectors/digest.json', import.meta.url)
const { vectors, refused } = JSON.parse(readFileSync(vectorsFile, 'utf8')) as Vectors

function digestOf(t: Test) {
  const file = join(temporaryFolder(t), 'asked.json')
  return (text: string, ...words: string[]) => {
    writeFileSync(file, text)
    return command('none.db', 'digest', file, ...words)
  }
}
/** The details as an agent would write them. */
const textOf = ({ details, ...fields }: Record<string, string>) =>
  `{"details":${details},${JSON.stringify({ action: 'a', ...fields }).slice(1)}`

t.test('each vector has its digest, and what no digest may be made of has none', async (t) => {
  const digest = digestOf(t)
  for (const { name, of, canonical, digest: expected } of vectors) {
    t.same(await digest(textOf(of)), { code: 0, stdout: `${expected}\n`, stderr: '' }, name)
    t.same(JSON.parse((await digest(textOf(of), '--json')).stdout), { digest: expected, canonical }, name)
  }
  for (const { name, details } of refused) {
    const { code, stdout, stderr } = await digest(textOf({ details }))
    t.same([code, stdout], [1, ''], name)
    t.match(stderr, /asked\.json: [^\n]+\n$/, name)
  }
})

t.test('it is the digest of the submission, whatever else that says, and of its record', async (t) => {
  const { submit, call } = await build(t)
  const digest = digestOf(t)
  const asked = { details: { b: 1, a: [true] }, requester: 'bot', session_key: 's', on_behalf_of: ' carol ' }
  const body = { action: ' send_mail ', description: 'd', timeout_seconds: 60, ...asked }
  const { id, digest: expected } = (await submit(body)).body
  t.equal((await digest(JSON.stringify(body))).stdout, `${expected}\n`)
  const record = (await call('GET', `/confirm/${id}`)).body
  t.equal((await digest(JSON.stringify(record))).stdout, `${expected}\n`)
  const changed = { ...record, details: { b: 2, a: [true] } }
  t.match(await digest(JSON.stringify(changed)), {
    code: 1,
    stdout: '',
    stderr: /its digest is not that of what it says/,
  })
})

t.test('with a key the requester is its owner, which a flag says', async (t) => {
  const digest = digestOf(t)
  const [named, asBot] = [{ action: 'a', requester: 'bot' }, { action: 'a' }]
  const { stdout } = await digest(JSON.stringify(named))
  t.equal((await digest(JSON.stringify(asBot), '--requester', 'bot')).stdout, stdout)
  t.not((await digest(JSON.stringify(asBot))).stdout, stdout)
})

t.test('what is no submission is refused by what is wrong with it', async (t) => {
  const digest = digestOf(t)
  for (const [text, sentence] of [
    ['{"action":"a","detials":{}}', /no field 'detials' here; did you mean 'details'/],
    ['{"details":{}}', /Field 'action' is required/],
    ['{"action":"a","details":[]}', /Field 'details' must be an object/],
    ['{"action":"a","action":"b"}', /The name 'action' stands twice/],
    ['{"action":"a","x\u001b[31m":1}', /no field 'x\\\\u\{1b\}|must be a JSON object/],
    ['', /must be a JSON object/],
    [`{"action":"a","details":{"t":"${'x'.repeat(1024 * 1024)}"}}`, /larger than 1 MiB/],
  ] as const) {
    t.match(await digest(text), { code: 1, stdout: '', stderr: sentence }, text.slice(0, 40))
  }
  t.match(await command('none.db', 'digest', '/no/such/file'), { code: 1, stderr: /cannot be read: ENOENT/ })
  t.match(await command('none.db', 'digest'), { code: 2, stderr: /digest: say which FILE/ })
})

t.test('it comes from standard input, too', async (t) => {
  const { of, digest } = vectors[0]!
  const server = fileURLToPath(new URL('../../src/server.js', import.meta.url))
  t.equal(execFileSync(process.execPath, [server, 'digest', '-'], { input: textOf(of) }).toString(), `${digest}\n`)
})
