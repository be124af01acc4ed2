// RFC 8785, and the text whose hash an approval is bound to. It imports nothing: the server and the client share it.

/** Text in canonical form already, which `canonical` puts in its place. */
export class CanonicalText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** One text for one value, whatever the order of its keys. For what JSON.parse answers, and well-formed text. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (value instanceof CanonicalText) return value.text
  let inside = ''
  if (Array.isArray(value)) {
    for (const item of value) inside += `${inside === '' ? '' : ','}${canonical(item)}`
    return `[${inside}]`
  }
  // The default order compares UTF-16 units, as the RFC does.
  for (const key of Object.keys(value).sort()) {
    const member = `${JSON.stringify(key)}:${canonical((value as Record<string, unknown>)[key])}`
    inside += inside === '' ? member : `,${member}`
  }
  return `{${inside}}`
}

/** What the digest of a submission is over. */
export interface Digested {
  action: string
  /** In canonical form. */
  details: string
  onBehalfOf: string | null
  requester: string
  sessionKey: string
}

/**
 * The canonical form of exactly these; for whom it is done counts where somebody is named. Names are the API's own, so that
 * anybody can compute it from what was submitted.
 */
export function digestText({ action, details, onBehalfOf, requester, sessionKey }: Digested): string {
  const behalf = onBehalfOf === null ? '' : `"on_behalf_of":${JSON.stringify(onBehalfOf)},`
  return (
    // In the order of RFC 8785: sorted by name.
    `{"action":${JSON.stringify(action)},"details":${details},${behalf}` +
    `"requester":${JSON.stringify(requester)},"session_key":${JSON.stringify(sessionKey)}}`
  )
}
