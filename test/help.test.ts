import t from 'tap'
import { commands, groups } from '../src/command.js'
import { helpOn } from '../src/help.js'
import { otherSettings, settings } from '../src/config/settings.js'

function textOn(...topic: string[]): string {
  const help = helpOn(topic)
  if ('problem' in help) throw new Error(help.problem)
  return help.text
}

const topics = [
  [],
  ['serve'],
  ['help'],
  ...[...Object.keys(groups), ...Object.keys(commands)].map((one) => one.split(' ')),
]

t.test('the first screen is one screen, and names every command', async (t) => {
  const text = textOn()
  t.ok(text.trimEnd().split('\n').length <= 24, text)
  for (const name of Object.keys(commands))
    for (const word of name.split(' ')) t.match(text, new RegExp(`\\b${word}\\b`))
  for (const word of ['Usage: holdpoint', 'serve', '--port', '--db-path', '--config', '--help', '--version'])
    t.ok(text.includes(word), word)
})

t.test('no line of any help is wider than 80 columns', async (t) => {
  for (const topic of topics) {
    for (const line of textOn(...topic).split('\n')) t.ok(line.length <= 80, `${topic.join(' ')}: ${line}`)
  }
})

t.test('serve --help has every flag, variable and default', async (t) => {
  // Wrapped lines are one again.
  const text = textOn('serve').replace(/\n {4,}/g, ' ')
  for (const one of [...Object.values(settings), ...Object.values(otherSettings)]) {
    if ('env' in one) t.ok(text.includes(one.env), one.env)
    if ('flag' in one) t.ok(text.includes(`--${one.flag}`), one.flag)
    if ('default' in one) t.ok(text.includes(`(default ${one.default})`), one.env)
    t.ok(text.includes(one.help), one.help)
  }
})

t.test('each command has a help of its own, with its argument, its options and an example', async (t) => {
  for (const [name, command] of Object.entries(commands)) {
    const text = textOn(...name.split(' ')).replace(/\n {4,}/g, ' ')
    const { argument } = { argument: undefined, ...command }
    t.match(text, `Usage: holdpoint ${name}${argument === undefined ? '' : ` ${argument}`}`)
    t.match(text, `Example:\n  holdpoint ${command.example}`)
    for (const [option, { takes, help }] of Object.entries(command.options)) {
      t.match(text, new RegExp(`--${option}(, -\\w)? ${takes.replace('|', '\\|')}`.trim()), option)
      t.ok(text.includes(help), help)
    }
  }
  for (const group of Object.keys(groups)) {
    for (const name of Object.keys(commands).filter((one) => one.startsWith(`${group} `))) {
      t.match(textOn(group), `\n  ${name}`)
    }
  }
})

t.test('help names the program as it is called here', async (t) => {
  const help = helpOn(['keys', 'add'], 'npx holdpoint')
  t.match(help, { text: /Usage: npx holdpoint keys add[^]*Example:\n {2}npx holdpoint keys add/ })
})

t.test('help on what is no command names the one that was meant', async (t) => {
  t.match(helpOn(['kyes']), { problem: /did you mean keys\?$/ })
  t.match(helpOn(['keys', 'ad']), { problem: /did you mean keys add\?$/ })
  t.match(helpOn(['zebra']), { problem: /there is no such command/ })
})

t.test('what the documents are made from is short and plain', async (t) => {
  for (const { help } of [...Object.values(settings), ...Object.values(otherSettings)]) {
    t.ok(help.length <= 160, help)
    t.notMatch(help, /\.$|[[\]`]/, help)
  }
})

t.test('where the program has a long path, what it is called with has a line of its own', async (t) => {
  const call = `node /${'long/'.repeat(12)}server.js`
  for (const topic of topics) {
    const help = helpOn(topic, call)
    if ('problem' in help) throw new Error(help.problem)
    for (const line of help.text.split('\n')) t.ok(line.length <= 80, `${topic.join(' ')}: ${line}`)
  }
  t.match(helpOn(['keys', 'revoke'], call), { text: `Example:\n  ${call} \\\n    keys revoke alice\n` })
})
