// The reader of documents, given small ones: what it runs, and above all what it refuses.
import t, { type Test } from 'tap'
import { type Program, start } from '../e2e/program.js'
import { has, needs } from '../needs.js'
import { planOf } from './commands.js'
import { follow } from './shell.js'

/** A document of these lines. Blocks are fenced with three quotes here, so that they can stand in a template. */
const write = (text: string) => ({ name: 'fixture.md', text: text.replaceAll("'''", '```') })
const mistakesIn = (text: string) => planOf(write(text)).mistakes

const submit = `curl -s 127.0.0.1:6000/confirm -H 'content-type: application/json' -d '{"action":"send_mail","description":"Send"}'`
const unknown = 'curl -s 127.0.0.1:6000/confirm/nobody-knows'

let served: Program
t.before(async () => {
  if (has('curl')) served = await start(t, { flags: ['--rate-limit', '100'] })
})

function curlTest(name: string, run: (t: Test) => Promise<void>): void {
  void t.test(name, async (t) => {
    if (needs(t, 'curl')) await run(t)
  })
}

/** Runs one block, against a program that all such blocks share, and answers with what is wrong. */
async function failuresOf(t: Test, block: string): Promise<string[]> {
  const document = write(`# Fixture\n\n'''bash\n${block}\n'''\n`)
  return (await follow(t, document, { start: async () => ({ ...served, stop: async () => {} }) })).failures
}

/** There is one failure, in this line, and it says this. */
function refuses(t: Test, failures: string[], line: number, words: RegExp): void {
  t.equal(failures.length, 1, failures.join('\n'))
  t.match(failures[0], new RegExp(`^fixture\\.md:${line}: `))
  t.match(failures[0], words)
}

curlTest('variables, functions, the folder and pieces in the background carry over', async (t) => {
  const { ran, failures } = await follow(
    t,
    write(`
'''bash
field() { node -p "JSON.parse(fs.readFileSync(0)).$1"; }
# 202: it is pending.
ID=$(${submit} |
  field id)
(sleep 0.3; curl -s -o /dev/null -X POST 127.0.0.1:6000/confirm/$ID/approve) &
# Somebody approves. It prints: approved
curl -sw '%{stderr}%{http_code}\\n' \\
  "127.0.0.1:6000/confirm/$ID?wait=60" | field status
mkdir inner && cd inner
'''

Then:

'''sh
cat > greeting <<'END'
Hello # 409
END
# It is refused: 409 already_resolved.
curl -s -X POST localhost:6000/confirm/$ID/deny
for word in $(cat ../inner/greeting | head -1); do
  # Not a comment of the document: 500.
  echo "$word"
done
'''
`),
  )
  t.same(failures, [])
  t.same(
    ran.map(({ command, answers }) => [command.line, answers.map(({ status }) => status)]),
    [
      [3, []],
      [5, [202]],
      [7, [200]],
      [9, [200]],
      [11, []],
      [17, []],
      [21, [409]],
      [22, []],
    ],
  )
  t.equal(ran[3]!.stdout, 'approved\n', 'what is printed is what curl prints')
  t.equal(ran[3]!.stderr, '200\n')
  t.equal(ran[7]!.stdout, 'Hello\n#\n409\n')
})

curlTest('a status that differs from what the comment says is a failure', async (t) => {
  refuses(
    t,
    await failuresOf(t, `# It is pending (200).\n${submit}`),
    5,
    /names 200, and the answer is 202[^]*"pending"/,
  )
  refuses(t, await failuresOf(t, `# Refused: 409.\n${unknown}`), 5, /names 409, and the answer is 404/)
  refuses(t, await failuresOf(t, `${submit} # 200`), 4, /names 200, and the answer is 202/)
})

curlTest('a status that no answer could have is a failure', async (t) => {
  refuses(t, await failuresOf(t, '# Refused: 409.\necho refused'), 5, /names 409, and nothing was answered/)
})

curlTest('an answer of 400 or more that no comment names is a failure', async (t) => {
  refuses(t, await failuresOf(t, `# Looks.\n${unknown}`), 5, /an answer is 404, and no comment says so[^]*"not_found"/)
  const block = `# It is not there: 404 not_found.\n${unknown}\n${submit} >pending\n# Nor is this, 404.\n${unknown}`
  t.match(await failuresOf(t, block), [/^fixture\.md:5: [^]*the comment speaks of the last one below it/])
})

curlTest('an answer in the background counts too', async (t) => {
  refuses(t, await failuresOf(t, `(sleep 0.1; ${unknown}) &`), 4, /an answer is 404/)
  refuses(
    t,
    await failuresOf(t, '(sleep 0.1; curl -s 127.0.0.1:6000/health; exit 3) &'),
    4,
    /in the background[^]*exit code 3/,
  )
  t.same(await failuresOf(t, `# In a moment: 404.\n(sleep 0.1; ${unknown}) &`), [])
})

