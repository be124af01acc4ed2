// What some tests need of the machine. Where it is missing they are skipped with a sentence; in CI (the variable CI is
// set, as .ci/run does) they fail, so that nothing is left out there unnoticed.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** The first is the same browser without windows, and takes half the time. */
const chromiumPaths = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
export const chromiumPath =
  process.env.CHROMIUM_PATH ?? chromiumPaths.find((path) => existsSync(path)) ?? chromiumPaths[1]!

/** Each answers null, or a sentence that says what is missing and how to get it. */
const checks = {
  Chromium: () =>
    existsSync(chromiumPath)
      ? null
      : `there is no ${chromiumPath}: apt-get install chromium, or set CHROMIUM_PATH to a Chromium or Chrome`,
  python3: () =>
    runs('python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 10))')
      ? null
      : 'there is no python3 of version 3.10 or later: apt-get install python3',
  curl: () => (runs('curl', '--version') ? null : 'there is no curl: apt-get install curl'),
  tmux: () => (runs('tmux', '-V') ? null : 'there is no tmux: apt-get install tmux'),
  'a disk with faults': () => {
    if (process.platform !== 'linux') return 'it is loaded with LD_PRELOAD, which is for Linux'
    return runs('cc', '--version') ? null : 'there is no C compiler cc: apt-get install gcc libc6-dev'
  },
  'a disk of its own': () => (mayMount() ? null : 'there is no right to mount a tmpfs: run the tests as root'),
}

export type Need = keyof typeof checks

/**
 * What CI need not have, and why: there, too, these tests are skipped where they cannot run. The image is no need of any
 * test: building it takes a Docker daemon, which CI does not have, so test/container.test.ts reads the Dockerfile instead.
 */
const optionalInCi: Partial<Record<Need, string>> = {
  'a disk of its own': 'CI runs in containers, and most of them may not mount, not even as root',
}

const found = new Map<Need, string | null>()

function problemWith(need: Need): string | null {
  if (!found.has(need)) found.set(need, checks[need]())
  return found.get(need)!
}

export const has = (need: Need): boolean => problemWith(need) === null

/** Whether all of it is there. If not, the test has been skipped, or has failed, and is to end. */
export function needs(t: Test, ...all: Need[]): boolean {
  const missing = all.find((need) => !has(need))
  if (missing === undefined) return true
  const sentence = `needs ${missing}: ${problemWith(missing)}`
  const isInCi = (process.env.CI ?? '') !== ''
  if (isInCi && optionalInCi[missing] === undefined) t.fail(sentence)
  else t.pass(missing, { skip: sentence })
  return false
}

function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args).status === 0
}

function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-mount-'))
  const isMounted = runs('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder)
  if (isMounted) runs('umount', folder)
  rmdirSync(folder)
  return isMounted
}
