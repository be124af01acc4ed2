// Where the service may be open, so that everyone may do everything until there is a key.
import type { Config } from './schemas.js'

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  return bare === 'localhost' || bare === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(bare)
}

/** Whether it is open until the first key: nowhere that others can reach. */
export function mayBeOpen({ host, auth }: Config): boolean {
  return auth === 'auto' && isLoopback(host)
}
