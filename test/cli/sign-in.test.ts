// holdpoint signin: a link for a person's key, from the shell.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { carryOut } from '../../src/cli/dispatch.js'
import { qrCode } from '../../src/cli/qr.js'
import { readInvocation } from '../../src/invocation.js'
import { type Program, run, start } from '../e2e/program.js'
import { temporaryFolder } from '../support.js'

interface Said {
  code: number
  stdout: string
  stderr: string
  drawn: string[]
}

/** As the program would carry it out; on a terminal it may draw. */
async function command(dbPath: string, isTerminal: boolean, ...words: string[]): Promise<Said> {
  const said: Said = { code: 0, stdout: '', stderr: '', drawn: [] }
  const output = {
    print: (text: string) => void (said.stdout += `${text}\n`),
    tell: (text: string) => void (said.stderr += `${text}\n`),
    ...(isTerminal ? { draw: (picture: string) => void said.drawn.push(picture) } : {}),
  }
  const invocation = readInvocation(['--db-path', dbPath, ...words], {})
  if (invocation.command !== 'carry-out') throw new Error('no command')
  try {
    said.code = await carryOut(invocation.given, invocation.config, output)
  } catch (error) {
    if ((error as Error).name !== 'CommandRefused') throw error
    said.code = 1
    said.stderr += (error as Error).message
  }
  return said
}

const addKey = async ({ dbPath }: Pick<Program, 'dbPath'>, name: string, role: string) =>
  (await command(dbPath, false, 'keys', 'add', '--name', name, '--role', role)).stdout.trim()
const linkLine = (base: string) => new RegExp(`^${base}/signin/[\\w-]{43}\n$`)

async function served(t: Test, ...flags: string[]): Promise<Program> {
  const program = await start(t, { flags: ['--web-port', '0', ...flags] })
  await addKey(program, 'bot', 'agent')
  await addKey(program, 'alice', 'auditor')
  await addKey(program, 'alice', 'operator')
  return program
}

t.test('the link alone goes to standard output, leads to the running service, and is on record', async (t) => {
  const program = await served(t)
  const base = `http://127.0.0.1:${program.webPort}`
  const made = await run(t, ['signin', 'alice', '--db-path', program.dbPath])
  t.equal(made.code, 0)
  t.match(made.stdout, linkLine(base))
  t.match(made.stderr, /^A link to sign in as alice, operator, with the key \w+\. It is good once, until .*Z\.$/m)
  t.match(made.stderr, /Only a browser on this machine can open it.*--public-url/)
  t.notMatch(made.stdout + made.stderr, /\u001b|█/, 'no picture where nobody looks')
  const page = await fetch(made.stdout.trim())
  t.equal(page.status, 200)
  t.match(await page.text(), /alice/)
  const token = made.stdout.trim().split('/').at(-1)!
  for (const end of ['', '-wal']) {
    const file = readFileSync(`${program.dbPath}${end}`)
    t.notOk(file.includes(token), 'it is kept as a hash only')
  }
  t.notMatch(program.stdout() + program.stderr(), token)
  await program.logLine(/sign_in_linked/)
})

t.test('on a terminal there is a picture of it, and with a public URL no word about this machine', async (t) => {
  const { dbPath } = await served(t, '--public-url', 'https://hold.example.com')
  const { stdout, stderr, drawn } = await command(dbPath, true, 'signin', 'alice')
  t.match(stdout, linkLine('https://hold.example.com'))
  t.notMatch(stderr, /this machine/)
  t.same(drawn, [qrCode(stdout.trim())])
})

t.test('a name with no key for the pages is refused, and one that nobody has', async (t) => {
  const { dbPath } = await served(t)
  t.match(await command(dbPath, true, 'signin', 'bot'), {
    code: 1,
    stdout: '',
    stderr: /bot has only an agent's key, and the pages are for people/,
    drawn: [],
  })
  t.match(await command(dbPath, true, 'signin', 'nobody'), { code: 1, stdout: '', stderr: /There is no key of nobody/ })
  await command(dbPath, false, 'keys', 'revoke', 'alice')
  t.match(await command(dbPath, true, 'signin', 'alice'), { code: 1, stdout: '', stderr: /no key that is good still/ })
})

t.test('where no service runs there is no link', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  await addKey({ dbPath }, 'alice', 'operator')
  const { code, stdout, stderr } = await command(dbPath, true, 'signin', 'alice')
  t.match({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /No service runs on .*start it/)
})

t.test('the picture is dark on light with a margin, whatever the terminal', async (t) => {
  const lines = qrCode('https://hold.example.com/signin/abc').split('\n')
  for (const line of lines) t.match(line, /^\u001b\[38;5;16;48;5;231m[ ▀▄█]+\u001b\[0m$/)
  const bare = lines.map((line) => line.replaceAll(/\u001b\[[\d;]*m/g, ''))
  t.equal(new Set(bare.map(({ length }) => length)).size, 1)
  t.equal(bare.length, Math.ceil(bare[0]!.length / 2))
  for (const line of [...bare.slice(0, 2), bare.at(-1)!]) t.match(line, /^ +$/)
  for (const line of bare) t.match(line, /^ {4}.* {4}$/)
})
