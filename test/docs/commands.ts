// What a document asks of its reader: commands in their order, the files they need, and what is said of their answers.
import { spawnSync } from 'node:child_process'
import { problems } from '../../src/routes/errors.js'
import { type ChatToPlay, chatsToPlay } from './chats.js'
import { type Block, type Document, takeApart } from './markdown.js'

export const shells = ['bash', 'sh', 'shell', 'console']
/** A new language is added here, once somebody has seen that it is no other name for a shell. */
const shown = ['text', 'yaml', 'json', 'js', 'ts', 'nginx', 'ini', 'http', 'sql', 'python', 'dockerfile', 'diff']
/** Comments that direct other tools. */
const others = /^(generated: |end of generated|prettier-ignore)/

/** Commands below one comment, up to the next, and what it says of the last HTTP response among them. */
export interface Claim {
  comment: string
  /** The status that the last answer has; without one, all are below 400. */
  status: number | null
  /** A problem code in the body of that answer. */
  code: string | null
  /** A word that is printed. */
  prints: string | null
}

export interface Command {
  kind: 'command'
  /** Where it stands in the file, from 1. */
  line: number
  text: string
  claim: Claim
}

export type Step =
  | Command
  | { kind: 'fresh'; line: number; flags: string[] }
  | { kind: 'stop'; line: number }
  | { kind: 'file'; line: number; name: string; content: string }
  | { kind: 'open'; line: number; url: string }
  | { kind: 'chat'; line: number; name: ChatToPlay }
  | { kind: 'press'; line: number; name: ChatToPlay; label: string }

export interface Plan {
  steps: Step[]
  mistakes: string[]
}

/**
 * Every shell block is run, in order, in one bash, against a program that runs. HTML comments right before a block direct
 * that:
 *
 *     <!-- not run: why -->      it is only looked through for mistakes in its syntax
 *     <!-- fresh: flags -->      before it, another program is started, with these flags and an empty database
 *     <!-- stop -->              before it, the program is stopped, until the next `npm start`
 *     <!-- file: name -->        whatever its language, it is saved under this name
 *     <!-- chat: name -->        before it, this chat is played: the shell's variables lead there, and to no other
 *
 * `npm start`, with flags and variables, starts the program anew on the same database. In prose, `open <http://...>` is
 * what a person does in a browser, and `press **Approve**, then **Yes, approve** in Slack` what they do in a chat.
 *
 * A comment in a block describes the commands below it, up to the next comment. The status that it names is that of the
 * last answer among them, a problem code is in its body, and `prints: word` is printed. All other answers are below 400.
 */
export function planOf(document: Document): Plan {
  const { blocks, prose, mistakes } = takeApart(document)
  const steps: Step[] = prose.flatMap((text, index) => [...opens(text, index + 1), ...presses(text, index + 1)])
  for (const block of blocks) {
    const plan = planOfBlock(block)
    steps.push(...plan.steps)
    mistakes.push(...plan.mistakes.map((mistake) => `${document.name}:${mistake}`))
  }
  return { steps: steps.toSorted((one, other) => one.line - other.line), mistakes }
}

function opens(text: string, line: number): Step[] {
  const found = /\bopen <(http:[^>]+)>/i.exec(text)
  return found === null ? [] : [{ kind: 'open', line, url: found[1]! }]
}

/** What is pressed and where stands on one line. */
function presses(text: string, line: number): Step[] {
  const [, labels, title] = /\bpress (\*\*[^.]+\*\*) in ([A-Z]\w+)/i.exec(text) ?? []
  const name = chatsToPlay.find((one) => one === title?.toLowerCase())
  if (labels === undefined || name === undefined) return []
  return [...labels.matchAll(/\*\*([^*]+)\*\*/g)].map(([, label]) => ({ kind: 'press', line, name, label: label! }))
}

