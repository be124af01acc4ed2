// Text that agents wrote, made safe to show to people: nothing invisible, nothing that reorders, nothing unbounded.

// Controls, format characters (bidirectional ones among them), whatever is drawn as nothing, lone surrogates. Joiners and
// variation selectors only beside ASCII, because emoji and many scripts need them.
const invisible =
  /(?![\n\t])\p{Cc}|\p{Cs}|[\u2028\u2029\u2800]|(?![\u200c\u200d\ufe0e\ufe0f])[\p{Cf}\p{DI}]|(?<=[ -~])[\u200c\u200d\ufe0e\ufe0f]|[\u200c\u200d](?=[ -~])/gu

/** Writes each control, zero-width and bidirectional character as \u{hex}; newlines and tabs stay. */
export function visible(text: string): string {
  return text.replace(invisible, escapeCharacter)
}

/** The same on one line: newlines and tabs are written out too. */
export function visibleLine(text: string): string {
  return visible(text).replace(/[\n\t]/g, escapeCharacter)
}

/** Cuts to at most `limit` UTF-16 units, never inside a character, with a mark that says how much is missing. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const mark = (missing: number) => `… [cut: ${missing} more characters]`
  let end = Math.max(0, limit - mark(text.length).length)
  const last = text.charCodeAt(end - 1)
  if (last >= 0xd800 && last <= 0xdbff) end -= 1
  return text.slice(0, end) + mark(text.length - end)
}

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n'
  if (character === '\t') return '\\t'
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}

// Letters of other scripts that are drawn like ASCII ones.
const lookAlikes = new Map(
  [...'аaеeоoрpсcхxуyіiѕsјjԁdӏlһhкkмmтtвbнhαaεeοoρpτtυuνvιiκkɑaɡgıi'].reduce<[string, string][]>(
    (pairs, letter, index, all) => (index % 2 === 0 ? [...pairs, [letter, all[index + 1]!]] : pairs),
    [],
  ),
)

/** What a name comes down to when case, accents, width, separators, invisible marks and look-alikes are ignored. */
export function skeleton(name: string): string {
  const bare = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\p{M}\p{C}\p{DI}\p{Z}\p{P}\p{S}]/gu, '')
  return [...bare].map((letter) => lookAlikes.get(letter) ?? letter).join('')
}
