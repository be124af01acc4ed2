// Which URLs and addresses may be called back: for every rule what it refuses, and what stands just beside it.
import fc from 'fast-check'
import t from 'tap'
import { createAddressGuard, problemWithAllowedHost, isPublic } from '../../src/notify/address.js'

const guard = createAddressGuard([])
const inside = 'must not lead to a loopback, private or otherwise special address'

const special4: [first: string, last: string][] = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
]
const special6: [first: string, last: string][] = [
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
]

const dotted = (number: number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
const numberOf = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
const hex = (number: number) => `${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`

t.test('every special range of IPv4 is refused from its first address to its last, and not beyond', async (t) => {
  for (const [first, last] of special4) {
    t.notOk(isPublic(first), first)
    t.notOk(isPublic(last), last)
    if (first !== '0.0.0.0') t.ok(isPublic(dotted(numberOf(first) - 1)), `before ${first}`)
    if (last !== '255.255.255.255') t.ok(isPublic(dotted(numberOf(last) + 1)), `after ${last}`)
  }
})

t.test('of IPv6 only what is handed out for the internet is called, without its special ranges', async (t) => {
  for (const [first, last] of special6) {
    t.notOk(isPublic(first), first)
    t.notOk(isPublic(last), last)
  }
  const open = [
    '2000::',
    '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001:200::',
    '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001:db9::',
    '2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '2003::',
    '2606:4700::6810:84e5',
    '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '3fff:1000::',
    '3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ]
  for (const address of open) t.ok(isPublic(address), address)
  const closed = [
    '::',
    '::1',
    '::7f00:1',
    '::8.8.8.8',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::1',
    '100::1',
    '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '4000::',
    '5f00::1',
    'fc00::1',
    'fd12:3456:789a::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2606:4700::1%eth0',
  ]
  for (const address of closed) t.notOk(isPublic(address), address)
})

t.test(
  'an IPv4 address inside an IPv6 one is judged as itself if it is mapped, and refused in every other form',
  (t) => {
    const addresses = fc.oneof(
      fc.integer({ min: 0, max: 0xffffffff }),
      fc.constantFrom(...special4.flat().map(numberOf)).chain((edge) => fc.constantFrom(edge - 1, edge, edge + 1)),
    )
    fc.assert(
      fc.property(addresses, (number) => {
        const address = dotted(number >>> 0)
        const verdict = isPublic(address)
        for (const mapped of [`::ffff:${address}`, `::ffff:${hex(number)}`, `0:0:0:0:0:FFFF:${hex(number)}`]) {
          if (isPublic(mapped) !== verdict) return false
        }
        return ![`::${address}`, `64:ff9b::${address}`, `2002:${hex(number)}::1`, `2001::${hex(number)}`].some(isPublic)
      }),
      { numRuns: 1000 },
    )
    t.end()
  },
)

t.test('what is no address is not public', async (t) => {
  for (const text of ['', 'example.com', '1.2.3', '8.8.8.8 ', '08.8.8.8', '[2606:4700::1]', '8.8.8.8:80']) {
    t.notOk(isPublic(text), text)
  }
})

t.test('a URL on the open internet can be called back', async (t) => {
  const urls = [
    'https://example.com/hooks?key=1#part',
    'http://example.com:8080',
    'HTTPS://EXAMPLE.COM/',
    'https://bücher.example/',
    'https://8.8.8.8/',
    'https://[2606:4700::1]:8443/',
    'https://[::ffff:8.8.8.8]/',
    'https://notlocalhost/',
    'https://localhost.example.com/',
    `https://example.com/${'x'.repeat(2028)}`,
  ]
  for (const url of urls) t.equal(guard.problemWith(url), null, url.slice(0, 60))
})

const flaws: [url: string, flaw: string][] = [
  ['', 'must be an http or https URL'],
  ['example.com/hooks', 'must be an http or https URL'],
  ['/hooks', 'must be an http or https URL'],
  ['https://', 'must be an http or https URL'],
  ['https://256.1.1.1/', 'must be an http or https URL'],
  ['https://[fe80::1%25eth0]/', 'must be an http or https URL'],
  [' https://example.com/', 'must be an http or https URL'],
  ['https://exa\tmple.com/', 'must be an http or https URL'],
  ['https://example.com/\n', 'must be an http or https URL'],
  ['https://example.com/\u0000', 'must be an http or https URL'],
  ['ftp://example.com/', 'must be an http or https URL'],
  ['file:///etc/passwd', 'must be an http or https URL'],
  ['unix:/run/docker.sock', 'must be an http or https URL'],
  ['javascript:alert(1)', 'must be an http or https URL'],
  ['https://user@example.com/', 'must not hold a user name or a password'],
  ['https://:secret@example.com/', 'must not hold a user name or a password'],
  ['https://example.com:443@8.8.8.8/', 'must not hold a user name or a password'],
  [`https://example.com/${'x'.repeat(2029)}`, 'must have at most 2048 characters'],
]
t.test('what is no plain http or https URL of a bearable length cannot be called back', async (t) => {
  for (const [url, flaw] of flaws) t.equal(guard.problemWith(url), flaw, JSON.stringify(url.slice(0, 60)))
})

const insides = [
  'http://127.0.0.1/',
  'http://127.0.0.1./',
  'http://0x7f.1/',
  'http://0x7f000001/',
  'http://2130706433/',
  'http://017700000001/',
  'http://127.1/',
  'http://%31%32%37.0.0.1/',
  'http://127。0。0。1/',
  'http://0/',
  'http://0.0.0.0/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]:8080/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[64:ff9b::8.8.8.8]/',
  'http://[2002:7f00:1::]/',
  'http://[fe80::1]/',
  'http://[fd00::1]/',
  'http://10.1.2.3/',
  'http://192.168.1.1:8080/admin',
  'https://169.254.169.254/latest/meta-data/',
  'http://localhost/',
  'http://LOCALHOST/',
  'http://ⓛocalhost/',
  'http://localhost./',
  'http://agent.localhost/',
  'http://a.b.LocalHost.:80/',
]
t.test('an address inside cannot be called back, however it is written', async (t) => {
  for (const url of insides) t.equal(guard.problemWith(url), inside, url)
})

t.test('a host that the settings name can be called back, on every port or on the one they name', async (t) => {
  const allowing = createAddressGuard(['Hooks.Localhost', 'localhost:8080', '10.0.0.5', '[::1]:9000', '127.0.0.1:443'])
  const may = [
    'http://hooks.localhost/',
    'https://HOOKS.localhost:1234/x',
    'http://localhost:8080/',
    'http://10.0.0.5:99/',
    'http://0xa.5/',
    'http://[0:0::1]:9000/',
    'https://127.0.0.1/',
    'http://127.0.0.1:443/',
  ]
  for (const url of may) t.equal(allowing.problemWith(url), null, url)
  const mayNot = [
    'http://localhost/',
    'http://localhost:8081/',
    'http://sub.hooks.localhost/',
    'http://hooks.localhost./',
    'http://10.0.0.6/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.5]/',
    'http://127.0.0.1/',
  ]
  for (const url of mayNot) t.equal(allowing.problemWith(url), inside, url)
  t.equal(allowing.problemWith('ftp://10.0.0.5/'), 'must be an http or https URL', 'the other rules stand')
  t.equal(allowing.problemWith('http://me@10.0.0.5/'), 'must not hold a user name or a password')
})

t.test('an allowed host is a host or host:port and nothing else', async (t) => {
  for (const text of [
    'hooks',
    'hooks.example.com',
    'HOOKS:80',
    '10.0.0.5',
    '10.0.0.5:65535',
    '[::1]',
    '[fd00::5]:443',
  ]) {
    t.equal(problemWithAllowedHost(text), null, text)
  }
  const wrong = [
    '',
    ' hooks',
    'http://hooks',
    'hooks/path',
    'hooks:',
    'hooks:http',
    'hooks:65536',
    'me@hooks',
    '*.example.com',
    '10.0.0.0/8',
    '10.0.0.256',
    '::1',
    '[::1',
    '[fe80::1%eth0]',
    'a,b c',
  ]
  for (const text of wrong) {
    t.equal(problemWithAllowedHost(text), 'must be a host or host:port, an IPv6 address in brackets', text)
    t.throws(() => createAddressGuard(['hooks', text]), { message: /must be a host or host:port/ }, text)
  }
})

t.test('what cannot be called, or reads as something else than it is, is refused', async (t) => {
  const { problemWith } = createAddressGuard([])
  for (const url of [
    'http:example.com',
    'http:/example.com',
    'http:\\\\example.com',
    'https://example.com\\@evil.example',
    'http:///example.com',
    'http://example.com:0/',
    'http://example..com/',
    'http://127.0.0.1../',
    'http://localhost../',
    `http://${'a'.repeat(64)}.example/`,
    `http://${'a.'.repeat(150)}example/`,
  ]) {
    t.type(problemWith(url), 'string', url)
  }
  t.equal(problemWith(`https://${'a'.repeat(63)}.example:8443/hook?x=y`), null)
})
