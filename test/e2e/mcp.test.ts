// `holdpoint mcp` as hosts start it: a process of its own, spoken to on its standard input and output.
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import { temporaryFolder, until } from '../support.js'
import { run, serverFile, start } from './program.js'

const ask = { action: 'refund', description: 'Refund an order', details: { order: 4711 } }

/** Lines in, lines out. */
function speak(t: Test, args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [serverFile, 'mcp', ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: temporaryFolder(t), ...env },
  })
  t.teardown(() => child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const lines = () =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, any>)
  return {
    exited,
    end: () => child.stdin.end(),
    stderr: () => err,
    lines,
    send: (message: object | string) =>
      child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    async answer(id: number) {
      await until(() => lines().some((line) => line.id === id))
      return lines().find((line) => line.id === id)!
    },
  }
}

const clientInfo = { name: 'test', version: '1' }
const initialize = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
}
const toolCall = (id: number, name: string, given: object) => ({
  id,
  method: 'tools/call',
  params: { name, arguments: given },
})

t.test('a host starts it, and an agent acts on an approval, in both eras', async (t) => {
  const { call, port } = await start(t)
  for (const mode of ['legacy' as const, { pin: '2026-07-28' }]) {
    const client = new Client(clientInfo, { versionNegotiation: { mode } })
    const env = { PATH: process.env.PATH ?? '', HOME: temporaryFolder(t), HOLDPOINT_URL: `http://127.0.0.1:${port}` }
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [serverFile, 'mcp'], env }))
    const asking = client.callTool({ name: 'request_approval', arguments: ask })
    let id = ''
    await until(async () => (id = (await call('GET', '/confirm?status=pending')).body.confirmations[0]?.id))
    await call('POST', `/confirm/${id}/approve`)
    t.match(await asking, { structuredContent: { status: 'approved', id } })
    const { action, details } = ask
    const claim = await client.callTool({ name: 'claim_approval', arguments: { id, action, details } })
    t.match(claim, { structuredContent: { may_act: true } })
    await client.close()
  }
})

t.test('nothing but the protocol goes to its output, and it ends with its input; what it asked stands', async (t) => {
  const { call, port } = await start(t)
  const host = speak(t, ['--url', `http://127.0.0.1:${port}`])
  host.send('this is no message')
  host.send('{"jsonrpc":"2.0"}')
  host.send(initialize)
  host.send({ method: 'notifications/initialized' })
  t.match(await host.answer(1), { result: { serverInfo: { name: 'holdpoint' } } })
  host.send(toolCall(2, 'request_approval', ask))
  await until(async () => (await call('GET', '/confirm?status=pending')).body.count === 1)
  host.end()
  t.equal(await host.exited, 0)
  t.same(
    host.lines().map(({ jsonrpc }) => jsonrpc),
    ['2.0'],
  )
  t.equal(host.stderr(), 'The host sent a line that is no message of MCP. It gets no answer.\n')
  t.equal((await call('GET', '/confirm?status=pending')).body.count, 1)
})

t.test('the key comes from a file or the environment, and what goes wrong with that is told to people', async (t) => {
  const { call, port } = await start(t)
  const { key: root } = (await call('POST', '/keys', { name: 'root', role: 'admin' })).body
  const { key: secret } = (
    await call('POST', '/keys', { name: 'bot', role: 'agent' }, { authorization: `Bearer ${root}` })
  ).body
  const file = join(temporaryFolder(t), 'key')
  writeFileSync(file, `${secret}\n`)
  chmodSync(file, 0o600)
  const url = `http://127.0.0.1:${port}`
  const given: [string[], Record<string, string>, object][] = [
    [['--url', url, '--key-file', file], {}, { code: 'not_found' }],
    [[], { HOLDPOINT_URL: url, HOLDPOINT_KEY: secret }, { code: 'not_found' }],
    [['--url', url], {}, { code: 'unauthorized' }],
  ]
  for (const [args, env, expected] of given) {
    const host = speak(t, args, env)
    host.send(initialize)
    host.send(toolCall(2, 'wait_for_decision', { id: 'none' }))
    t.match((await host.answer(2)).result.structuredContent, { ...expected, may_act: false })
    host.end()
    t.equal(await host.exited, 0)
    t.equal(host.stderr(), '')
  }
  t.match(await run(t, ['mcp', '--url', 'ftp://x']), { code: 2, stdout: '', stderr: /--url/ })
  t.match(await run(t, ['mcp', '--key-file', '/nothing']), { code: 1, stdout: '', stderr: /The key cannot be read/ })
})
