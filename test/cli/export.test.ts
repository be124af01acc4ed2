// Exports to a file: whole or not there, taken up again wherever they break off; and what happened as a table.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { carryOut } from '../../src/cli/dispatch.js'
import type { Output } from '../../src/cli/output.js'
import { readInvocation } from '../../src/invocation.js'
import { listenLocally, localSocket } from '../../src/listen.js'
import { run as runProgram, start } from '../e2e/program.js'
import { build, type BuildOptions, temporaryFolder } from '../support.js'
import { command } from './command.js'

/** A service in this process that commands can reach, by its socket and over HTTP. */
async function reachable(t: Test, options: BuildOptions = {}) {
  const built = await build(t, options)
  t.teardown(await listenLocally(localSocket(built.dbPath)!, built.routeLocal))
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(built.app.server.address() as AddressInfo).port}`
  const folder = temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  // Not text(), which leaves out a byte order mark.
  const direct = async (query: string) => Buffer.from(await (await fetch(`${url}${query}`)).arrayBuffer()).toString()
  return { ...built, url, folder, path, direct, run: (...words: string[]) => command(built.dbPath, ...words) }
}

const many = { config: { rateLimit: 1000, openLimit: 1000, floodLimit: 0 } }

t.test('a file has what the service has, is for its owner alone, and there is nothing beside it', async (t) => {
  const { submit, run, path, folder, direct } = await reachable(t, many)
  for (let n = 0; n < 3; n++) await submit({ action: `a${n}`, description: 'two\nlines; =1' })
  t.same(await run('export', '--output', path('a.csv')), {
    code: 0,
    stdout: '',
    stderr: `3 requests in ${path('a.csv')}. Nothing is missing.\n`,
  })
  t.equal(readFileSync(path('a.csv'), 'utf8'), await direct('/audit/export?format=csv'))
  t.equal(statSync(path('a.csv')).mode & 0o777, 0o600)
  await run('export', '--output', path('a.jsonl'))
  t.equal(readFileSync(path('a.jsonl'), 'utf8'), await direct('/audit/export'))
  await run('export', '--events', '--format', 'csv', '--output', path('events'))
  t.equal(readFileSync(path('events'), 'utf8'), await direct('/audit/events/export?format=csv'))
  const said = await run('export', '--events', '--json', '--output', path('b'))
  t.same(JSON.parse(said.stdout), {
    file: path('b'),
    format: 'jsonl',
    rows: 6,
    new_rows: 6,
    bytes: statSync(path('b')).size,
  })
  t.same(readdirSync(folder).sort(), ['a.csv', 'a.jsonl', 'b', 'events'])
})

t.test('a file that is there is kept, replaced when that is said, or added to', async (t) => {
  const { submit, run, path, folder, direct } = await reachable(t, many)
  await submit()
  for (const [name, ...more] of [['a.csv'], ['a.jsonl'], ['e.csv', '--events'], ['e.jsonl', '--events']]) {
    const words = ['export', '--output', path(name!), ...more]
    const query = `/audit/${more.length === 0 ? '' : 'events/'}export?format=${name!.split('.')[1]}`
    t.match(await run(...words), { code: 0 })
    const old = readFileSync(path(name!), 'utf8')
    t.match(await run(...words), { code: 1, stderr: /is there already: .* --force, .* --resume\.$/m })
    t.equal(readFileSync(path(name!), 'utf8'), old)
    t.match(await run(...words, '--resume'), { code: 0, stderr: /, 0 of them new\. Nothing is missing/ })
    t.equal(readFileSync(path(name!), 'utf8'), old)
    await submit({ action: `new ${name}` })
    t.match(await run(...words, '--resume'), { code: 0, stderr: /[12] of them new/ })
    t.equal(readFileSync(path(name!), 'utf8'), await direct(query))
    writeFileSync(path(name!), 'something else\n')
    t.match(await run(...words, '--resume'), { code: 1, stderr: /is no export of this kind and format/ })
    t.equal(readFileSync(path(name!), 'utf8'), 'something else\n')
    t.match(await run(...words, '--force'), { code: 0 })
    t.equal(readFileSync(path(name!), 'utf8'), await direct(query))
  }
  t.match(await run('export', '--events', '--output', path('a.csv'), '--resume'), {
    code: 1,
    stderr: /no export of this/,
  })
  t.match(await run('export', '--format', 'jsonl', '--output', path('a.csv'), '--resume'), { code: 1 })
  writeFileSync(path('old.csv'), `${readFileSync(path('a.csv'), 'utf8').split('\r\n')[0]!.replace(',status', '')}\r\n`)
  t.match(await run('export', '--output', path('old.csv'), '--resume'), { code: 1 }, 'columns of another version')
  writeFileSync(path('half.jsonl'), 'no line')
  t.match(await run('export', '--output', path('half.jsonl'), '--resume'), { code: 1 })
  t.notOk(readdirSync(folder).some((name) => name.startsWith('half.jsonl.')))
})

t.test('a link leads to its file, and what is no file is left alone', async (t) => {
  const { submit, run, path } = await reachable(t)
  await submit()
  writeFileSync(path('real.jsonl'), '')
  symlinkSync(path('real.jsonl'), path('link.jsonl'))
  symlinkSync(path('nothing'), path('broken.jsonl'))
  mkdirSync(path('folder'))
  t.match(await run('export', '--output', path('link.jsonl'), '--force'), { code: 0 })
  t.match(readFileSync(path('real.jsonl'), 'utf8'), /^\{"id":/)
  t.match(await run('export', '--output', path('folder'), '--force'), { code: 1, stderr: /is no ordinary file/ })
  t.match(await run('export', '--output', '/dev/null', '--force'), { code: 1, stderr: /is no ordinary file/ })
  t.match(await run('export', '--output', path('broken.jsonl')), { code: 1, stderr: /leads nowhere/ })
  t.match(await run('export', '--output', path('no/where.csv')), { code: 1, stderr: /^It cannot be written: / })
})

const refusing = 'refusing'
const refusal = JSON.stringify({ code: 'unauthorized', error: 'This key is not known.' })

/** Passes on what each connection is answered, up to so many bytes, and then cuts it. The last is for all that follow. */
async function cutting(t: Test, url: string, limits: (number | typeof refusing)[]) {
  const seen: string[] = []
  const server = createServer((client: Socket) => {
    const limit = limits[Math.min(seen.length, limits.length - 1)]!
    const place = seen.push('') - 1
    if (limit === refusing) {
      const type = 'content-type: application/problem+json\r\nconnection: close\r\n'
      client.once('data', () => {
        client.end(`HTTP/1.1 401 Unauthorized\r\n${type}content-length: ${refusal.length}\r\n\r\n${refusal}`)
      })
      client.on('error', () => {})
      return
    }
    let left = limit
    const behind = connect(Number(new URL(url).port), '127.0.0.1')
    client.on('data', (chunk: Buffer) => {
      seen[place] += chunk.toString()
      behind.write(chunk)
    })
    behind.on('data', (chunk: Buffer) => {
      client.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) client.end(() => client.destroy())
    })
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => seen.map((text) => text.split(' ')[1]),
  }
}

t.test('what breaks off anywhere is taken up again behind the last whole row, until nothing is missing', async (t) => {
  const { submit, run, path, direct, url } = await reachable(t, many)
  for (let n = 0; n < 12; n++) await submit({ action: `a${n}`, description: 'ü'.repeat(50 + 40 * n) })
  // In the headers of the answer, in that of the table, in its first row, and further on.
  const limits = [450, 1200, 1700, 2600, 3000, 4000, 6000, Infinity]
  for (const [format, name] of [
    ['csv', 'a.csv'],
    ['jsonl', 'a.jsonl'],
  ] as const) {
    const proxy = await cutting(t, url, limits)
    const said = await run('export', '--output', path(name), '--url', proxy.url)
    t.match(said, { code: 0, stderr: /^12 requests in .*\. Nothing is missing\.$/m })
    t.equal(readFileSync(path(name), 'utf8'), await direct(`/audit/export?format=${format}`))
    t.ok(proxy.requests().length > 4, `${proxy.requests().length} requests`)
    t.match(proxy.requests().at(-1), /after=id-/)
  }
})

t.test('what could not be finished stays beside the file, and goes on with --resume', async (t) => {
  const { submit, run, path, folder, direct, url } = await reachable(t, many)
  for (let n = 0; n < 8; n++) await submit({ action: `a${n}`, description: 'x'.repeat(300) })
  const whole = await direct('/audit/export?format=csv')
  const words = ['export', '--output', path('a.csv')]
  const stop = async () => {
    const proxy = await cutting(t, url, [2000, refusing])
    const { code, stderr } = await run(...words, '--url', proxy.url)
    const [, part] = /What came so far is in (\S+); the same with --resume goes on\.$/m.exec(stderr) ?? []
    t.equal(code, 1)
    t.match(stderr, /^This key is not known\. Give a key that is good/)
    return part!
  }
  const part = await stop()
  t.notOk(existsSync(path('a.csv')), 'a file that is there is whole')
  t.equal(statSync(part).mode & 0o777, 0o600)
  const begun = readFileSync(part, 'utf8')
  t.ok(whole.startsWith(begun) && begun.endsWith('\r\n') && begun.length > 500, 'whole rows')
  t.match(await run(...words), { code: 1, stderr: /was begun: .* --resume, .* --force/ })
  t.match(await run(...words, '--action', 'a3'), { code: 0, stderr: /^1 request in/ }, 'of others it is no part')
  // As a crash may leave it: in a row, in the names of the columns, or with nothing.
  const bytes = Buffer.from(whole)
  for (const length of [bytes.length, bytes.length - 5, bytes.length - 400, 300, 2, 0]) {
    writeFileSync(part, bytes.subarray(0, length))
    t.match(await run(...words, '--resume'), { code: 0 }, `after ${length} bytes`)
    t.equal(readFileSync(path('a.csv'), 'utf8'), whole, `after ${length} bytes`)
  }
  await run(...words, '--force')
  writeFileSync(part, 'nonsense\n')
  t.match(await run(...words, '--resume'), { code: 1, stderr: /is no export of this kind/ })
  t.match(await run(...words, '--force'), { code: 0 })
  t.same(readdirSync(folder), ['a.csv'])
})

t.test('where nobody answers nothing is left behind, and the exit code says so', async (t) => {
  const { run, folder, path } = await reachable(t)
  const said = await run('export', '--output', path('a.csv'), '--url', 'http://127.0.0.1:1')
  t.match(said, {
    code: 3,
    stderr: /^Holdpoint at http:\/\/127\.0\.0\.1:1 cannot be reached: [^\n]*ECONNREFUSED[^\n]*\.\n$/,
  })
  t.same(readdirSync(folder), [])
  t.match(await run('export', '--output', path('a.csv'), '--status', 'gone'), {
    code: 2,
    stderr: /^--status: must be one/,
  })
  t.same(readdirSync(folder), [])
})

t.test('what another server answers is no export', async (t) => {
  const { run, folder, path } = await reachable(t)
  const page = createHttpServer((_request, response) => response.setHeader('content-type', 'text/html').end('<p>\n'))
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
  t.teardown(() => page.close())
  const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`
  t.match(await run('export', '--output', path('a.csv'), '--url', url), {
    code: 1,
    stderr: /^What answered is no export/,
  })
  t.same(readdirSync(folder), [])
})

