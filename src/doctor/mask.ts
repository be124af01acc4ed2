// What may be a secret, taken out of a text: what is known to be one, and whatever looks like one.

export type Mask = (text: string) => string

export const masked = '[masked]'

/** In the place of a piece of text. */
type Take = (piece: string) => string

/** From how many characters that are no words on something counts as a secret. Less is enough in the settings. */
const least = { anywhere: 12, inSettings: 8 }

/** Shorter ones would take words out of sentences. */
const leastKnown = 4

/** `known`: what is a secret wherever it stands. `spared`: what looks like one, and is none. */
export function createMask(known: Iterable<string>, spared: Iterable<string> = []): Mask {
  const texts = [...new Set([...known].flatMap(spellings))].sort((a, b) => b.length - a.length)
  // At once, so that no secret is found in what stands for another.
  const isKnown = texts.length === 0 ? null : new RegExp(texts.map(escapePattern).join('|'), 'gi')
  const harmless = new Set(spared)
  return (text) => {
    const without = isKnown === null ? text : text.replace(isKnown, masked)
    return takeOut(without, least.anywhere, (piece) => (harmless.has(piece) ? piece : masked))
  }
}

/** The same for the value of a setting, which a secret may stand in by mistake. */
export function maskSetting(value: string): string {
  return takeOut(value, least.inSettings, () => masked)
}

/** What looks like a secret in the value of a setting. */
export function secretsIn(value: string): string[] {
  const found: string[] = []
  takeOut(value, least.inSettings, (piece) => {
    // Of a user and a password, the password also by itself.
    found.push(piece, ...(/^[^:]*:(.+)$/s.exec(piece)?.slice(1) ?? []))
    return masked
  })
  return found
}

