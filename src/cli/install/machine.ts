// The machine that hosts run on, as far as installing depends on it. It is handed in: the process alone reads its environment.
import { homedir, hostname, userInfo } from 'node:os'
import { join, resolve } from 'node:path'

export interface Machine {
  /** What starts this program, whatever PATH says: whole paths. */
  program: string[]
  /** The package's own folder. */
  folder: string
  cwd: string
  home: string
  /** What it is called. */
  name: string
  /** Who is at it. */
  user: string
  env: Partial<Record<string, string>>
  /** Under which its own settings are, as in /etc. */
  root: string
}

type Started = Pick<Machine, 'program' | 'folder' | 'cwd' | 'env'>

export function thisMachine({ env, ...started }: Started): Machine {
  // As shells and hosts take it: the variable, before what the system knows of the user.
  const home = absolute(env.HOME) ?? homedir()
  return { ...started, env, home, name: hostname(), user: userName(), root: '/' }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container a user may have a number and no name.
    return 'user'
  }
}

/** The folder that a variable names, else this one in the user's home. */
export function folderOf({ env, home, cwd }: Machine, variable: string, usual: string): string {
  const named = env[variable]?.trim()
  if (named === undefined || named === '') return join(home, usual)
  return resolve(cwd, named.startsWith('~/') ? join(home, named.slice(2)) : named)
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && path.startsWith('/') ? path : undefined
}
