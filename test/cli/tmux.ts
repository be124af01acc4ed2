// A person at a terminal: a shell in tmux, keys that are pressed, and what the screen shows.
import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { serverFile } from '../e2e/program.js'
import { temporaryFolder } from '../support.js'

/** Generous: a screen that is not there by then never comes. */
const patienceMs = 30_000

export interface Seat {
  /** What is on the screen, a line each. */
  lines(): string[]
  /** The same with what makes it coloured. */
  styled(): string
  /** The screen, once it shows this. */
  shows(what: RegExp | ((screen: string) => boolean)): Promise<string>
  /** The screen, once it does not any more. */
  hides(what: RegExp): Promise<string>
  /** By their names, as tmux has them: Enter, Escape, PageDown, C-c. */
  press(...keys: string[]): void
  /** Letter by letter. */
  type(text: string): void
  paste(text: string): void
  /** What a shell is told. */
  run(command: string): void
  resize(columns: number, rows: number): void
  /** What the terminal is like: another screen, the cursor, wrapping, and the modes of its keys. */
  modes(): Promise<string>
  ask(format: string): string
  /** The window is closed. */
  close(): void
}

/** How the program is called there. */
export const holdpoint = `${process.execPath} ${serverFile}`

export async function sit(t: Test, env: Record<string, string> = {}, columns = 100, rows = 30): Promise<Seat> {
  const socket = `holdpoint-${randomUUID()}`
  const home = temporaryFolder(t)
  const given = { PATH: process.env.PATH ?? '', HOME: home, LC_ALL: 'C.UTF-8', HISTFILE: '', ...env }
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, '-u', '-f', '/dev/null', ...args], {
      env: given,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  t.teardown(() => spawnSync('tmux', ['-L', socket, 'kill-server']))
  tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), 'exec bash --norc --noprofile')
  let count = 0

  const seat: Seat = {
    lines: () => tmux('capture-pane', '-p').split('\n').slice(0, -1),
    styled: () => tmux('capture-pane', '-p', '-e'),
    async shows(what) {
      const fits = typeof what === 'function' ? what : (screen: string) => what.test(screen)
      const end = performance.now() + patienceMs
      for (;;) {
        const screen = seat.lines().join('\n')
        if (fits(screen)) return screen
        if (performance.now() > end) throw new Error(`the screen never shows ${String(what)}:\n${screen}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    hides: (what) => seat.shows((screen) => !what.test(screen)),
    press: (...keys) => void tmux('send-keys', ...keys),
    type: (text) => void tmux('send-keys', '-l', '--', text),
    paste(text) {
      tmux('set-buffer', '--', text)
      tmux('paste-buffer', '-p')
    },
    run(command) {
      seat.type(command)
      seat.press('Enter')
    },
    resize: (columns, rows) => void tmux('resize-window', '-x', String(columns), '-y', String(rows)),
    ask: (format) => tmux('display-message', '-p', format).trim(),
    async modes() {
      const mark = `modes-${(count += 1)}`
      seat.run(`clear; stty -a; echo ${mark.replace('-', "'-'")}`)
      const settings = await seat.shows(new RegExp(`^${mark}$`, 'm'))
      return `${seat.ask('#{alternate_on} #{cursor_flag} #{wrap_flag} #{keypad_cursor_flag} #{mouse_any_flag}')}\n${settings.replace(mark, '')}`
    },
    close: () => void tmux('kill-server'),
  }
  await seat.shows(/[$#] *$/m)
  return seat
}
