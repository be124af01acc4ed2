// Text that agents wrote, made safe to show to people: nothing invisible, nothing that reorders, nothing unbounded.

// C0 and C1 controls, zero-width, blank and bidirectional marks, line separators, fillers, tag characters, lone
// surrogates; joiners only beside ASCII, because emoji and many scripts need them.
const invisible = new RegExp(
  [
    '[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad]',
    '[\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb]',
    '[\\u{e0000}-\\u{e0fff}]',
    '\\p{Cs}',
    '(?<=[ -~])[\\u200c\\u200d]|[\\u200c\\u200d](?=[ -~])',
  ].join('|'),
  'gu',
)

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
