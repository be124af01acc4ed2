// What completes in a shell, asked as the shell asks it.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { completionFor, shells } from '../../src/cli/completion.js'
import { commands, groups } from '../../src/command.js'
import { run, serverFile, start } from '../e2e/program.js'
import { temporaryFolder } from '../support.js'

/** What bash offers for the last of these words. */
function complete(line: string, env: Record<string, string> = {}, cwd?: string): string[] {
  const words = line.split(' ')
  const script = `${completionFor('bash')}
compopt() { :; }
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}
_holdpoint
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
    cwd,
  })
  t.equal(stderr, '', line)
  t.equal(status, 0, line)
  return stdout.split('\n').filter(Boolean)
}

t.test('bash completes commands, what follows them, flags and values', async (t) => {
  const first = complete('holdpoint ')
  const single = Object.keys(commands).filter((name) => !name.includes(' '))
  t.same(first.sort(), [...single, ...Object.keys(groups), 'serve', 'help'].sort())
  t.same(complete('holdpoint pen'), ['pending'])
  t.same(complete('holdpoint whitelist ').sort(), ['add', 'list', 'revoke'])
  t.same(complete('holdpoint keys r').sort(), ['revoke', 'rotate'])
  t.same(complete('holdpoint --db-path /some/where sess'), ['sessions'])
  t.same(complete('holdpoint approve --reason list --di'), ['--digest'])
  t.same(complete('holdpoint -m keys den'), ['deny'])
  t.same(complete('holdpoint keys add --role op'), ['operator'])
  t.same(complete('holdpoint --auth '), ['auto', 'keys'])
  t.same(complete('holdpoint --db-path = /x --web-po'), ['--web-port'])
  t.same(complete('holdpoint completion ').sort(), [...shells].sort())
  t.same(complete('holdpoint pending --digest'), [], 'of another command')
  t.same(complete('holdpoint --version'), ['--version'])
})

t.test('every command completes each of its flags', async (t) => {
  for (const [name, { options }] of Object.entries(commands)) {
    const offered = complete(`holdpoint ${name} --`)
    for (const option of [...Object.keys(options), 'help']) t.ok(offered.includes(`--${option}`), `${name} --${option}`)
  }
})

t.test('files are completed where a file is meant', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'backup.db'), '')
  t.same(complete('holdpoint restore back', {}, folder), ['backup.db'])
  t.same(complete('holdpoint pending --key-file back', {}, folder), ['backup.db'])
})

t.test('ids are those of what waits', async (t) => {
  const program = await start(t)
  const id = (await program.submit()).body.id as string
  const path = programIn(t)
  const env = { PATH: `${path}:${process.env.PATH}`, HOLDPOINT_URL: `http://127.0.0.1:${program.port}` }
  for (const verb of ['show', 'approve', 'deny']) t.same(complete(`holdpoint ${verb} `, env), [id])
})

t.test('a shell that is installed can read its script', async (t) => {
  for (const shell of shells) {
    const file = join(temporaryFolder(t), shell)
    writeFileSync(file, completionFor(shell))
    const { status, stderr, error } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    if (error !== undefined) t.pass(shell, { skip: `there is no ${shell}: nothing needs it but this` })
    else t.match({ status, stderr }, { status: 0, stderr: '' }, shell)
  }
})

t.test('fish, where there is one, completes as bash does', async (t) => {
  if (spawnSync('fish', ['--version']).error !== undefined) return t.pass('fish', { skip: 'there is no fish' })
  const offered = (line: string) => {
    const script = `${completionFor('fish')}\ncomplete -C '${line}'`
    const env = { PATH: process.env.PATH, HOME: temporaryFolder(t) }
    return spawnSync('fish', ['-c', script], { encoding: 'utf8', env })
      .stdout.split('\n')
      .filter(Boolean)
      .map((one) => one.split('\t')[0]!)
  }
  t.same(offered('holdpoint whitelist '), ['add', 'list', 'revoke'])
  t.same(offered('holdpoint --db-path /x sess'), ['sessions'])
  t.ok(offered('holdpoint approve --').includes('--digest'))
  t.same(offered('holdpoint keys add --role '), ['admin', 'agent', 'auditor', 'operator'])
})

t.test('the command prints the script, and names the shells there are', async (t) => {
  t.match(await run(t, ['completion', 'bash']), { code: 0, stdout: completionFor('bash').trimEnd(), stderr: '' })
  t.match(await run(t, ['completion', 'tcsh']), { code: 2, stdout: '', stderr: /bash, zsh, fish/ })
  t.match(await run(t, ['completion']), { code: 2, stderr: /say which SHELL/ })
})

/** A folder in which the program is called as it is when it is installed. */
function programIn(t: Test): string {
  const folder = join(temporaryFolder(t), 'bin')
  mkdirSync(folder)
  writeFileSync(join(folder, 'holdpoint'), `#!/bin/sh\nexec "${process.execPath}" "${serverFile}" "$@"\n`)
  chmodSync(join(folder, 'holdpoint'), 0o755)
  return folder
}
