// Names and their addresses, asked of a DNS server in this process.
import { promises as dns } from 'node:dns'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { lookUpName, resolveName } from '../../src/notify/names.js'

const go = new AbortController().signal
const noSuchName = 3

/** Answers from the table: addresses by name and type, an empty list for none of this type; other names do not exist. */
async function startDns(t: Test, table: Record<string, { A?: string[]; AAAA?: string[] }>) {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (message, from) => {
    const labels: string[] = []
    let end = 12
    for (; message[end] !== 0; end += message[end]! + 1) {
      labels.push(message.toString('latin1', end + 1, end + 1 + message[end]!))
    }
    const name = labels.join('.').toLowerCase()
    const type = message.readUInt16BE(end + 1) === 1 ? 'A' : 'AAAA'
    asked.push(`${type} ${name}`)
    if (name === 'silent.example') return
    const found = table[name]?.[type] ?? []
    const header = Buffer.alloc(12)
    message.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8180 | (name in table ? 0 : noSuchName), 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(found.length, 6)
    const records = found.map((address) => {
      const bytes =
        type === 'A'
          ? Buffer.from(address.split('.').map(Number))
          : Buffer.from(address.replaceAll(':', '').padStart(32, '0'), 'hex')
      // The question's name again, the type, class IN, no time to live, the length.
      const start = Buffer.from([0xc0, 12, 0, type === 'A' ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, bytes.length])
      return Buffer.concat([start, bytes])
    })
    socket.send(Buffer.concat([header, message.subarray(12, end + 5), ...records]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  const resolver = new dns.Resolver()
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return { resolver, asked }
}

t.test('a name has all its addresses, of both families', async (t) => {
  const { resolver } = await startDns(t, {
    'both.example': { A: ['8.8.8.8', '10.0.0.1'], AAAA: ['2606:4700:0000:0000:0000:0000:0000:0001'] },
    'four.example': { A: ['8.8.4.4'] },
    'six.example': { AAAA: ['0000:0000:0000:0000:0000:0000:0000:0001'] },
  })
  t.same(await resolveName('both.example', go, resolver), ['8.8.8.8', '10.0.0.1', '2606:4700::1'])
  t.same(await resolveName('four.example', go, resolver), ['8.8.4.4'])
  t.same(await resolveName('six.example', go, resolver), ['::1'])
})

t.test('a name without an address is an error with its code', async (t) => {
  const { resolver } = await startDns(t, { 'empty.example': {} })
  await t.rejects(resolveName('empty.example', go, resolver), { code: 'ENODATA' })
  await t.rejects(resolveName('nobody.example', go, resolver), { code: 'ENOTFOUND' })
})

t.test('a question that nobody answers can be called off', async (t) => {
  const { resolver, asked } = await startDns(t, {})
  const stop = new AbortController()
  const asking = resolveName('silent.example', stop.signal, resolver)
  stop.abort()
  await t.rejects(asking, { code: 'ECANCELLED' })
  t.ok(asked.length <= 2, 'and is not asked again')
})

t.test('the system knows names that DNS does not', async (t) => {
  const addresses = await lookUpName('localhost')
  t.ok(addresses.length > 0)
  for (const address of addresses) t.match(address, /^(127\.0\.0\.1|::1)$/)
})
