// What is pressed, from the bytes that a terminal sends (pure). What is pasted is no key: it decides nothing.

export type KeyName =
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'pageup'
  | 'pagedown'
  | 'home'
  | 'end'
  | 'enter'
  | 'escape'
  | 'backspace'
  | 'delete'
  | 'tab'
  | 'ctrl-c'
  | 'ctrl-d'
  | 'ctrl-l'
  | 'ctrl-u'
  | 'ctrl-w'
  | 'ctrl-z'

export type Key = { name: KeyName } | { name: 'text'; text: string } | { name: 'paste'; text: string }

const controls: Partial<Record<string, KeyName>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x01': 'home',
  '\x03': 'ctrl-c',
  '\x04': 'ctrl-d',
  '\x05': 'end',
  '\x0c': 'ctrl-l',
  '\x15': 'ctrl-u',
  '\x17': 'ctrl-w',
  '\x1a': 'ctrl-z',
}

/** By what ends a sequence, and by the number in those that end with a tilde. */
const letters: Partial<Record<string, KeyName>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
}
const numbers: Partial<Record<string, KeyName>> = {
  1: 'home',
  3: 'delete',
  4: 'end',
  5: 'pageup',
  6: 'pagedown',
  7: 'home',
  8: 'end',
}

const escape = '\x1b'
const pasteBegins = '\x1b[200~'
const pasteEnds = '\x1b[201~'
const sequence = /^\x1b(?:\[([0-9;<=>?]*)[ -/]*([@-~])|O(.))/
/** As much of one as may be there so far. */
const beginning = /^\x1b(?:\[[0-9;<=>?]*[ -/]*|O)?$/
/** What is pasted beyond it is dropped. */
const mostPasted = 100_000

export interface KeyReader {
  read(text: string): Key[]
  /** Whether an escape may be a key, or the beginning of one. */
  isOpen(): boolean
  /** No more came: then it was a key. */
  settle(): Key[]
}

export function createKeyReader(): KeyReader {
  let rest = ''
  let pasted: string | null = null

  function take(): Key[] {
    const keys: Key[] = []
    while (rest !== '') {
      if (pasted !== null) {
        const end = rest.indexOf(pasteEnds)
        // The end itself may be cut in two.
        const sure = end === -1 ? Math.max(0, rest.length - pasteEnds.length + 1) : end
        pasted = (pasted + rest.slice(0, sure)).slice(0, mostPasted)
        rest = rest.slice(sure)
        if (end === -1) return keys
        rest = rest.slice(pasteEnds.length)
        keys.push({ name: 'paste', text: pasted })
        pasted = null
      } else if (rest.startsWith(pasteBegins)) {
        rest = rest.slice(pasteBegins.length)
        pasted = ''
      } else if (rest[0] === escape) {
        if (rest[1] === escape) {
          keys.push({ name: 'escape' })
          rest = rest.slice(1)
          continue
        }
        if (beginning.test(rest)) return keys
        const found = sequence.exec(rest)
        // Alt and a key: neither is one of ours.
        const length = found?.[0].length ?? 1 + String.fromCodePoint(rest.codePointAt(1)!).length
        const name = found === null ? undefined : nameOf(found)
        if (name !== undefined) keys.push({ name })
        rest = rest.slice(length)
      } else {
        const character = String.fromCodePoint(rest.codePointAt(0)!)
        const name = controls[character]
        if (name !== undefined) keys.push({ name })
        else if (!/[\x00-\x1f\x80-\x9f]/.test(character)) keys.push({ name: 'text', text: character })
        rest = rest.slice(character.length)
      }
    }
    return keys
  }

  return {
    read(text) {
      rest += text
      return take()
    },
    isOpen: () => pasted === null && rest !== '',
    settle() {
      if (pasted !== null || rest === '') return []
      rest = ''
      return [{ name: 'escape' }]
    },
  }
}

function nameOf([, parameters = '', final = '', single]: RegExpExecArray): KeyName | undefined {
  if (single !== undefined) return letters[single]
  return final === '~' ? numbers[parameters.split(';')[0]!] : letters[final]
}
