// A key in a file: for its owner alone, and never where it could be committed or handed to an agent with the project.
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { readKeyId } from '../../access/key.js'
import { CommandRefused } from '../output.js'
import { folderOf, type Machine } from './machine.js'
import { syncFolder, temporaryOf } from './settings-file.js'

/** Outside of every project. */
export function keysFolder(machine: Machine): string {
  return join(folderOf(machine, 'XDG_CONFIG_HOME', '.config'), 'holdpoint', 'keys')
}

/** Why a key must not be kept in this file, or null. The folder may still be missing. */
export function problemWithPlace(file: string, project: string | null): string | null {
  const place = realPlace(resolve(file))
  if (project !== null && isWithin(realPlace(project), place)) return 'is inside the project, where agents work'
  for (let folder = dirname(place); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git')))
      return `is in a git checkout (${folder}), where it would be committed some day`
    if (folder === dirname(folder)) return null
  }
}

/** What is wrong with the file of a key, or its id. */
export function readKeyFile(file: string): { id: string; text: string } | { problem: string } {
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return { problem: 'is missing' }
    if (!stats.isFile()) return { problem: 'is no plain file' }
    if (process.getuid !== undefined && stats.uid !== process.getuid()) return { problem: 'belongs to another user' }
    if ((stats.mode & 0o077) !== 0) {
      return {
        problem: `can be read or changed by other users (mode ${(stats.mode & 0o777).toString(8)}); make it 600`,
      }
    }
    if (stats.size > 1000) return { problem: 'has more in it than a key' }
    const text = readFileSync(file, 'utf8').trim()
    const id = readKeyId(text)
    return id === null ? { problem: 'has no key in it, or more than that' } : { id, text }
  } catch (error) {
    return { problem: `cannot be read: ${(error as Error).message}` }
  }
}

/** Makes the folder for keys, its owner's alone. */
export function prepareFolder(machine: Machine, project: string | null): string {
  const folder = keysFolder(machine)
  const problem = problemWithPlace(join(folder, 'key'), project)
  if (problem !== null) {
    throw new CommandRefused(
      `Keys would be kept in ${folder}, which ${problem}. Set XDG_CONFIG_HOME to another folder, or say --key-file.`,
    )
  }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(folder, 0o700)
  } catch (error) {
    throw new CommandRefused(`The folder for keys, ${folder}, cannot be made: ${(error as Error).message}`)
  }
  return folder
}

/** Puts a key where none is yet: of two at the same time one is placed. True: it was this one. */
export function placeKey(file: string, key: string): boolean {
  const temporary = temporaryOf(file)
  rmSync(temporary, { force: true })
  try {
    const handle = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(handle, `${key}\n`)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    chmodSync(temporary, 0o600)
    linkSync(temporary, file)
    syncFolder(dirname(file))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new CommandRefused(`The key cannot be kept in ${file}: ${(error as Error).message}`)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** As far as it is there, without links. */
function realPlace(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  return path === dirname(path)
    ? path
    : join(realPlace(dirname(path)), path.slice(dirname(path).length).replace(/^\/+/, ''))
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`))
}