function planOfBlock(block: Block): Plan {
  const { language, line, lines } = block
  const isShell = shells.includes(language)
  const before: Step[] = []
  let reason: string | null = null
  let file: string | null = null
  const refuse = (mistake: string, at = line): Plan => ({ steps: [], mistakes: [`${at}: ${mistake}`] })

  if (!isShell && !shown.includes(language)) {
    return refuse(`a block of ${language === '' ? 'no language' : language}: is it a shell? (${shells.join(', ')})`)
  }
  for (const directive of block.directives.filter((one) => !others.test(one))) {
    const [, name, value] = /^([^:]*?)(?:: *(.*))?$/.exec(directive)!
    if (name === 'not run') reason = value ?? ''
    else if (name === 'file') file = value ?? ''
    else if (name === 'fresh') before.push({ kind: 'fresh', line, flags: (value ?? '').split(' ').filter(Boolean) })
    else if (name === 'stop') before.push({ kind: 'stop', line })
    else if (name === 'chat') {
      const chat = chatsToPlay.find((one) => one === value)
      if (chat === undefined) return refuse(`nobody plays ${value}: ${chatsToPlay.join(', ')}`)
      before.push({ kind: 'chat', line, name: chat })
    } else return refuse(`nobody knows what to do with <!-- ${directive} -->`)
  }
  if (isShell) {
    const problem = syntaxProblem(lines.join('\n'))
    if (problem !== null) return refuse(`bash cannot read this block: ${problem}`)
  }
  if (file !== null) {
    if (!/^\w[\w.-]*$/.test(file) || before.length > 0) return refuse(`<!-- file: ${file} --> is no plain name`)
    return { steps: [{ kind: 'file', line, name: file, content: `${lines.join('\n')}\n` }], mistakes: [] }
  }
  if (!isShell) return block.directives.some((one) => !others.test(one)) ? refuse('only shells are run') : nothing
  if (reason !== null) return isReason(reason) ? nothing : refuse(`"not run: ${reason}" gives no reason`)
  const { steps, mistakes } = commandsOf(lines, line)
  return { steps: [...before, ...steps], mistakes }
}

const nothing: Plan = { steps: [], mistakes: [] }

function isReason(reason: string): boolean {
  return reason.length >= 15 && reason.split(' ').length >= 3
}

function commandsOf(lines: string[], first: number): Plan {
  const steps: Step[] = []
  const mistakes: string[] = []
  let comments: string[] = []
  let claim = claimOf('')
  let begun: { line: number; lines: string[] } | null = null
  lines.forEach((text, index) => {
    if (begun === null) {
      if (text.trim() === '') return
      const comment = /^\s*#+ ?(.*)$/.exec(text)
      if (comment !== null) {
        comments.push(comment[1]!)
        return
      }
      begun = { line: first + index, lines: [] }
    }
    begun.lines.push(text)
    const whole = begun.lines.join('\n')
    if (!isComplete(whole)) return
    // A comment behind a command is its own, and ends with it.
    const behind = /\s#+ ([^'"]*)$/.exec(text)?.[1]
    if (comments.length > 0) claim = claimOf(comments.join(' '))
    steps.push({
      kind: 'command',
      line: begun.line,
      text: whole,
      claim: behind === undefined ? claim : claimOf([...comments, behind].join(' ')),
    })
    if (behind !== undefined) claim = claimOf('')
    comments = []
    begun = null
  })
  if (begun !== null) mistakes.push(`${(begun as { line: number }).line}: this command has no end`)
  const rest = claimOf(comments.join(' '))
  if (rest.status !== null) mistakes.push(`${first + lines.length - 1}: "${rest.comment}" has no command below it`)
  for (const { line, claim } of steps.filter((step) => step.kind === 'command')) {
    const named = [...new Set(statusesIn(claim.comment))]
    if (named.length > 1)
      mistakes.push(`${line}: "${claim.comment}" names ${named.join(' and ')}: which of them is it?`)
  }
  return { steps, mistakes }
}

/** One line with nothing in it that may go on in the next. To ask bash about each takes most of the time of reading. */
const surelyComplete = /^(?!(?:if|for|while|until|case|select|function|coproc|time)\b)[^\n'"`\\(){}<|&#!]*$/

/** Bash reads it to its end, wants no more, and misses no end of a here-document. */
function isComplete(script: string): boolean {
  if (surelyComplete.test(script)) return true
  return !/(?:^|[^\\])(?:\\\\)*\\$/.test(script) && syntaxProblem(script) === null
}

function syntaxProblem(script: string): string | null {
  const { status, stderr } = spawnSync('bash', ['--norc', '-n'], { input: `${script}\n`, encoding: 'utf8' })
  return status === 0 && stderr === '' ? null : stderr.trim()
}

const statuses = new Set([200, 201, 202, 204, 303, 304, ...Object.values(problems).map(({ status }) => status)])

function statusesIn(comment: string): number[] {
  return [...comment.matchAll(/(?<![\w.:/#-])\d{3}(?![\w%/-]|[.,]\d)/g)].map(Number).filter((one) => statuses.has(one))
}

function claimOf(comment: string): Claim {
  const word = [...comment.matchAll(/\w+/g)].map(String).find((one) => one in problems && one.includes('_'))
  const behind = /(?<!\w)\d{3},? `?([a-z]+(?:_[a-z]+)+)\b/.exec(comment)?.[1]
  const plain = /(?<!\w)\d{3},? `?(unauthorized|forbidden|contended)\b/.exec(comment)?.[1]
  const code = behind ?? word ?? plain ?? null
  const implied = code !== null && code in problems ? problems[code as keyof typeof problems].status : null
  return {
    comment,
    status: statusesIn(comment)[0] ?? implied,
    code,
    prints: /\bprints: `?([^\s`,]*[^\s`,.])/.exec(comment)?.[1] ?? null,
  }
}
