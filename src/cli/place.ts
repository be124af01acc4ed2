// Which service a command speaks to over HTTP, and with whose key: flags, else the environment, else what runs on this machine.
import { readFileSync } from 'node:fs'
import { ConfigProblems, type GivenCommand, type Remote } from '../command.js'
import type { Config } from '../config/schemas.js'
import { CommandRefused } from './output.js'

export interface HttpPlace {
  url: string
  key: string | null
}

/** The settings are looked at only where nothing else says where the service is. */
export function findPlace(
  options: GivenCommand['options'],
  remote: Remote,
  config: () => Pick<Config, 'host' | 'port'>,
): HttpPlace {
  const file = options['key-file'] as string | undefined
  const key = (file === undefined ? remote.key : readKey(file)) ?? null
  return { url: (options.url as string | undefined) ?? remote.url ?? ownUrl(config()), key }
}

/** What is wrong with a place that the client does not take. */
export function sayPlace(options: GivenCommand['options'], problem: string): ConfigProblems {
  return new ConfigProblems([`${options.url === undefined ? 'HOLDPOINT_URL' : '--url'}, HOLDPOINT_KEY: ${problem}`])
}

function readKey(file: string): string {
  let text
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new CommandRefused(`The key cannot be read: ${(error as Error).message}`)
  }
  if (!/^[!-~]{1,500}$/.test(text)) {
    throw new ConfigProblems(['--key-file: must have a key in it, and nothing else'])
  }
  return text
}

/** Where the service on this machine listens. */
export function ownUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  if (port === 0) throw new CommandRefused('Say where the service is, with --url or HOLDPOINT_URL.')
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}
