// The README as its reader takes it: the first minute with npm, curl and a browser, then everything after it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { root } from '../e2e/program.js'
import { needs } from '../needs.js'
import { launch as launchBrowser } from '../web/browser.js'
import { planOf } from './commands.js'
import { headingsOf, readDocument } from './markdown.js'
import { follow, type Launch, type Started } from './shell.js'

const readme = readDocument('README.md')
const chapters = headingsOf(readme).filter(({ level }) => level === 2)
/** The line of the second chapter, with which the first ends. */
const second = chapters[1]?.line ?? 0

/** What the first chapter asks for. */
const asked = planOf(readme).steps.filter(({ kind, line }) => line < second && (kind === 'command' || kind === 'open'))

/** Generous: it compiles first. */
const patienceMs = 60_000

t.test('the README is short', async (t) => {
  t.ok(Buffer.byteLength(readme.text) <= 10_240, `${Buffer.byteLength(readme.text)} bytes, 10240 at most`)
})

t.test('the README begins with a minute of six numbered commands, one of them in a browser', async (t) => {
  t.match(
    chapters.map(({ title }) => title),
    ['The first minute', 'The minute with keys'],
  )
  const lines = readme.text.split('\n')
  const asked = planOf(readme).steps.filter(
    ({ kind, line }) => line < second && (kind === 'command' || kind === 'open'),
  )
  const numbers = asked.map((step) =>
    Number(/^(\d)\. /.exec(step.kind === 'command' ? step.claim.comment : lines[step.line - 1]!)?.[1]),
  )
  t.same(numbers.slice(0, 6), [1, 2, 3, 4, 5, 6], 'each number is one command')
  t.same(
    asked
      .slice(0, 6)
      .map((step) => (step.kind === 'command' ? /npm ci|npm start|curl/.exec(step.text)?.[0] : step.kind)),
    ['npm ci', 'npm start', 'curl', 'open', 'curl', 'curl'],
  )
  for (const step of asked.slice(0, 6))
    if (step.kind === 'command') t.notMatch(step.text, /&&|;|\n/, 'it is one command')
})

t.test(
  'the first minute works: npm start, curl, a person in a browser, and what the README says is seen',
  async (t) => {
    if (!needs(t, 'curl', 'Chromium')) return
    const browser = await launchBrowser()
    t.teardown(() => browser.close())
    const request = /-d '([^']*)'/.exec(asked[2]!.kind === 'command' ? asked[2]!.text : '')![1]!
    const { action, description, details } = JSON.parse(request) as Record<string, string>
    let home = ''
    const { ran, failures } = await follow(t, readme, {
      lines: { from: 1, to: second },
      async start({ env }) {
        home = env.HOME!
        return npmStart(t, env)
      },
      async open(url) {
        const page = await browser.newPage()
        await page.goto(url)
        t.match(await page.locator('main').innerText(), action, 'the list has the request')
        await page.getByRole('link', { name: action! }).click()
        await page.getByRole('heading', { name: action! }).waitFor()
        const shown = await page.locator('main').innerText()
        for (const word of [description, ...Object.values(details!)]) t.match(shown, String(word))
        t.equal(await page.getByRole('radio', { checked: true }).count(), 0, 'nothing is chosen beforehand')
        await page
          .getByRole('radio', { name: /^Approve/ })
          .first()
          .check()
        await page.getByRole('button', { name: 'Send decision' }).click()
        await page.getByText('Approved').first().waitFor()
      },
    })
    for (const failure of failures) t.fail(failure)
    t.ok(existsSync(join(home, '.hermes/confirmation_audit.db')), 'the database is below the home folder')
    const printed = (number: number) => {
      const step = ran.find(({ command }) => command.claim.comment.startsWith(`${number}. `))
      return step === undefined ? '' : `${step.stderr}${step.stdout}`
    }
    t.equal(printed(3), '202\n')
    t.equal(printed(5), '200\napproved\n')
    t.equal(printed(6), '200\nclaimed\n')
  },
)

t.test('what comes after the first minute works', async (t) => {
  if (!needs(t, 'curl')) return
  const { ran, failures } = await follow(t, readme, { lines: { from: second, to: Infinity } })
  for (const failure of failures) t.fail(failure)
  t.ok(ran.length > 5, 'there is a minute with keys')
})

/** What a reader types, in a clone, with a home folder of their own. The ports are free ones, so that others may run. */
async function npmStart(t: Test, { HOME }: Launch['env']): Promise<Started & { dbPath: string }> {
  const child = spawn('npm', ['start'], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', HOME, CONFIRMATION_PORT: '0', CONFIRMATION_WEB_PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: npm, its shell and the program end together.
    detached: true,
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const end = async (signal: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, signal)
    } catch {
      // It has ended already.
    }
    await exited
  }
  t.teardown(() => end('SIGKILL'))
  let said = ''
  const ready = new Promise<{ url: string; web: string; db: string }>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`npm start is not ready in time:\n${said}`)), patienceMs)
    const hear = (text: string) => {
      said += text
      const line = said
        .split('\n')
        .find((one) => one.startsWith('{') && one.endsWith('}') && one.includes(' is ready: '))
      if (line === undefined) return
      clearTimeout(timer)
      resolve(JSON.parse(line) as { url: string; web: string; db: string })
    }
    child.stdout.setEncoding('utf8').on('data', hear)
    child.stderr.setEncoding('utf8').on('data', hear)
    void exited.then(() => {
      clearTimeout(timer)
      reject(new Error(`npm start ended:\n${said}`))
    })
  })
  const { url, web, db } = await ready
  return {
    port: Number(new URL(url).port),
    webPort: Number(new URL(web).port),
    dbPath: db,
    stop: () => end('SIGTERM'),
  }
}