curlTest('a code that differs from what the comment says is a failure', async (t) => {
  refuses(
    t,
    await failuresOf(t, `# 404 no_such_route.\n${unknown}`),
    5,
    /names no_such_route, and the answer is .*not_found/,
  )
  refuses(t, await failuresOf(t, `# 404 made_up.\n${unknown}`), 5, /names made_up/)
  refuses(t, await failuresOf(t, `# Refused as already_claimed.\n${unknown}`), 5, /names 409, and the answer is 404/)
  refuses(t, await failuresOf(t, `# 404 not_found.\n${unknown} -o /dev/null`), 5, /the answer is not printed/)
  t.same(await failuresOf(t, `# 404 not_found.\n${unknown}`), [])
})

curlTest('a word that is not printed is a failure', async (t) => {
  refuses(t, await failuresOf(t, '# It prints: approved\necho denied'), 5, /does not print approved/)
})

curlTest('a command that fails is a failure, and the last one that is run', async (t) => {
  const { ran, failures } = await follow(t, write(`'''bash\necho first\n'''\n'''bash\nfalse | cat\necho later\n'''\n`))
  t.match(failures, [/^fixture\.md:5: false \| cat\n.*exit code 1/])
  t.equal(ran.length, 2)
  refuses(t, await failuresOf(t, 'false && true'), 4, /exit code 1/)
  refuses(t, await failuresOf(t, 'echo "$NOBODY_SET_THIS"'), 4, /exit code 1[^]*unbound variable/)
  refuses(t, await failuresOf(t, 'exit 0\necho later'), 4, /the shell ends with exit code 0/)
  refuses(t, await failuresOf(t, 'curl 127.0.0.1:6009/health'), 4, /exit code 7[^]*curl: \(7\)/)
})

curlTest('words on standard error that are not from our commands are a failure', async (t) => {
  refuses(t, await failuresOf(t, 'no_such_command || true'), 4, /on standard error: .*not found/)
  refuses(t, await failuresOf(t, 'npx holdpoint --version; echo oh >&2; no_such_command || true'), 4, /not found/)
  t.same(await failuresOf(t, 'npx holdpoint people set --name alice --telegram 1'), [], 'ours are explanations')
})

curlTest('what nobody plays here is a failure, not passed over', async (t) => {
  refuses(t, await failuresOf(t, 'npm test'), 4, /npm test is not played here/)
  refuses(t, await failuresOf(t, 'npx tsc'), 4, /npx tsc is not played here/)
})

t.test('a block is run unless a sentence says why not', async (t) => {
  const block = "'''bash\nmake coffee\n'''\n"
  t.same(planOf(write(`<!-- not run: it needs a kitchen, which is not everywhere. -->\n\n${block}`)), {
    steps: [],
    mistakes: [],
  })
  for (const reason of ['', ':', ': no', ': because so', ': xxxxxxxxxxxxxxxxxxxxxxxxx']) {
    t.match(
      mistakesIn(`<!-- not run${reason} -->\n\n${block}`),
      [/^fixture\.md:4: "not run: .*" gives no reason/],
      reason,
    )
  }
  t.equal(
    planOf(write(`<!-- not run: it needs a kitchen, which is not everywhere. -->\n\nAnd\n\n${block}`)).steps.length,
    1,
  )
})

t.test('what bash cannot read is a failure, also where it is not run', async (t) => {
  const reason = '<!-- not run: it needs a kitchen, which is not everywhere. -->\n'
  for (const before of ['', reason, '<!-- file: a.sh -->\n']) {
    t.match(mistakesIn(`${before}'''bash\nif true; then\n'''\n`), [/bash cannot read this block/])
    t.match(mistakesIn(`${before}'''bash\ncat <<END\nhello\n'''\n`), [/bash cannot read this block/])
  }
  t.match(mistakesIn("'''bash\necho a \\\n'''\n"), [/^fixture\.md:2: this command has no end/])
})

t.test('a language that nobody knows is a failure, and so is none', async (t) => {
  t.match(mistakesIn("'''Bash\ntrue\n'''\n"), [/^fixture\.md:2: a block of Bash: is it a shell\?/])
  t.match(mistakesIn("'''zsh\ntrue\n'''\n"), [/a block of zsh/])
  t.match(mistakesIn("'''\ntrue\n'''\n"), [/a block of no language/])
  t.match(mistakesIn("'''bash title=x\ntrue\n'''\n"), [/a block of bash title=x/])
  t.match(mistakesIn("> '''bash\n> true\n> '''\n"), [/:1: this fence cannot be read/, /:3: this fence cannot be read/])
  t.match(mistakesIn("'''bash\ntrue\n"), [/the block that begins in line 1 has no end/])
  t.same(mistakesIn("'''yaml\na: 1\n'''\n"), [])
})

