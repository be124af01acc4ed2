// How much is measured: the whole takes ten minutes at most, the short form one.

export interface Size {
  isShort: boolean
  rounds: number
  /** A round's. */
  seconds: number
  /** On a terminal, what is going on. */
  progress: (text: string) => void
  /** Sentences that stand below the table. */
  leftOut: string[]
}

export function sizeOf(isShort: boolean): Size {
  const common = { isShort, progress: () => {}, leftOut: [] }
  return isShort ? { ...common, rounds: 2, seconds: 0.8 } : { ...common, rounds: 5, seconds: 2 }
}
