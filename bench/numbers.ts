// How many measurements become one figure.

/** Of values in any order; NaN when there are none. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Neighbouring rounds share the machine's mood, so each pair is compared by itself. */
export function ratioOf(ones: readonly number[], others: readonly number[]): number {
  return median(ones.map((one, round) => one / others[round]!))
}
