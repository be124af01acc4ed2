// Where a command's words go, and the error that ends one.
import { createInterface } from 'node:readline'

/** The command cannot be carried out; the message says why. */
export class CommandRefused extends Error {
  override name = 'CommandRefused'
  /** What the service answered, where it was that which refused. */
  readonly problem: Problem | null

  constructor(message: string, problem: Problem | null = null) {
    super(message)
    this.problem = problem
  }
}

/** As much of a problem as commands look at. */
export interface Problem {
  code?: string
  requesters?: string[]
}

/** What was asked for goes one way, words about it another. */
export interface Output {
  print(text: string): void
  tell(text: string): void
  /** A picture, where a person looks at both of these ways. */
  draw?(picture: string): void
  /** What is true for a moment, on a terminal alone. */
  show?(text: string): void
  /** The answer of whoever sits at the terminal; empty where they give none. */
  ask?(question: string): Promise<string>
}

export const standardOutput: Output = {
  print: (text) => void process.stdout.write(`${text.trimEnd()}\n`),
  tell: (text) => void process.stderr.write(`${text}\n`),
  ...(process.stdout.isTTY && process.stderr.isTTY
    ? { draw: (picture: string) => void process.stderr.write(`${picture}\n`) }
    : {}),
  ...(process.stderr.isTTY ? { show: (text) => void process.stderr.write(`\r${text}\x1b[K`) } : {}),
  ...(process.stdin.isTTY && process.stderr.isTTY ? { ask: askAtTerminal } : {}),
}

function askAtTerminal(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise((resolve) => {
    let answer: string | null = null
    lines.question(question, (given) => {
      answer = given
      lines.close()
    })
    // Ctrl-C and Ctrl-D are a no.
    lines.once('SIGINT', () => lines.close())
    lines.once('close', () => {
      if (answer === null) process.stderr.write('\n')
      resolve(answer ?? '')
    })
  })
}