t.test('what the service does not take in a filter is said of its flag', async (t) => {
  const { run } = await reachable(t)
  for (const [words, said] of [
    [['--since', 'tomorrow'], /^--since: must be epoch seconds, [^%]*T15:00:00\+01:00\n$/],
    [['--resolved-until', '31.1.2026'], /^--resolved-until: must be /],
    [['--status', 'done'], /^--status: must be one or more of pending, /],
    [['--events', '--type', 'done'], /^--type: must be one or more of submitted, /],
  ] as const)
    for (const command of ['audit', 'export'])
      t.match(await run(command, ...words), { code: 2, stdout: '', stderr: said }, `${command} ${words.join(' ')}`)
})

t.test('each flag is the filter of that name', async (t) => {
  const { submit, call, clock, run } = await reachable(t, many)
  await submit({ action: 'a', requester: 'bot', session_key: 's' })
  await clock.advance(10_000)
  await submit({ action: 'b', requester: 'other' })
  await call('POST', '/confirm/id-0001/deny', { denier: 'bob' })
  await clock.advance(10_000)
  await submit({ action: 'c', requester: 'other' })
  await call('POST', '/confirm/id-0002/approve', { approver: 'alice' })
  const ids = async (...words: string[]) => {
    const { code, stdout } = await run('audit', '--json', ...words)
    t.equal(code, 0, words.join(' '))
    return (JSON.parse(stdout) as { id?: string; seq?: number }[]).map(({ id, seq }) => id ?? seq)
  }
  for (const [words, expected] of [
    [[], [3, 2, 1]],
    [
      ['--limit', '2'],
      [3, 2],
    ],
    [['--action', 'b'], [2]],
    [
      ['--requester', 'other'],
      [3, 2],
    ],
    [['--session', 's'], [1]],
    [
      ['--status', 'denied,approved'],
      [2, 1],
    ],
    [['--resolved-by', 'bob'], [1]],
    [['--voted-by', 'alice'], [2]],
    [
      ['--since', '2026-01-01T00:00:10Z'],
      [3, 2],
    ],
    [['--until', '2026-01-01T00:00:10Z'], [1]],
    [['--resolved-since', '2026-01-01T00:00:20Z'], [2]],
    [['--resolved-until', '2026-01-01T00:00:20Z'], [1]],
    [['--since', '36500d', '--until', '0s'], []],
  ] as const) {
    if (words[1] === '36500d')
      t.match(await run('audit', ...words), { code: 2, stderr: /--since: must be from 0s to 3650d/ })
    else
      t.same(
        await ids(...words),
        expected.map((n) => `id-000${n}`),
      )
  }
  t.same(await ids('--since', '1d'), [], 'this clock stands long ago')
  for (const [words, expected] of [
    [[], [1, 2, 3, 4, 5, 6, 7, 8]],
    [
      ['--limit', '3'],
      [6, 7, 8],
    ],
    [
      ['--type', 'approved,denied'],
      [5, 8],
    ],
    [['--type', 'submitted', '--limit', '1'], [6]],
    [
      ['--of', 'id-0001'],
      [1, 2, 5],
    ],
    [['--actor', 'bob'], [5]],
    [
      ['--channel', 'log'],
      [2, 4, 7],
    ],
    [
      ['--action', 'a'],
      [1, 2, 5],
    ],
    [
      ['--requester', 'bot'],
      [1, 2, 5],
    ],
    [
      ['--session', 's'],
      [1, 2, 5],
    ],
    [
      ['--since', '2026-01-01T00:00:20Z'],
      [6, 7, 8],
    ],
    [
      ['--until', '2026-01-01T00:00:10Z'],
      [1, 2],
    ],
  ] as const) {
    t.same(await ids('--events', ...words), expected, words.join(' '))
  }
  t.match(await run('audit', '--type', 'denied'), { code: 2, stderr: /--type: goes with --events alone/ })
  t.match(await run('export', '--of', 'x'), { code: 2, stderr: /--of: goes with --events alone/ })
  t.match(await run('audit', '--events', '--status', 'denied', '--voted-by', 'x', '--limit', '0'), {
    code: 2,
    stderr: /--status: is for requests.*\n.*--limit: must be from 1 to 10000/,
  })
})

