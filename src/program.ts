// How this program is called where it was started, so that every message that names a command names one that works there.
import { basename, delimiter, dirname, join, relative, resolve, sep } from 'node:path'

export interface Start {
  /** The file that Node was given, as it was given: links are not followed. */
  script: string
  /** The package's own folder. */
  folder: string
  cwd: string
  /** The environment's PATH. */
  path: string
}

/** `npx holdpoint`, `holdpoint`, or what always works: node and the whole path. */
export function callOf({ script, folder, cwd, path }: Start): string {
  const place = dirname(script)
  if (place.split(sep).includes('_npx')) {
    // What npx fetched, or linked to the clone it was called in.
    if (resolve(folder).split(sep).includes('_npx') || isWithin(folder, cwd)) return 'npx holdpoint'
  } else if (place.endsWith(join('node_modules', '.bin'))) {
    // From elsewhere npx would find another package, or none.
    if (isWithin(dirname(dirname(place)), cwd)) return 'npx holdpoint'
  } else if (basename(script).replace(/\.(cmd|exe)$/i, '') === 'holdpoint') {
    if (path.split(delimiter).some((one) => one !== '' && resolve(cwd, one) === place)) return 'holdpoint'
  } else if (resolve(folder) === resolve(cwd)) return 'npx holdpoint'
  return `node ${quote(script)}`
}

/** The same for a log, which is read in another shell, in whatever folder that is. */
export function callElsewhere(start: Start): string {
  return callOf({ ...start, cwd: sep })
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`))
}

/** The command of the program with these words, on this database. */
export type NameCommand = (words: string) => string

/** Where the database is not the one that is used when nothing is said, the command says which. */
export function createCommands(call: string, dbPath: string, defaultPath: string): NameCommand {
  const file = resolve(dbPath)
  const where = file === resolve(defaultPath) ? '' : ` --db-path ${quote(file)}`
  return (words) => `${call} ${words}${where}`
}

/** Where it is not known how the program was started. */
export const plainCommand: NameCommand = (words) => `holdpoint ${words}`

/** As one word for a shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
