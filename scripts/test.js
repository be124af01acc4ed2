// Runs the built test files, some at once: node scripts/test.js for all, node scripts/test.js routes e2e/page for those
// whose path has one of these words. tap's own runner is not used: it loads hooks into every process that a test starts,
// which costs more than the tests themselves.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

/** Two more than there are cores: somebody always waits for a disk or a deadline. */
const jobs = availableParallelism() + 2
/** For a whole file, on a machine that is busy. */
const timeoutSeconds = 180
/** These start programs and browsers and take longest: begun last, they would end alone. */
const slowFolders = ['web', 'e2e', 'docs', 'cli', 'client']

const words = process.argv.slice(2)
const isSlow = (file) => slowFolders.some((folder) => file.startsWith(`${folder}/`))
const files = readdirSync('dist/test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.js') && (words.length === 0 || words.some((word) => file.includes(word))))
  .sort((one, other) => Number(isSlow(other)) - Number(isSlow(one)) || one.localeCompare(other))

const began = performance.now()
const skipped = new Set()
const failed = []
let passed = 0
const queue = [...files]
await Promise.all(Array.from({ length: jobs }, work))

for (const reason of skipped) console.log(`Skipped: ${reason}`)
const seconds = secondsSince(began)
console.log(`${files.length} files, ${passed} assertions passed, ${failed.length} files failed, ${seconds} s.`)
for (const file of failed) console.log(`Failed: ${file}`)
process.exitCode = failed.length > 0 || files.length === 0 ? 1 : 0

async function work() {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const start = performance.now()
    const { code, stdout, stderr } = await run(`dist/test/${file}`)
    console.log(`${code === 0 ? 'ok' : 'NOT OK'} ${file} ${secondsSince(start)} s`)
    passed += Number(/^# \{ total: \d+, pass: (\d+)/m.exec(stdout)?.[1] ?? 0)
    for (const [, reason] of stdout.matchAll(/# SKIP (.*?)(?: # time=.*)?$/gm)) skipped.add(reason)
    if (code === 0) continue
    failed.push(file)
    console.log(`${failuresIn(stdout)}\n${stderr}`)
  }
}

function run(file) {
  const child = spawn(process.execPath, ['--enable-source-maps', file], {
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: String(timeoutSeconds) },
    stdio: ['ignore', 'pipe', 'pipe'],
    // tap ends a file that takes too long by itself; one that never comes to it is killed.
    timeout: (timeoutSeconds + 20) * 1000,
    killSignal: 'SIGKILL',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
  return new Promise((resolve) =>
    child.once('close', (code, signal) => resolve({ code: code ?? signal, stdout, stderr })),
  )
}

/** What failed, with what tap says about it; all there is if nothing says so. */
function failuresIn(tap) {
  const found = [...tap.matchAll(/^( *)not ok .*(?:\n\1 {2}---\n[^]*?\n\1 {2}\.\.\.)?/gm)].map(([text]) => text)
  return found.length > 0 ? found.join('\n') : tap
}

function secondsSince(start) {
  return ((performance.now() - start) / 1000).toFixed(1)
}