t.test('a directive that is misspelt, or stands before the wrong block, is a failure', async (t) => {
  t.match(mistakesIn("<!-- notrun: it is not for everybody here -->\n'''bash\ntrue\n'''\n"), [
    /nobody knows what to do/,
  ])
  t.match(mistakesIn("<!-- fresh: -->\n'''yaml\na: 1\n'''\n"), [/only shells are run/])
  t.match(mistakesIn("<!-- file: ../a -->\n'''yaml\na: 1\n'''\n"), [/no plain name/])
  t.same(mistakesIn("<!-- end of generated -->\n\n'''yaml\na: 1\n'''\n"), [], 'those of others are left alone')
})

t.test('a comment that names two statuses, or stands above nothing, is a failure', async (t) => {
  t.match(mistakesIn("'''bash\n# 200, then 409.\ntrue\n'''\n"), [/^fixture\.md:3: .* names 200 and 409: which/])
  t.match(mistakesIn("'''bash\ntrue\n# A second one gets 409.\n'''\n"), [/"A second one gets 409\." has no command/])
  t.same(mistakesIn("'''bash\n# 1200 mails in 300 seconds at most, RFC 7240, port :404, 1.200\ntrue\n'''\n"), [])
})

t.test('blocks in a list are run as they stand there', async (t) => {
  const [step] = planOf(write("1. One:\n\n   '''bash\n   for a in 1; do\n     echo\n   done\n   '''\n")).steps
  t.match(step, { line: 4, text: 'for a in 1; do\n  echo\ndone' })
})

curlTest('files are there for later blocks, and a fresh program takes its flags', async (t) => {
  const { failures, ran } = await follow(
    t,
    write(`
<!-- file: rules.yaml -->

'''yaml
rules:
  - action: '*'
    approvals: 2
'''

<!-- file: look.sh -->

'''bash
curl -s 127.0.0.1:6000/health
'''

'''bash
npx holdpoint keys add --name root --role admin >key
# It asks for a key: 401.
curl -s 127.0.0.1:6000/confirm
'''

<!-- fresh: --policy rules.yaml -->

'''bash
# Another database, without keys: 202.
${submit}
# It is open.
bash look.sh | grep '"open"'
! npx holdpoint keys list | grep root
curl -s 127.0.0.1:6000/confirm | node -p 'JSON.parse(fs.readFileSync(0)).confirmations[0].approvals_needed'
curl -s 127.0.0.1:6001/health >web
'''
`),
  )
  t.same(failures, [])
  t.equal(ran[5]!.stdout, '2\n', 'the rules are in force')
})

curlTest('npm start starts it anew on the same database, with its flags and variables', async (t) => {
  const { failures, ran } = await follow(
    t,
    write(`
'''bash
npm ci && npm start
'''

'''bash
# 202: it is pending.
ID=$(${submit} | node -p 'JSON.parse(fs.readFileSync(0)).id')
echo CONFIRMATION_RATE_LIMIT=1 >settings.env
'''

'''bash
env $(cat settings.env) npm start -- --rate-window 60
'''

'''bash
# It is still there: 200.
curl -s 127.0.0.1:6000/confirm/$ID
# The window is full: 429 rate_limited.
${submit}
'''

'''bash
CONFIRMATION_RATE_LIMIT=2 npm start -- --port 7000 --web-port off
'''

'''bash
# There is room for one: 202.
${submit.replace('6000', '7000')}
'''

'''bash
npm start -- --db-path other.db
'''

'''bash
# Nobody knows it here: 404.
curl -s 127.0.0.1:6000/confirm/$ID
'''

<!-- stop -->

'''bash
npx holdpoint backup copy.db
curl -s 127.0.0.1:6000/health
'''
`),
  )
  t.match(failures, [/^fixture\.md:45: [^]*exit code 7/], 'nothing listens')
  t.match(
    ran.map(({ answers }) => answers.map(({ status }) => status)),
    [[], [202], [], [], [200], [429], [], [202], [], [404], [], []],
  )
})

curlTest('without a rules file that is right, nothing starts, and that is a failure', async (t) => {
  const { failures } = await follow(t, write("<!-- fresh: --policy none.yaml -->\n\n'''bash\ntrue\n'''\n"))
  t.match(failures, [/^fixture\.md:4: fresh\n[^]*none\.yaml/])
})

curlTest('a reader who is told to open a page opens it there, between the commands', async (t) => {
  const opened: string[] = []
  const document = write(
    "'''bash\ntrue\n'''\n\n4. Now open <http://127.0.0.1:6001> in a browser.\n\n'''bash\ntrue\n'''\n",
  )
  const { failures, ran } = await follow(t, document, {
    open: async (url) => {
      opened.push(url)
      t.equal((await fetch(url)).status, 200)
    },
  })
  t.same(failures, [])
  t.equal(ran.length, 2)
  t.match(opened, [/^http:\/\/127\.0\.0\.1:\d+$/])
  t.not(opened[0], 'http://127.0.0.1:6001')
})
