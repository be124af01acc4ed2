import t from 'tap'
import { commands, readCommandLine } from '../src/command.js'

function problemsOf(line: string): string[] {
  const read = readCommandLine(line === '' ? [] : line.split(' '))
  return read.command === 'run' ? read.problems : []
}

t.test('a mistyped command names the one that was meant', async (t) => {
  for (const [line, meant] of [
    ['kyes add --name x', 'keys add'],
    ['pendng', 'pending'],
    ['aprove 6f6b1e', 'approve'],
    ['whitelst add x', 'whitelist add'],
    ['whitelist remove', 'whitelist revoke'],
    ['wach', 'watch'],
    ['completions bash', 'completion'],
    ['keys ad', 'keys add'],
    ['keys adn', 'keys add'],
    ['key list', 'keys list'],
    ['polcy check rules.yaml', 'policy check'],
    ['restor file', 'restore'],
    ['bakcup file', 'backup'],
    ['rotate alice', 'keys rotate'],
    ['list', 'whitelist list or keys list or people list or sessions list'],
    ['sevre', 'serve'],
  ] as const) {
    const [problem, ...more] = problemsOf(line)
    t.match(problem, /there is no such command; did you mean /, line)
    t.ok(problem?.endsWith(`did you mean ${meant}?`), `${line}: ${problem}`)
    t.same(more, [])
  }
})

t.test('a mistyped flag names the one that was meant, of those that the command takes', async (t) => {
  for (const [line, problem] of [
    ['--prot 6000', '--prot: there is no such flag; did you mean --port?'],
    ['--db x.db', '--db: there is no such flag; did you mean --db-path?'],
    ['keys add --nmae bob', '--nmae: there is no such flag; did you mean --name?'],
    ['keys list --nmae bob', '--nmae: there is no such flag; see --help'],
    ['backup file --name bob', '--name: is for keys add, people set; backup does not take it'],
  ] as const) {
    t.same(problemsOf(line), [problem], line)
  }
})

t.test('what is near to nothing gets no suggestion', async (t) => {
  for (const line of ['start', 'zebra', 'x', '--wibble', '--q', '--bound 5', 'constructor', '--constructor']) {
    t.match(problemsOf(line), [/; see --help$/], line)
  }
})

t.test('nothing that may be a secret is repeated, and nothing that could steer a terminal', async (t) => {
  for (const argv of [
    ['--wibble', 'secretword'],
    ['--discord-bot-token=secretword'],
    ['--secretword1=x'],
    ['--hpk_secretword'],
    ['-psecretword'],
    ['hpk_12ab_secretword'],
    ['keys', 'revoke', 'alice', 'hpk_12ab_secretword'],
    ['keys', 'hpk_12ab_secretword'],
    ['secretword\u001b[2J'],
    ['--secretword\u001b[2J'],
  ]) {
    const read = readCommandLine(argv)
    const said = read.command === 'run' ? read.problems.join() : ''
    t.not(said, '', argv.join(' '))

    t.notMatch(said, /secretword|\u001b/, argv.join(' '))
  }
})

t.test('names that every object has are no flags, whatever the command', async (t) => {
  for (const name of ['toString', 'constructor', '__proto__', 'valueOf', 'hasOwnProperty']) {
    for (const argv of [[`--${name}=x`], ['keys', 'list', `--${name}=x`], ['keys', 'add', `--${name}`, 'x']]) {
      t.match(readCommandLine(argv), { problems: [/there is no such flag/] }, argv.join(' '))
    }
  }
})

t.test('a flag in the place of a value is no value, and a switch takes none', async (t) => {
  const forgotten = ['keys', 'add', '--name', '--role', 'admin']
  t.match(readCommandLine(forgotten), { problems: [/takes no argument/, '--name: needs a value'] })
  t.match(readCommandLine(['keys', 'add', '--name=--role']), { problems: [], given: { options: { name: '--role' } } })
  t.match(readCommandLine(['keys', 'list', '--json=false']), { problems: ['--json: takes no value'] })
})

t.test('a flag that is not known does not hide the command behind it', async (t) => {
  t.match(readCommandLine(['--wibble', 'keys', 'list']), { given: { name: 'keys list' }, problems: [/^--wibble/] })
})

t.test('every example is a command that can be given', async (t) => {
  for (const [name, { example }] of Object.entries(commands)) {
    const words = [...example.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
    t.match(readCommandLine(words), { command: 'run', given: { name }, problems: [] }, example)
  }
})
