// The usual submission, read without its schema. What this takes is exactly what the schema makes of it, which a property test
// holds it to; whatever is not usual is left to the schema, and so is saying what is wrong.
import type { z } from 'zod'
import { problemWithDetails, type submitBody, maxName } from './requests.js'

/** Visible ASCII and spaces, not at the ends: nothing to trim, nothing to look at twice. */
const plainText = /^[!-~](?:[ -~]*[!-~])?$/
/** A name with a colon may be one of the service's own. */
const plainName = /^[ -9;-~]*$/

export function readUsual(body: unknown): z.output<typeof submitBody> | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null
  const found: Partial<z.output<typeof submitBody>> = {}
  for (const [name, value] of Object.entries(body)) {
    switch (name) {
      case 'action':
        if (typeof value !== 'string' || value.length > maxName || !plainText.test(value)) return null
        found.action = value
        break
      case 'description':
        if (typeof value !== 'string' || !plainText.test(value)) return null
        found.description = value
        break
      case 'details':
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
        if (problemWithDetails(value as Record<string, unknown>) !== null) return null
        found.details = value as Record<string, unknown>
        break
      case 'requester':
      case 'session_key':
        if (typeof value !== 'string' || value.length > maxName) return null
        if (!(name === 'requester' ? plainName : plainText).test(value)) return null
        found[name] = value
        break
      case 'timeout_seconds':
        if (typeof value !== 'number') return null
        found.timeout_seconds = value
        break
      default:
        return null
    }
  }
  const { action, description, details = {}, requester, session_key = '', timeout_seconds = null } = found
  if (action === undefined || description === undefined) return null
  return { action, description, details, requester, session_key, timeout_seconds } as z.output<typeof submitBody>
}
