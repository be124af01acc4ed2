// How often what is random is tried: as often as a file says, or by the variable ROUNDS so many times that.

const times = Number(process.env.ROUNDS ?? 1)

export function rounds(usual: number): { numRuns: number } {
  return { numRuns: usual * times }
}
