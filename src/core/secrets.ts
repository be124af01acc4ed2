// What looks like a secret in a text that others wrote: keys, tokens, passwords in URLs. Chats do not show it. What is no
// secret and often stands in requests is spared: hashes of commits, digests, ids.

export const maskedSecret = '[masked]'

/** Behind these names stands a secret. */
const secretName = String.raw`[\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization|cookie|pwd|passcode|(?<![a-z])pass)s?`

/** Each begins anew no more often than some hundred times for a character: others wrote the text. */
const patterns: [pattern: RegExp, replacement: string][] = [
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g, maskedSecret],
  // A user and a password in a URL.
  // It may hold an @ of its own, so that the last one ends it.
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>/?#@:]{0,100}:)[^\s"'<>/?#]{1,400}(?=@)/gi, `$1${maskedSecret}`],
  // A token that stands there alone, which is longer than names of users are.
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"'<>/?#@:]{16,400}(?=@)/gi, `$1${maskedSecret}`],
  // A parameter of a URL.
  [new RegExp(String.raw`([?&]${secretName}=)[^\s"'&#<>]{1,400}`, 'gi'), `$1${maskedSecret}`],
  [/([?&](?:sig|signature|key|auth|x-amz-signature)=)[^\s"'&#<>]{8,400}/gi, `$1${maskedSecret}`],
  // Behind the name of a scheme, which would be taken for the value.
  [/\b((?:Bearer|Basic)\s+)[\w+/=.~-]{8,}/gi, `$1${maskedSecret}`],
  [/(\bauthorization\s{0,2}[=:]\s{0,2}\w{1,30}\s{1,3})(?!\[masked\])[\w+/=.~:-]{8,400}/gi, `$1${maskedSecret}`],
  // Of several cookies each.
  [/(\bcookie:\s{0,2})[^\s"'\\;=]{1,100}=[^\n"'\\]{1,1000}/gi, `$1${maskedSecret}`],
  // Of a command, as one text or as a list of words.
  [
    new RegExp(String.raw`(--${secretName}(?:\s{1,3}|\\*["']\s{0,3},\s{0,3})\\*["']?)(?!-)[^\s"'\\]{4,400}`, 'gi'),
    `$1${maskedSecret}`,
  ],
  [/(\bcurl\b[^\n]{0,300}?\s(?:-u|--user)\s{0,2}\\*["']?[^\s"'\\:]{1,100}:)[^\s"'\\]{1,400}/gi, `$1${maskedSecret}`],
  // A member of JSON, also of JSON in JSON; a list of them; and an assignment.
  [
    new RegExp(String.raw`((?<![\w.-])\\*["']${secretName}\\*["']\s{0,3}:\s{0,3}\\*["'])((?:[^"'\\]|\\[^"'])+)`, 'gi'),
    `$1${maskedSecret}`,
  ],
  [
    new RegExp(String.raw`((?<![\w.-])\\*["']${secretName}\\*["']\s{0,3}:\s{0,3}\[)\s{0,3}\\*["'][^\]]{1,2000}`, 'gi'),
    `$1${maskedSecret}`,
  ],
  [
    new RegExp(
      String.raw`((?<![\w.-])${secretName}\s{0,2}[=:]\s{0,2}["']?)(?!\[masked\]|\w{1,30}\s{1,3}\[masked\])[^\s"'\\,;&}{[\]]{6,400}`,
      'gi',
    ),
    `$1${maskedSecret}`,
  ],
  // Keys that show what they are.
  [
    /(?<![A-Za-z0-9])(?:hpk_\w{8,}|whsec_[\w+/=-]{8,}|sk-[\w-]{16,}|(?:sk|rk|pk)_(?:live|test)_\w{8,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{12,}|xox[abeprs]-[\w-]{8,}|xapp-[\w-]{8,}|npm_\w{20,}|pypi-[\w-]{16,}|AKIA[A-Z0-9]{12,}|ASIA[A-Z0-9]{12,}|AIza[\w-]{20,}|ya29\.[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|hvs\.[\w-]{16,}|dop_v1_\w{16,}|AGE-SECRET-KEY-[A-Z0-9]{16,})/g,
    maskedSecret,
  ],
  // A signed token, a bot of Telegram, a bot of Discord.
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]{0,}/g, maskedSecret],
  [/(?<!\d)\d{6,12}:[\w-]{30,}/g, maskedSecret],
  [/(?<![\w-])[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,}/g, maskedSecret],
]

/** The same text where nothing looks like one. */
export function maskSecrets(text: string): string {
  return patterns.reduce((left, [pattern, replacement]) => left.replace(pattern, replacement), text)
}