t.test('what happened is a table in which nothing others wrote does anything', async (t) => {
  const { submit, call, run } = await reachable(t)
  t.same(await run('audit'), { code: 0, stdout: '', stderr: 'There is no request yet.\n' })
  t.same(await run('audit', '--events'), { code: 0, stdout: '', stderr: 'Nothing happened yet.\n' })
  await submit({ action: 'a\u202eb', description: 'red\x1b[31m\nline', requester: 'r\x07' })
  await call('POST', '/confirm/id-0001/deny', { denier: 'bob\x1b]0;x' })
  for (const words of [[], ['--events'], ['--json'], ['--events', '--json']]) {
    const { stdout } = await run('audit', ...words)
    t.notMatch(stdout, /[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]/)
  }
  const [head, row, ...more] = (await run('audit')).stdout.split('\n')
  t.match(head, /^ID +SUBMITTED +STATUS +EXECUTION +ACTION +REQUESTER +RESOLVED BY +DESCRIPTION$/)
  t.match(
    row,
    /^id-0001 +2026-01-01 00:00:00 UTC +denied +a\\u\{202e\}b +r\\u\{7\} +bob\\u\{1b\}\]0;x +red\\u\{1b\}\[31m\\nline$/,
  )
  t.same(more, [''])
  const events = (await run('audit', '--events')).stdout.split('\n')
  t.match(events[0], /^SEQ +TIME +TYPE +ACTOR +CHANNEL +REQUEST +DATA$/)
  t.match(events[3], /^3 +2026-01-01 00:00:00 UTC +denied +bob\\u\{1b\}\]0;x +http +id-0001 +\{/)
  t.same(await run('audit', '--status', 'expired'), { code: 0, stdout: '', stderr: 'There is no request like that.\n' })
})