/** As it may stand in a URL or in JSON. */
function spellings(secret: string): string[] {
  const trimmed = secret.trim()
  if (trimmed.length < leastKnown) return []
  return [trimmed, encodeURIComponent(trimmed.toWellFormed()), JSON.stringify(trimmed).slice(1, -1)]
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** What a name says about the value behind it. */
const secretName = String.raw`[\w.-]{0,40}(?:passw|passphrase|secret|token|api_?-?key|credential|authorization|private_?-?key|cookie)[\w.-]{0,40}`
/** Also as JSON spells them that stands in JSON. */
const quoteMark = String.raw`\\*["']`
const assigned = new RegExp(String.raw`(\b${secretName}(?:${quoteMark})?\s?=\s?)([^\s"'\\,;&}]{1,400})`, 'gi')
const quoted = new RegExp(String.raw`(\b${secretName}(?:${quoteMark})?\s?=\s?${quoteMark})([^"'\\]{1,400})`, 'gi')
const member = new RegExp(
  String.raw`(${quoteMark}${secretName}${quoteMark}\s?:\s?${quoteMark})([^]{1,4000}?)(?=${quoteMark}\s?[,}\]]|$)`,
  'gi',
)

/** Others wrote the text: no pattern begins anew more often than some hundred times for a character. */
function takeOut(text: string, leastRun: number, take: Take): string {
  const once: Take = (piece) => (piece === '' || piece === masked ? piece : take(piece))
  const behind = (pattern: RegExp) => (whole: string) =>
    whole.replace(pattern, (_, head: string, piece: string) => `${head}${once(piece)}`)
  const steps: ((text: string) => string)[] = [
    (one) => one.replace(/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^]*?(?:-----END|$)/g, once),
    (one) =>
      one.replace(
        /\b([a-z][a-z0-9+.-]{0,20}:\/\/)([^\s"'<>`\\]+)/gi,
        (_, scheme: string, rest: string) => `${scheme}${maskUrl(rest, once)}`,
      ),
    // A user and a password without a scheme, and what stands in a query.
    behind(/(^|[^\w.@/-])([\w.%+-]{1,64}:[^\s"'<>@:/]{1,200})(?=@\S)/g),
    behind(/([?&][\w.[\]-]{1,64}=)([^\s"'&<>]+)/g),
    behind(member),
    behind(quoted),
    behind(assigned),
    behind(/(\b(?:Bearer|Basic)\s)([^\s"',;]{6,})/gi),
    (one) => one.replace(/\bhpk_\w+|\bwhsec_[\w+/=-]+/gi, once),
    // A bot of Telegram, a bot of Discord, a signed token.
    (one) => one.replace(/\d{5,20}(?::|%3A)[\w-]{6,}/gi, once),
    (one) =>
      one.replace(/[\w-]{10,200}\.[\w-]{4,200}\.[\w-]{10,200}/g, (dotted) =>
        dotted.split('.').every((part) => oddIn(part) === 0) ? dotted : once(dotted),
      ),
    (one) => maskRuns(one, leastRun, once),
  ]
  return steps.reduce((left, step) => step(left), text)
}

/** What stands behind a scheme: no user, no query, and of the path nothing that is a secret in one. */
function maskUrl(text: string, take: Take): string {
  const rest = trimEnd(text)
  const [, authority = '', path = '', query, fragment] = /^([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(rest) ?? []
  const at = authority.lastIndexOf('@')
  const place = authority.slice(at + 1)
  // A password with a slash in it.
  if (!/^(?:\[[^\]]*\]|[^:]*)(?::\d{0,5})?$/.test(place)) return take(rest) + text.slice(rest.length)
  const way = path
    .replace(
      /(\/(?:webhooks?|hooks|services|link|signin)\/)(.+)$/is,
      (_, head: string, end: string) => head + take(end),
    )
    .replace(/(\/bot)([^/]*(?::|%3A)[^/]*)/i, (_, head: string, token: string) => head + take(token))
  return [
    at === -1 ? '' : `${take(authority.slice(0, at))}@`,
    place,
    way,
    query === undefined ? '' : `?${take(query)}`,
    fragment === undefined ? '' : `#${take(fragment)}`,
    text.slice(rest.length),
  ].join('')
}

/** Without what ends the sentence that a URL stands in. */
function trimEnd(url: string): string {
  let end = url.length
  while (end > 0 && '.,;:!?)]}'.includes(url[end - 1]!) && !url.slice(0, end).endsWith(masked)) end -= 1
  return url.slice(0, end)
}

/** Runs of letters and digits that are no words. What begins with a slash or a plain word is a path, and the rest of it is shown. */
function maskRuns(text: string, leastRun: number, take: Take): string {
  return text.replace(/[A-Za-z0-9_+/=%-]{8,}/g, (run) => {
    const segments = run.split('/')
    const isOdd = (segment: string) => oddIn(segment) > 0 && !(leastRun === least.anywhere && isOwn(segment))
    const odd = segments.filter(isOdd)
    if (odd.reduce((sum, one) => sum + oddIn(one), 0) < leastRun) return run
    if (!/^(?:[a-z]{1,16}|\d{1,5})?\//.test(run)) return take(run)
    return segments.map((segment) => (isOdd(segment) ? take(segment) : segment)).join('/')
  })
}

/** The id of a confirmation, the id of a key, the beginning of a digest: the log has them, and they open nothing. */
function isOwn(text: string): boolean {
  return (
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text) ||
    /^(?:[0-9a-f]{12}|[0-9a-f]{16})$/.test(text)
  )
}

/** How many characters are neither words nor numbers. */
function oddIn(text: string): number {
  return text.split(/[_+=%-]+/).reduce((sum, part) => sum + (isWord(part) ? 0 : part.length), 0)
}

function isWord(part: string): boolean {
  if (/^\d{0,20}$/.test(part)) return true
  const isSpelt = /^(?:[a-z]{1,16}|[A-Z]{1,16}|[A-Z][a-z]{1,15}|[a-z]{2,12}(?:[A-Z][a-z]{2,12}){1,3})\d{0,4}$/.test(
    part,
  )
  return isSpelt && !/[bcdfghjklmnpqrstvwxz]{6}/i.test(part)
}
