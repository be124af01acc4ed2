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
  readonly code?: string
  readonly requesters?: string[]
}

/** What was asked for goes one way, words about it another. */
export interface Output {
  print(text: string): void
  tell(text: string): void
  /** A picture, where a person looks at both of these ways. */
  draw?(picture: string): void
  /** What is true for a moment, on a terminal alone. */
  show?(text: string): void
  /** The answer of whoever sits at the terminal; null where they break it off. What was typed before is no answer. */
  ask?(question: string): Promise<string | null>
  /** The terminal to which this way leads; null: to none. */
  screen?(way: 'print' | 'tell'): Screen | null
}

export interface Screen {
  columns: number
  rows: number
  hasColours: boolean
  /** Whether the cursor can be put anywhere. */
  canMove: boolean
}

/** What the environment says of the terminal. */
export interface TerminalTraits {
  TERM?: string | undefined
  NO_COLOR?: string | undefined
}

export function createOutput({ TERM, NO_COLOR }: TerminalTraits = {}): Output {
  const { stdin, stdout, stderr } = process
  const isDumb = TERM === 'dumb'
  const hasColours = !isDumb && (NO_COLOR ?? '') === ''
  const canShow = stderr.isTTY && !isDumb
  return {
    print: (text) => void stdout.write(`${text.trimEnd()}\n`),
    tell: (text) => void stderr.write(`${text}\n`),
    ...(stdout.isTTY && stderr.isTTY ? { draw: (picture: string) => void stderr.write(`${picture}\n`) } : {}),
    ...(canShow ? { show: (text: string) => void stderr.write(`\r${text}\x1b[K`) } : {}),
    ...(stdin.isTTY && stderr.isTTY ? { ask: askAtTerminal } : {}),
    screen(way) {
      const stream = way === 'print' ? stdout : stderr
      if (!stream.isTTY) return null
      // A terminal that does not know its size says 0.
      return { columns: stream.columns || 80, rows: stream.rows || 24, hasColours, canMove: !isDumb }
    },
  }
}

/** What is pasted comes in pieces: so long it is quiet before a question. */
const quietMs = 150

async function askAtTerminal(question: string): Promise<string | null> {
  if (await dropTyped()) return null
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
      resolve(answer)
    })
  })
}

/** True: Ctrl-C was among it. */
function dropTyped(): Promise<boolean> {
  const { stdin } = process
  return new Promise((resolve) => {
    let isBrokenOff = false
    const end = () => {
      stdin.off('data', drop)
      stdin.off('end', end)
      stdin.pause()
      stdin.setRawMode(false)
      resolve(isBrokenOff)
    }
    const quiet = setTimeout(end, quietMs)
    const drop = (typed: Buffer | string) => {
      if (typed.includes('\x03')) isBrokenOff = true
      quiet.refresh()
    }
    stdin.setRawMode(true)
    stdin.on('data', drop)
    stdin.once('end', end)
  })
}
