// A host's settings on disk: read whole or refused, and written in one step, with what stood there kept beside.
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CommandRefused } from '../output.js'
import { UnfitText } from './json-text.js'

export interface SettingsFile {
  /** Where the host looks. */
  path: string
  /** Where it is: links are followed. */
  real: string
  /** Null: there is none. */
  text: string | null
  mode: number
}

/** Far more than anybody writes by hand. */
const maxBytes = 4 * 1024 * 1024

/** `mode`: of a file that is made. */
export function readSettings(path: string, mode: number): SettingsFile {
  const found = guarded(path, () => lstatSync(path, { throwIfNoEntry: false }))
  if (found === undefined) return { path, real: path, text: null, mode }
  const real = guarded(path, () => {
    try {
      return realpathSync(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      throw new CommandRefused(`${path} is a link that leads to nothing. Remove it, or put a file there.`)
    }
  })
  const {
    size,
    mode: has,
    ...stats
  } = guarded(path, () => {
    const one = statSync(real)
    return { size: one.size, mode: one.mode, isFile: one.isFile(), isFolder: one.isDirectory() }
  })
  if (!stats.isFile)
    throw new CommandRefused(`${path} is ${stats.isFolder ? 'a folder' : 'no plain file'}, and settings are a file.`)
  if (size > maxBytes) throw new CommandRefused(`${path} has ${size} bytes, and settings have ${maxBytes} at most.`)
  const bytes = guarded(path, () => readFileSync(real))
  try {
    return {
      path,
      real,
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
      mode: has & 0o777,
    }
  } catch {
    throw new CommandRefused(`${path} is no text in UTF-8.`)
  }
}

/** What is made of its text, or what is wrong with it: of a project it may be anything that can be in a folder. */
export function inspectSettings<T>(path: string, read: (text: string) => T): { said: T } | { problem: string } {
  try {
    return { said: read(readSettings(path, 0o600).text ?? '') }
  } catch (error) {
    if (error instanceof CommandRefused) return { problem: error.message }
    if (error instanceof UnfitText) return { problem: `${path} ${error.message}` }
    throw error
  }
}

/** Where what stood there before is kept. */
export function backupOf({ real }: SettingsFile): string {
  return `${real}.before-holdpoint`
}

/** Refuses what could not be written, while nothing has happened yet. */
export function refuseUnwritable({ path, real, text }: SettingsFile): void {
  guarded(path, () => {
    let folder = dirname(real)
    while (!existsSync(folder)) folder = dirname(folder)
    accessSync(folder, constants.W_OK)
    const user = process.geteuid?.() ?? 0
    // Only root can give a file to whoever had it before.
    if (text !== null && user !== 0 && statSync(real).uid !== user)
      throw new CommandRefused(`${path} belongs to another user. It is as it was.`)
  })
}

/** False, and nothing is written, where somebody else has changed it since it was read. */
export function writeSettings(file: SettingsFile, text: string, keepsBackup: boolean): boolean {
  const { path, real, mode } = file
  guarded(path, () => makeFolder(dirname(real), mode))
  const now = readSettings(path, mode)
  if (now.text !== file.text) return false
  guarded(path, () => accessSync(dirname(real), constants.W_OK))
  if (keepsBackup) guarded(path, () => replaceFile(backupOf(file), file.text!, mode))
  guarded(path, () => replaceFile(real, text, mode))
  return true
}

export function removeFile(path: string): void {
  guarded(path, () => rmSync(path, { force: true }))
}

/** For whoever may read the file that is put in it. */
function makeFolder(folder: string, mode: number): void {
  mkdirSync(folder, { recursive: true, mode: mode | ((mode & 0o444) >> 2) })
}

/** What is written before it takes its place. */
export function temporaryOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.tmp`)
}

/** Of this file and its backup: what was being written by those who are gone. */
export function removeLeftovers(path: string): void {
  const folder = dirname(path)
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const writer = name.startsWith(`.${basename(path)}.`) ? /\.(\d+)\.tmp$/.exec(name)?.[1] : undefined
    if (writer !== undefined && !isRunning(Number(writer))) removeFile(join(folder, name))
  }
}

function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whole or not at all, and on disk. */
export function replaceFile(path: string, text: string, mode: number): void {
  const temporary = temporaryOf(path)
  try {
    rmSync(temporary, { force: true })
    const file = openSync(temporary, 'wx', mode)
    try {
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    chmodSync(temporary, mode)
    keepOwner(path, temporary)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}

/** As root, somebody else's file stays theirs. */
function keepOwner(path: string, temporary: string): void {
  const before = statSync(path, { throwIfNoEntry: false })
  const now = statSync(temporary)
  if (before !== undefined && before.uid !== now.uid) chownSync(temporary, before.uid, before.gid)
}

export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** What the disk refuses, as a sentence. */
function guarded<T>(path: string, use: () => T): T {
  try {
    return use()
  } catch (error) {
    if (error instanceof CommandRefused) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const why =
      code === 'EACCES' || code === 'EPERM' ? 'this user may not' : code === 'ELOOP' ? 'its links go round' : message
    throw new CommandRefused(`${path} cannot be read or written: ${why}. It is as it was.`)
  }
}
