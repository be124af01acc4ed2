// From a host's name to its addresses.
import { promises as dns } from 'node:dns'

export type Lookup = (host: string, signal: AbortSignal) => Promise<string[]>

/**
 * Asks DNS itself, for names that agents choose. That can be called off, finds nothing that only this machine or its
 * search domain knows, and takes none of the few threads that the system's lookups share: slow names block nobody.
 */
export async function resolveName(
  host: string,
  signal: AbortSignal,
  resolver: dns.Resolver = new dns.Resolver(),
): Promise<string[]> {
  signal.addEventListener('abort', () => resolver.cancel(), { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const failure = answers.find((answer) => answer.status === 'rejected')
  if (addresses.length === 0 && failure !== undefined) throw failure.reason
  return addresses
}

/** Asks the system, /etc/hosts included, for names that stand in the settings. */
export async function lookUpName(host: string): Promise<string[]> {
  return (await dns.lookup(host, { all: true })).map(({ address }) => address)
}