t.test('a terminal is shown how far it is, and nobody else', async (t) => {
  const { submit, dbPath, path, clock } = await reachable(t, many)
  for (let n = 0; n < 3; n++) {
    await submit({ action: `a${n}` })
    await clock.advance(1000)
  }
  const exportTo = async (output: Partial<Output>, ...words: string[]) => {
    const invocation = readInvocation(['--db-path', dbPath, 'export', ...words], {})
    if (invocation.command !== 'carry-out') throw new Error('no command')
    return carryOut(invocation.given, invocation.config, { print: () => {}, tell: () => {}, ...output })
  }
  const shown: string[] = []
  const show = (text: string) => void shown.push(text)
  const until = ['--until', '2026-01-01T00:00:04Z', '--since', '2026-01-01']
  t.equal(await exportTo({ show }, '--output', path('a.csv'), ...until), 0)
  t.match(shown[0], /^\[#{15}-{15}\] 50 %, 3 rows, \d+\.\d MB\/s$/)
  t.equal(shown.at(-1), '', 'it goes when all is there')
  t.equal(await exportTo({}, '--output', path('b.csv'), ...until), 0)
})

t.test('the program writes to standard output, with a key over HTTP, and without a service', async (t) => {
  const program = await start(t)
  await program.submit()
  await program.submit({ action: 'other' })
  const db = ['--db-path', program.dbPath]
  const key = (await runProgram(t, ['keys', 'add', '--name', 'ada', '--role', 'auditor', ...db])).stdout.trim()
  const env = { HOLDPOINT_URL: `http://127.0.0.1:${program.port}`, HOLDPOINT_KEY: key }
  const overHttp = await runProgram(t, ['export', '--format', 'csv'], env)
  t.match(overHttp, { code: 0, stderr: /^2 requests\. Nothing is missing\.$/m })
  t.equal(overHttp.stdout.split('\r\n').length, 4)
  t.match(await runProgram(t, ['audit'], { ...env, HOLDPOINT_KEY: 'hpk_wrong' }), { code: 1, stderr: /HOLDPOINT_KEY/ })
  await program.stop()
  t.match(await runProgram(t, ['export'], env), { code: 3, stdout: '' })
  const alone = await runProgram(t, ['export', '--format', 'csv', ...db])
  t.match(alone, { code: 0 })
  t.equal(alone.stdout.split('\r\n').length, 4)
})
