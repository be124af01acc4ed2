// The terminal that watch fills: another screen beside the usual one, keys one by one, and everything as it was at the end,
// however that comes about.
import type { ReadStream, WriteStream } from 'node:tty'
import { paint } from '../span.js'
import { createKeyReader, type Key } from './keys.js'
import type { Frame } from './screen.js'

/** The other screen; no cursor; no line goes on in the next one by itself; what is pasted is marked as that. */
const entering = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J'
const leaving = '\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l'

/** So long a terminal may take over a sequence that begins as the escape key does. */
const escapeMs = 50

export interface Terminal {
  size(): { columns: number; rows: number }
  show(frame: Frame): void
  /** All of it again. */
  redraw(): void
  /** Stops the program as Ctrl-Z does elsewhere, until it is called back. */
  suspend(): void
  /** Ends with the exit code once it is to end. */
  ended: Promise<number>
  end(code: number): void
}

export interface Hears {
  keys(keys: Key[]): void
  resized(): void
}

const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

export function fillTerminal(stdin: ReadStream, stdout: WriteStream, hasColours: boolean, hears: Hears): Terminal {
  const reader = createKeyReader()
  let shown: string[] = []
  let last: Frame | null = null
  let isFilled = false
  let timer: NodeJS.Timeout | undefined
  let finish: (code: number) => void = () => {}
  const ended = new Promise<number>((resolve) => (finish = resolve))

  const onData = (text: string) => {
    clearTimeout(timer)
    const keys = reader.read(text)
    if (keys.length > 0) hears.keys(keys)
    if (reader.isOpen()) timer = setTimeout(() => hears.keys(reader.settle()), escapeMs)
  }
  const onResize = () => {
    shown = []
    hears.resized()
  }
  const onGone = () => end(signals.SIGHUP)
  const onContinued = () => {
    if (isFilled) return
    enter()
    redraw()
  }
  const onSignal = Object.entries(signals).map(([signal, code]) => [signal, () => end(code)] as const)

  function enter(): void {
    isFilled = true
    stdin.setRawMode(true)
    stdin.resume()
    stdout.write(entering)
    shown = []
  }

  /** The process may end right behind it: to a terminal Node writes at once. */
  function leave(): void {
    if (!isFilled) return
    isFilled = false
    stdout.write(leaving)
    try {
      stdin.setRawMode(false)
    } catch {
      // The terminal is gone.
    }
  }

  function show(frame: Frame): void {
    last = frame
    if (!isFilled) return
    const lines = frame.lines.map((line) => paint(line, hasColours))
    let text = '\x1b[?25l'
    lines.forEach((line, row) => {
      if (shown[row] !== line) text += `\x1b[${row + 1};1H\x1b[K${line}\x1b[0m`
    })
    shown = lines
    if (frame.cursor !== null) text += `\x1b[${frame.cursor.row + 1};${frame.cursor.column + 1}H\x1b[?25h`
    stdout.write(text)
  }

  function redraw(): void {
    shown = []
    stdout.write('\x1b[2J')
    if (last !== null) show(last)
  }

  function end(code: number): void {
    clearTimeout(timer)
    leave()
    stdin.off('data', onData).off('end', onGone).off('error', onGone).pause()
    stdout.off('resize', onResize)
    for (const [signal, run] of onSignal) process.off(signal, run)
    process.off('SIGCONT', onContinued).off('exit', leave).off('uncaughtExceptionMonitor', leave)
    finish(code)
  }

  stdin.setEncoding('utf8').on('data', onData).on('end', onGone).on('error', onGone)
  // It stays when all else goes: what is written to a terminal that is gone must not end the program as a crash.
  stdout.on('resize', onResize).on('error', () => {})
  for (const [signal, run] of onSignal) process.on(signal, run)
  process.on('SIGCONT', onContinued).on('exit', leave).on('uncaughtExceptionMonitor', leave)
  enter()

  return {
    // A terminal that does not know its size says 0.
    size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
    show,
    redraw,
    suspend() {
      leave()
      process.kill(process.pid, 'SIGTSTP')
    },
    ended,
    end,
  }
}
