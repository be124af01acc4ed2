// A test message through each chat, and in words what is wrong where it does not arrive.
import { inert } from '../core/json.js'
import type { Chat, Probe, SendOutcome, Text } from '../notify/chat.js'
import { createChats } from '../notify/chats.js'
import { version } from '../version.js'
import type { Context } from './key-commands.js'
import { type Output, printJson } from './output.js'

/** What came of one chat's test. */
interface Tested {
  name: string
  works: boolean
  as: string | null
  /** What is wrong, and how to mend it; null: nothing. */
  problem: string | null
}

const message: Text = {
  lines: [
    [{ bold: '🔔 A test of Holdpoint' }],
    [{ ours: 'Whoever reads this is told when an agent asks for something. There is nothing to decide.' }],
  ],
  link: null,
}

/** False: some chat does not work, or there is none. */
export async function testChats({ given, config, output }: Context): Promise<boolean> {
  const chats = createChats(config, version)
  if (chats.length === 0) {
    output.tell('No chat is set up: set TELEGRAM_BOT_TOKEN and TELEGRAM_HOME_CHANNEL, or those of another chat.')
    if (given.options.json === true) printJson(output, [])
    return false
  }
  const all: Tested[] = []
  for (const chat of chats) {
    output.show?.(`${chat.name} …`)
    all.push(await test(chat))
  }
  output.show?.('')
  if (given.options.json === true) printJson(output, all)
  else for (const one of all) say(output, one)
  return all.every(({ works }) => works)
}

function say({ print }: Output, { name, works, as, problem }: Tested): void {
  const who = as === null ? '' : ` as ${as}`
  print(inert(works ? `${name}: the test message was sent${who}` : `${name}: ${problem!}`))
  if (works && problem !== null) print(inert(`  ${problem}`))
}

async function test(chat: Chat): Promise<Tested> {
  const never = new AbortController().signal
  const found = await chat.probe(never)
  const as = found.state === 'reachable' ? found.as : null
  // One that was not reached now may be in a moment; what is refused will be refused.
  if (found.state !== 'reachable') return { name: chat.name, works: false, as, problem: sayProbe(found) }
  const outcome = await chat.sendText(message, '', `test:${Date.now()}`, never)
  const but = found.state === 'reachable' ? (found.but ?? null) : null
  const works = outcome.kind === 'sent'
  return { name: chat.name, works, as, problem: works ? but : sayOutcome(outcome) }
}

function sayProbe(found: Exclude<Probe, { state: 'reachable' }>): string {
  if (found.state === 'refused') return `${found.error}. ${found.mend}`
  return `not reached: ${found.error}. See whether this machine reaches it, and try again.`
}

function sayOutcome(outcome: Exclude<SendOutcome, { kind: 'sent' }>): string {
  if (outcome.kind === 'busy') {
    return `it takes no message for ${Math.ceil(outcome.retryAfterMs / 1000)} s: ${outcome.error}. Try again then.`
  }
  const mend =
    outcome.kind === 'failed'
      ? 'Try again; and see whether this machine reaches it.'
      : 'See that the bot may write there: that it is in the chat and may send messages, or that whoever reads it has not blocked it.'
  return `the test message was not taken: ${outcome.error}. ${mend}`
}
