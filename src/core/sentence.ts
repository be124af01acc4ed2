// A text that another sentence follows.

export function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
