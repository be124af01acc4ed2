// Installing on a machine of the test's own: its home, its service, its program, and what a person at the terminal says.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import type { Machine } from '../../../src/cli/install/machine.js'
import { listenLocally, localSocket } from '../../../src/listen.js'
import { build, temporaryFolder } from '../../support.js'
import { command, commandOn } from '../command.js'

export interface Installer {
  home: string
  project: string
  dbPath: string
  url: string
  machine: Machine
  /** `holdpoint install` with these words. */
  install(...words: string[]): ReturnType<typeof commandOn>
  /** The same, with somebody at the terminal who says this. */
  installAnswering(answer: string | null, ...words: string[]): ReturnType<typeof commandOn>
  keys(): Promise<{ name: string; role: string; state: string; id: string }[]>
  write(path: string, text: string, mode?: number): string
  read(path: string): string
  exists(path: string): boolean
  /** The status with which the service answers this key. */
  statusWith(key: string): Promise<number>
}

/** A hook that denies where nobody answers, as the program's own does; this one is quick to start. */
const standIn = `#!/bin/sh
cat > /dev/null
case "$*" in *hermes*|*codex*) echo 'Holdpoint is away.' >&2; exit 2 ;; esac
printf '%s' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"away"}}'
`

/** `hasKeys`: somebody has ended open mode before. */
export async function prepareInstaller(t: Test, { hasKeys = true, isRunning = true } = {}): Promise<Installer> {
  const folder = temporaryFolder(t)
  const [home, project] = [join(folder, 'home'), join(folder, 'projects', 'shop')]
  mkdirSync(home, { recursive: true })
  mkdirSync(project, { recursive: true })
  const program = join(folder, "it's a program")
  writeFileSync(program, standIn)
  chmodSync(program, 0o755)
  const { dbPath, url, statusWith } = isRunning
    ? await startService(t)
    : { dbPath: join(folder, 'test.db'), url: 'http://127.0.0.1:9', statusWith: () => Promise.resolve(0) }
  const env: Record<string, string> = { HOLDPOINT_URL: url }
  const machine: Machine = {
    program: [program],
    folder,
    cwd: project,
    home,
    name: 'laptop.example.org',
    user: 'ann',
    env: { ...env, PATH: '/usr/bin:/bin' },
    root: join(folder, 'root'),
  }
  const run =
    (ask?: () => Promise<string | null>) =>
    (...words: string[]) =>
      commandOn({ env, machine, ...(ask === undefined ? {} : { ask }) }, dbPath, 'install', ...words)
  if (hasKeys) await command(dbPath, 'keys', 'add', '--name', 'bob', '--role', 'operator')
  return {
    home,
    project,
    dbPath,
    url,
    machine,
    install: (...words) => run()(...words),
    installAnswering: (answer, ...words) => run(async () => answer)(...words),
    keys: async () => JSON.parse((await command(dbPath, 'keys', 'list', '--json')).stdout) as never,
    write(path, text, mode = 0o644) {
      const file = join(home, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
      chmodSync(file, mode)
      return file
    },
    read: (path) => readFileSync(join(home, path), 'utf8'),
    exists: (path) => existsSync(join(home, path)),
    statusWith,
  }
}

async function startService(t: Test) {
  const { app, dbPath, routeLocal } = await build(t)
  t.teardown(await listenLocally(localSocket(dbPath)!, routeLocal))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const statusWith = async (key: string) => {
    const { statusCode } = await app.inject({ url: '/confirm', headers: { authorization: `Bearer ${key}` } })
    return statusCode
  }
  return { dbPath, url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, statusWith }
}

export const settingsOf = {
  'claude-code': '.claude/settings.json',
  codex: '.codex/hooks.json',
  hermes: '.hermes/config.yaml',
  openclaw: '.openclaw/openclaw.json',
} as const
export type UserHost = keyof typeof settingsOf
export const userHosts = Object.keys(settingsOf) as UserHost[]
