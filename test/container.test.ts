// The Dockerfile, read closely: there is not always an engine to build it with.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { readInvocation } from '../src/invocation.js'
import { start as startProgram } from './e2e/program.js'
import { temporaryFolder } from './support.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Instruction {
  name: string
  value: string
}

/** The instructions of each stage, with continued lines joined. */
const stages = readFileSync(join(root, 'Dockerfile'), 'utf8')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line): Instruction => ({ name: line.split(' ', 1)[0]!, value: line.slice(line.indexOf(' ') + 1) }))
  .reduce<Instruction[][]>((found, one) => {
    if (one.name === 'FROM') found.push([])
    found.at(-1)!.push(one)
    return found
  }, [])
const [building, running] = stages as [Instruction[], Instruction[]]
const all = (stage: Instruction[], name: string) => stage.filter((one) => one.name === name).map(({ value }) => value)
const indexOf = (name: string) => running.findIndex((one) => one.name === name)
const environment = Object.fromEntries(
  all(running, 'ENV').flatMap((value) => value.split(/\s+/).map((pair) => pair.split('=') as [string, string])),
)

t.test('one stage builds, another runs, both on the same image with a long-term supported Node', async (t) => {
  t.equal(stages.length, 2)
  t.same(all(building, 'FROM'), ['node:24-bookworm-slim AS build'])
  t.same(all(running, 'FROM'), ['node:24-bookworm-slim'])
})

t.test('it builds without a compiler: no package there has a script to be installed', async (t) => {
  for (const command of all(building, 'RUN').flatMap((value) => value.split(' && '))) {
    t.match(command, /^npm run build$|^npm (ci|prune) .*--ignore-scripts/)
  }
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; hasInstallScript?: boolean }>
  }
  t.same(
    Object.keys(lock.packages).filter((path) => lock.packages[path]!.hasInstallScript),
    [],
  )
  t.match(lock.packages['node_modules/better-sqlite3']!.version, /^13\./)
})

t.test('what is copied exists and is not ignored', async (t) => {
  const allowed = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  t.equal(allowed[0], '*', 'everything is ignored but what is named')
  for (const value of [...all(building, 'COPY'), ...all(running, 'COPY')]) {
    if (value.startsWith('--from=build ')) continue
    for (const source of value.split(' ').slice(0, -1)) {
      t.ok(existsSync(join(root, source)), `${source} exists`)
      t.ok(allowed.includes(`!${source}`), `${source} is not ignored`)
    }
  }
})

t.test(
  'the final stage has production dependencies, compiled source, the description of the API and the presets only',
  async (t) => {
    t.match(all(building, 'RUN').at(-1), /npm run build && npm prune --omit=dev/)
    t.same(all(running, 'COPY'), [
      '--from=build /app/node_modules ./node_modules',
      '--from=build /app/dist/src ./dist/src',
      'package.json openapi.yaml LICENSE ./',
      'presets ./presets',
    ])
    t.ok(existsSync(join(root, 'dist/src/server.js')), 'the build puts the program there')
  },
)

t.test('it runs as a user without rights, who owns the volume', async (t) => {
  t.same(all(running, 'USER'), ['node'])
  t.same(all(running, 'VOLUME'), ['/data'])
  t.match(all(running, 'RUN'), [/--owner=node .*\/data$/])
  t.ok(indexOf('RUN') < indexOf('USER'), 'the folder is made while that is possible')
  t.ok(indexOf('USER') < indexOf('ENTRYPOINT'))
  t.match(environment.CONFIRMATION_DB_PATH, /^\/data\//)
})

t.test('node is process 1, so that it gets SIGTERM itself', async (t) => {
  t.same(JSON.parse(all(running, 'ENTRYPOINT')[0]!), ['node', '/usr/local/bin/holdpoint'])
  t.same(all(running, 'CMD'), [])
})

t.test('the program is on the PATH there, and calls itself by that name', async (t) => {
  t.match(all(running, 'RUN'), [/ln -s \/app\/dist\/src\/server\.js \/usr\/local\/bin\/holdpoint/])
  t.same(all(running, 'WORKDIR'), ['/app'])
  const folder = temporaryFolder(t)
  const link = join(folder, 'holdpoint')
  symlinkSync(join(root, 'dist/src/server.js'), link)
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder }
  const { stdout } = await promisify(execFile)('holdpoint', ['--help'], { env, cwd: '/' })
  t.match(stdout, 'Usage: holdpoint [command]')
})

t.test('it listens to all the container’s addresses, and therefore makes a key and asks for it', async (t) => {
  t.equal(environment.CONFIRMATION_HOST, '0.0.0.0')
  t.match(readInvocation([], environment), { command: 'serve', warnings: [] })
  const { CONFIRMATION_HOST } = environment
  const program = await startProgram(t, { env: { CONFIRMATION_HOST: CONFIRMATION_HOST! } })
  const { key } = await program.logLine(/made an admin key/)
  t.equal((await program.call('GET', '/confirm')).status, 401)
  t.equal((await program.call('GET', '/confirm', undefined, { authorization: `Bearer ${key}` })).status, 200)
})

t.test('the health check passes while the program answers, and fails when it does not', async (t) => {
  const [, json] = /CMD (\[.*\])$/.exec(all(running, 'HEALTHCHECK')[0]!)!
  const [command, ...args] = JSON.parse(json!) as [string, ...string[]]
  t.equal(command, 'node')
  const check = (address: string) =>
    new Promise<number>((resolve) => {
      const here = args.map((arg) => arg.replace('127.0.0.1:6000', address))
      execFile(process.execPath, here, (error) => resolve(error === null ? 0 : Number(error.code)))
    })
  const { url } = (await startProgram(t)).ready
  t.equal(await check(url.replace('http://', '')), 0)
  t.equal(await check('127.0.0.1:1'), 1)
})
