// A command as hosts keep it, as text for a shell: made of words, and read back into them.
import { quote } from '../../program.js'

export function shellText(words: readonly string[]): string {
  return words.map(quote).join(' ')
}

/** The words of one plain command; null where a shell would do more than to call it. */
export function wordsOf(text: string): string[] | null {
  const words: string[] = []
  let rest = text.trim()
  while (rest !== '') {
    const word = /^(?:[\w@%+=:,./~^-]|\\[^\n]|'[^']*'|"(?:[^"\\$`]|\\.)*")+/.exec(rest)?.[0]
    if (word === undefined) return null
    words.push(bare(word))
    const gap = /^[ \t]+|^$/.exec(rest.slice(word.length))
    if (gap === null) return null
    rest = rest.slice(word.length + gap[0].length)
  }
  return words
}

function bare(word: string): string {
  return word.replace(
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
  )
}

/** What stands behind a flag, as `--url URL` or `--url=URL`. */
export function valueOf(words: readonly string[], flag: string): string | undefined {
  const at = words.indexOf(`--${flag}`)
  if (at >= 0) return words[at + 1]
  return words.find((word) => word.startsWith(`--${flag}=`))?.slice(flag.length + 3)
}
