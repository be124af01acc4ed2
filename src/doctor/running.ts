// Who runs on a database: the process that holds its lock, and what the service says of itself. Nothing is locked to find out.
import { existsSync, readFileSync, readlinkSync, readdirSync, statSync } from 'node:fs'
import { request, type RequestOptions } from 'node:http'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../config/schemas.js'
import { localSocket } from '../listen.js'

export interface Running {
  is_running: boolean
  /** Null where it is not known; also for one in another container. */
  pid: number | null
  /** By which way it answers; null if it does not. */
  reached_by: 'socket' | 'port' | null
  version: string | null
  auth: 'open' | 'keys' | null
  pending: number | null
  /** Another Holdpoint answers at the port of the settings: nothing says that it is this database's. */
  at_port: string | null
}

const patienceMs = 2000
/** What a service says of itself is far less. */
const mostBytes = 64 * 1024

/** `file` is the database. */
export async function findRunning(file: string, config: Partial<Config>): Promise<Running> {
  const holder = holderOf(`${file}.lock`)
  const socketPath = localSocket(file)
  const own = socketPath !== null && existsSync(socketPath) ? await askHealth({ socketPath }) : null
  const place = own?.health == null ? placeOf(config) : null
  const other = place === null ? null : await askHealth(place)
  const isRunning = holder !== null || own !== null
  const health = own?.health ?? (isRunning ? other?.health : null) ?? null
  return {
    is_running: isRunning,
    pid: holder?.pid ?? null,
    reached_by: own !== null ? 'socket' : isRunning && other !== null ? 'port' : null,
    version: health?.version ?? null,
    auth: health?.auth ?? null,
    pending: health?.pending ?? null,
    at_port: isRunning ? null : (other?.health?.version ?? null),
  }
}

/** Linux says who holds which lock. Elsewhere, and for what is in another container, the socket has to do. */
function holderOf(lockFile: string): { pid: number | null } | null {
  if (!existsSync('/proc/locks') || !existsSync(lockFile)) return null
  const { ino, dev } = statSync(lockFile)
  for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
    const [, pid, major, minor, inode] = /POSIX +\S+ +WRITE +(-?\d+) +([\da-f]+):([\da-f]+):(\d+) /.exec(line) ?? []
    if (Number(inode) !== ino) continue
    const isSameDisk = parseInt(major!, 16) === majorOf(dev) && parseInt(minor!, 16) === minorOf(dev)
    // Some file systems have another number for their disk there.
    if (isSameDisk || hasOpen(pid!, lockFile)) return { pid: Number(pid) > 0 ? Number(pid) : null }
  }
  return null
}

function majorOf(dev: number): number {
  return Math.floor(dev / 256) % 4096
}

function minorOf(dev: number): number {
  return (dev % 256) + Math.floor(dev / 2 ** 20) * 256
}

/** As far as this user may know. */
function hasOpen(pid: string, file: string): boolean {
  const folder = join('/proc', pid, 'fd')
  try {
    return readdirSync(folder).some((one) => readlinkSync(join(folder, one)) === file)
  } catch {
    return false
  }
}

/** Where the settings say that it listens. A name is not looked up: it may be a secret in the wrong place. */
function placeOf({ host, port }: Partial<Config>): { host: string; port: number } | null {
  if (host === undefined || port === undefined || port === 0) return null
  const bare = host.replace(/^\[|\]$/g, '')
  if (bare === '0.0.0.0' || bare === '::' || bare === 'localhost') return { host: '127.0.0.1', port }
  return isIP(bare) === 0 ? null : { host: bare, port }
}

interface Health {
  version: string
  auth: 'open' | 'keys' | null
  pending: number | null
}

/** Null: nobody answers. Without health: somebody does, who is no Holdpoint, or one that does not say it there. */
function askHealth(place: RequestOptions): Promise<{ health: Health | null } | null> {
  return new Promise((resolve) => {
    const asked = request({ ...place, path: '/health', timeout: patienceMs, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > mostBytes) asked.destroy(new Error('that is no Holdpoint'))
      })
      response.on('end', () => resolve({ health: readHealth(text) }))
      response.on('error', () => resolve({ health: null }))
    })
    // Also for an answer that never ends.
    const timer = setTimeout(() => asked.destroy(new Error('no answer in time')), patienceMs)
    asked.once('error', () => resolve(null))
    asked.once('close', () => clearTimeout(timer))
    asked.end()
  })
}

/** Whatever answers wrote it. */
function readHealth(text: string): Health | null {
  let said: Record<string, unknown>
  try {
    said = (JSON.parse(text) ?? {}) as Record<string, unknown>
  } catch {
    return null
  }
  const { status, version, auth, pending_count: pending } = said
  if (status !== 'ok' || typeof version !== 'string' || !/^\d{1,5}(\.\d{1,5}){2}(-[\w.]{1,20})?$/.test(version))
    return null
  return {
    version,
    auth: auth === 'open' || auth === 'keys' ? auth : null,
    pending: typeof pending === 'number' ? pending : null,
  }
}
