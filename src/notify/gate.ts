// Who may go at once, and who is next.

export interface Gate {
  /** Runs it when it is its turn, in the order of arrival. */
  pass<T>(run: () => Promise<T>): Promise<T>
}

export function createGate(width: number): Gate {
  let inside = 0
  const waiting: (() => void)[] = []

  function letIn(): void {
    if (inside >= width) return
    const next = waiting.shift()
    if (next === undefined) return
    inside += 1
    next()
  }

  return {
    async pass(run) {
      await new Promise<void>((enter) => {
        waiting.push(enter)
        letIn()
      })
      try {
        return await run()
      } finally {
        inside -= 1
        letIn()
      }
    },
  }
}
