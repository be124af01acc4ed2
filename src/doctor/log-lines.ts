// The end of the running service's log, where it goes into a file; else where to look for it.
import { closeSync, fstatSync, openSync, readFileSync, readlinkSync, readSync } from 'node:fs'

export interface LogEnd {
  /** The file; null where there is none, or it cannot be read. */
  file: string | null
  lines: string[]
  /** Where the log is, in place of lines. */
  where: string | null
}

/** More is not read, however long the lines are. */
const mostBytes = 256 * 1024
/** A line of ours is far shorter. */
const mostCharacters = 8000

/** `pid` is the process that serves the database; null: there is none, or it is not known. */
export function readLogEnd(pid: number | null, count: number, inContainer: boolean): LogEnd {
  const nothing = (where: string): LogEnd => ({ file: null, lines: [], where })
  if (pid === null) {
    return nothing(`The log goes to standard output, wherever the service is started: see ${usualPlaces(inContainer)}.`)
  }
  let target: string
  try {
    target = readlinkSync(`/proc/${pid}/fd/1`)
  } catch {
    return nothing(
      `The log goes to the standard output of process ${pid}, which this user cannot see: see ${usualPlaces(inContainer)}.`,
    )
  }
  if (!target.startsWith('/') || target.startsWith('/dev/')) {
    const kind = target.startsWith('/dev/null') ? 'nowhere' : target.startsWith('/dev/') ? 'to a terminal' : 'to a pipe'
    return nothing(`The log goes ${kind}: ${placesFor(pid, target, inContainer)}.`)
  }
  try {
    return { file: target, lines: count === 0 ? [] : lastLines(`/proc/${pid}/fd/1`, count), where: null }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    return nothing(`The log goes into ${target}, which this user cannot read (${code}).`)
  }
}

function placesFor(pid: number, target: string, inContainer: boolean): string {
  if (target.startsWith('/dev/null')) return 'start the service with its standard output elsewhere'
  if (target.startsWith('/dev/')) return 'copy the lines from there'
  const unit = unitOf(pid)
  return unit === null ? `see ${usualPlaces(inContainer)}` : `see journalctl -u ${unit}`
}

function usualPlaces(inContainer: boolean): string {
  return inContainer
    ? 'docker logs CONTAINER, from outside'
    : 'journalctl -u UNIT, docker logs CONTAINER, or the terminal'
}

/** The unit of systemd. */
function unitOf(pid: number): string | null {
  try {
    return /\/([\w@.:-]{1,100}\.service)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1] ?? null
  } catch {
    return null
  }
}

function lastLines(file: string, count: number): string[] {
  const descriptor = openSync(file, 'r')
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) throw Object.assign(new Error('no file'), { code: 'no regular file' })
    const length = Math.min(stats.size, mostBytes)
    const bytes = Buffer.alloc(length)
    const read = readSync(descriptor, bytes, 0, length, stats.size - length)
    const lines = bytes.toString('utf8', 0, read).split(/\r?\n/)
    // The first is only the end of one, where there was more.
    const whole = length < stats.size ? lines.slice(1) : lines
    return whole
      .filter((line) => line !== '')
      .slice(-count)
      .map((line) => (line.length <= mostCharacters ? line : `(a line of ${line.length} characters, not shown)`))
  } finally {
    closeSync(descriptor)
  }
}
