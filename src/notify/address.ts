// Which addresses may be called back. Agents choose the URL, so whatever is not the open internet is out of bounds,
// unless the settings allow the host by name.
import { BlockList, isIP } from 'node:net'

/** What common servers and proxies still take as a URL. */
const maxLength = 2048

// IANA's special-purpose registry, and everything from multicast up.
const special4 = listOf('ipv4', [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // behind a carrier's NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, and the metadata of clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
])
// The only part of IPv6 that is handed out for the internet; loopback, ULA, link-local and NAT64 lie outside.
const global6 = listOf('ipv6', ['2000::/3'])
const special6 = listOf('ipv6', [
  '2001::/23', // protocol assignments; Teredo holds an IPv4 address
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which holds an IPv4 address
  '3fff::/20', // documentation
])
const mapped4 = listOf('ipv6', ['::ffff:0:0/96'])

/** Whether this is one machine on the open internet. */
export function isPublic(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special4.check(address, 'ipv4')
    case 6:
      // A zone names one of this machine's own networks.
      if (address.includes('%')) return false
      if (mapped4.check(address, 'ipv6')) return !special4.check(address, 'ipv6')
      return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6')
    default:
      return false
  }
}

export interface AddressGuard {
  /** Why this cannot be called back ("must …"), or null. A name is not resolved here: what it leads to is judged later. */
  problemWith(url: string): string | null
  /** Whether the settings name this host, so that its address is not checked. */
  isAllowed(url: URL): boolean
}

/** `allowedHosts`: `host` for every port of it, or `host:port`. Throws if one is neither. */
export function createAddressGuard(allowedHosts: string[]): AddressGuard {
  const allowed = new Set(
    allowedHosts.map((text) => {
      const place = readPlace(text)
      if (place === null) throw new Error(`the allowed host ${JSON.stringify(text)} ${notAPlace}`)
      return place
    }),
  )

  function isAllowed(url: URL): boolean {
    return allowed.has(url.hostname) || allowed.has(`${url.hostname}:${portOf(url)}`)
  }

  return {
    isAllowed,

    problemWith(text) {
      if (text.length > maxLength) return `must have at most ${maxLength} characters`
      // The parser drops some of these in silence; a person who reads the URL should see what is called.
      if (/[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return 'must be an http or https URL'
      const url = new URL(text)
      // Written out: the parser also takes http:host and backslashes, which people read as something else.
      if (!/^https?:\/\/[^/\\]/i.test(text) || text.includes('\\')) return 'must be an http or https URL'
      if (url.port === '0' || !isHostName(url.hostname)) return 'must name a host and a port that can be called'
      if (url.username !== '' || url.password !== '') return 'must not hold a user name or a password'
      if (isAllowed(url)) return null
      const host = hostOf(url).replace(/\.+$/, '')
      const isInside = isIP(host) === 0 ? /(^|\.)localhost$/.test(host) : !isPublic(host)
      return isInside ? 'must not lead to a loopback, private or otherwise special address' : null
    },
  }
}

/** What is wrong with one of the allowed hosts ("must …"), or null. */
export function problemWithAllowedHost(text: string): string | null {
  return readPlace(text) === null ? notAPlace : null
}

const notAPlace = 'must be a host or host:port, an IPv6 address in brackets'

/** DNS knows no longer names, and none with nothing between two dots. */
function isHostName(hostname: string): boolean {
  const labels = hostname.replace(/\.$/, '').split('.')
  return hostname.length <= 255 && labels.every((label) => label.length >= 1 && label.length <= 63)
}

/** A host, with its port if it has one, as a URL's parser writes it. */
function readPlace(text: string): string | null {
  const [, host, port] = /^(\[[\da-f:.]+\]|[^\s:/?#@[\]\\*%]+)(?::(\d{1,5}))?$/i.exec(text) ?? []
  if (host === undefined || !URL.canParse(`http://${host}`) || Number(port ?? 1) > 65535) return null
  const { hostname } = new URL(`http://${host}`)
  return port === undefined ? hostname : `${hostname}:${Number(port)}`
}

/** The name or the address, which a URL keeps in brackets if it is IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

export function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}

function listOf(family: 'ipv4' | 'ipv6', subnets: string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [first, bits] = subnet.split('/') as [string, string]
    list.addSubnet(first, Number(bits), family)
  }
  return list
}
