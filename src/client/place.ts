// Where the service is and who asks: what was given, else HOLDPOINT_URL and HOLDPOINT_KEY.
import type { Place } from './http.js'

export interface PlaceOptions {
  /** `HOLDPOINT_URL`, or http://127.0.0.1:6000, unless it is said. */
  url?: string | undefined
  /** `HOLDPOINT_KEY`, unless it is said; null for none. */
  key?: string | null | undefined
  /** In place of a `url`: the Unix socket of a service on this machine. Then the environment is not looked at. */
  socketPath?: string | undefined
}

export const usualUrl = 'http://127.0.0.1:6000'

export function placeFrom({ url, key, socketPath }: PlaceOptions, read = fromEnvironment): Place {
  if (socketPath !== undefined) return { socketPath, key: key ?? null }
  return { url: url ?? read('HOLDPOINT_URL') ?? usualUrl, key: key === undefined ? read('HOLDPOINT_KEY') : key }
}

/** What is empty is not set. There may be no environment, or one that must not be read. */
function fromEnvironment(name: string): string | null {
  try {
    return process.env[name] || null
  } catch {
    return null
  }
}
