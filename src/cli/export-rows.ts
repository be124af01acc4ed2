// Where the rows of an export go, whole ones alone: to standard output, or to a file that is there once nothing is missing.
import { constants, copyFileSync, lstatSync, realpathSync, rmSync } from 'node:fs'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname, extname } from 'node:path'
import { sha256 } from '../core/digest.js'
import { CommandRefused } from './output.js'

export type Format = 'jsonl' | 'csv'

/** What is there already: how many rows, and the last of them. */
export interface Begun {
  rows: number
  bytes: number
  last: string | null
  /** The line with the names of the columns, where there is one. */
  header: string | null
}

const nothingYet: Begun = { rows: 0, bytes: 0, last: null, header: null }

export interface Sink {
  begun: Begun
  write(rows: Buffer): Promise<void>
  /** From now on it is whole. */
  finish(): Promise<void>
  /** What came so far is kept, if there is any: where that is. */
  leave(): Promise<string | null>
}

/** Whoever reads it may go away: the writing fails then, and nothing else does. */
export function openOutput(stream: NodeJS.WritableStream = process.stdout): Sink {
  stream.on('error', () => {})
  return {
    begun: nothingYet,
    write: (rows) =>
      new Promise((resolve, reject) => stream.write(rows, (error) => (error == null ? resolve() : reject(error)))),
    finish: async () => {},
    leave: async () => null,
  }
}

export function formatOf(file: string): Format | null {
  const end = extname(file).toLowerCase()
  return end === '.csv' ? 'csv' : end === '.jsonl' || end === '.ndjson' ? 'jsonl' : null
}

export interface Target {
  file: string
  format: Format
  /** What is asked for: only the same goes on where it was left. */
  asked: object
  /** Of the first column. */
  key: 'id' | 'seq'
  resumes: boolean
  replaces: boolean
}

/** What came so far of the same, beside the file. */
function partOf({ file, format, asked }: Pick<Target, 'file' | 'format' | 'asked'>): string {
  return `${file}.${sha256(JSON.stringify([format, asked])).slice(0, 8)}.part`
}

export async function openFile(target: Target): Promise<Sink> {
  const file = whereIs(target.file)
  const part = partOf({ ...target, file })
  const [hasFile, hasPart] = [isThere(file), isThere(part)]
  const { resumes, replaces } = target
  if (hasPart && !resumes && !replaces) {
    throw new CommandRefused(
      `An export of the same was begun: ${part}. Go on with it with --resume, or begin again with --force.`,
    )
  }
  if (hasFile && !resumes && !replaces) {
    throw new CommandRefused(`${file} is there already: take its place with --force, or add what is new with --resume.`)
  }
  try {
    if (hasPart && !resumes) rmSync(part)
    if (hasFile && !hasPart && resumes) {
      await readFile(file, target)
      // What is whole stays so until the new one is, too.
      copyFileSync(file, part, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
    }
    const isNew = !isThere(part)
    // For its owner alone: it has all that agents ever wrote.
    const handle = await open(part, isNew ? 'wx' : 'r+', 0o600)
    try {
      const begun = isNew ? nothingYet : ((await readBegun(handle, target)) ?? nothingYet)
      await handle.truncate(begun.bytes)
      return sinkOf(handle, file, part, begun, hasFile)
    } catch (error) {
      await handle.close()
      throw error
    }
  } catch (error) {
    throw refused(error)
  }
}

/** Throws for what is no export like this one. */
async function readFile(file: string, target: Target): Promise<void> {
  const handle = await open(file, 'r')
  try {
    if ((await readBegun(handle, target)) === null && (await handle.stat()).size > 0) throw notOurs()
  } finally {
    await handle.close()
  }
}

/** A link leads to the file, which is replaced; what is no file is not. */
function whereIs(file: string): string {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return file
  const real = found.isSymbolicLink() && isThere(realOf(file)) ? realOf(file) : file
  if (!lstatSync(real).isFile()) throw new CommandRefused(`${file} is no ordinary file.`)
  return real
}

function realOf(link: string): string {
  try {
    return realpathSync(link)
  } catch {
    throw new CommandRefused(`${link} is a link that leads nowhere.`)
  }
}

function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}

function sinkOf(handle: FileHandle, file: string, part: string, begun: Begun, replaces: boolean): Sink {
  let position = begun.bytes
  return {
    begun,
    async write(rows) {
      for (let at = 0; at < rows.length;) {
        const { bytesWritten } = await handle.write(rows, at, rows.length - at, position).catch(fail)
        at += bytesWritten
        position += bytesWritten
      }
    },
    async finish() {
      await handle.sync().catch(fail)
      await handle.close()
      if (!replaces && isThere(file)) throw new CommandRefused(`${file} has come meanwhile; all of it is in ${part}.`)
      await rename(part, file).catch(fail)
      await syncFolder(dirname(file))
    },
    async leave() {
      await handle.close()
      if (position > 0) return part
      rmSync(part)
      return null
    },
  }
}

/** So that the name is on disk, too, where folders can be synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null)
  await handle?.sync().catch(() => {})
  await handle?.close()
}

function fail(error: unknown): never {
  throw refused(error)
}

function refused(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? new CommandRefused(`It cannot be written: ${message}.`) : error
}

const newline = 10
/** More than the names of all columns take. */
const maxHeader = 4096

/** All whole rows, once through; null: there is none. */
async function readBegun(handle: FileHandle, { format, key }: Target): Promise<Begun | null> {
  const { size } = await handle.stat()
  const buffer = Buffer.alloc(1024 * 1024)
  let rows = 0
  /** Where the last whole row begins, and where it ends. */
  let [from, end, first] = [0, 0, 0]
  for (let at = 0; at < size;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) break
    for (
      let place = buffer.indexOf(newline);
      place >= 0 && place < bytesRead;
      place = buffer.indexOf(newline, place + 1)
    ) {
      rows += 1
      from = end
      end = at + place + 1
      if (rows === 1) first = end
    }
    at += bytesRead
  }
  if (rows === 0) return null
  const head = await stringAt(handle, 0, Math.min(first, maxHeader))
  const begins = format === 'csv' ? new RegExp(`^\\ufeff?${key},`) : new RegExp(`^\\{"${key}":`)
  if (!begins.test(head)) throw notOurs()
  const isCsv = format === 'csv'
  const count = isCsv ? rows - 1 : rows
  const last = count === 0 ? null : keyOf(await stringAt(handle, from, end), format, key)
  return { rows: count, bytes: end, last, header: isCsv ? head : null }
}

async function stringAt(handle: FileHandle, from: number, end: number): Promise<string> {
  const bytes = Buffer.alloc(end - from)
  await handle.read(bytes, 0, bytes.length, from)
  return bytes.toString('utf8')
}

export function notOurs(): CommandRefused {
  return new CommandRefused('What is there is no export of this kind and format, so nothing can be added to it.')
}

/** What to go on after. */
export function keyOf(row: string, format: Format, key: 'id' | 'seq'): string {
  if (format === 'csv') return row.slice(0, row.indexOf(','))
  try {
    return String((JSON.parse(row) as Record<typeof key, string | number>)[key])
  } catch {
    throw notOurs()
  }
}

/** When it happened, in ms. */
export function timeOf(row: string, format: Format): number {
  if (format === 'csv') return Date.parse(row.split(',', 2)[1] ?? '')
  const { created_at: at, time = at } = JSON.parse(row) as { created_at?: number; time?: number }
  return (time ?? NaN) * 1000
}
