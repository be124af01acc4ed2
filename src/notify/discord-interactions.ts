// What people do in Discord: presses, forms and commands, each an interaction that must be answered within three seconds,
// whatever the disk does.
import { cut } from '../core/cut.js'
import type { MessageRef } from '../core/model.js'
import { visibleLine } from '../core/visible.js'
import { boundPause, type Ears, type Press, type PressAnswer, type Somebody } from './chat.js'
import { backoff } from './delivery.js'
import type { CallDiscord } from './discord.js'
import { reasonInput, renderForm, renderWhisper } from './discord-embeds.js'
import { problemWithHearing } from './discord-probe.js'
import { type Fields, fieldsOf, listOf } from './fields.js'

export interface InteractionDeps {
  call: CallDiscord
  /** The channel of the settings. */
  channelId: string
  ears: Ears
}

/** Whether presses come in, as far as one thing says so: buttons do nothing unless all do. */
export type SetHeard = (by: 'gateway' | 'application', isHeard: boolean) => void

/** Gives the first answer, which is due within three seconds. */
type Answer = (first: object) => Promise<void>

export interface Interactions {
  /** `known`: it came before, so it is not handled again. Only what is taken is answered. */
  take(interaction: Fields, answer: Answer): 'taken' | 'known' | 'malformed'
  stop(graceMs: number): Promise<void>
}

/** Of the three seconds, as long as a press may take before it is answered without its outcome. */
const inTimeMs = 1500
/** So often it is looked whether presses come in this way: while they do, and while they do not. */
const lookAgainMs = { heard: 3_600_000, unheard: 60_000 }
const mostRemembered = 10_000
/** Where Discord does not say how long: ten thousand refusals in ten minutes get an address banned. */
const usualPauseMs = 5000

const kinds = { command: 2, press: 3, form: 5 }
const answers = { message: 4, form: 9 }
/** The message stays as it is until it is edited. */
export const nothingToSay = { type: 6 }

/** `memoryMs`: how long what comes again is known. */
export function createInteractions({ call, channelId, ears }: InteractionDeps, memoryMs: number): Interactions {
  const stopping = new AbortController()
  const work = new Set<Promise<void>>()
  /** With when each came, the oldest first. */
  const seen = new Map<string, number>()

  function isKnown(id: string): boolean {
    const now = ears.clock.now()
    for (const [first, at] of seen) {
      if (now - at <= memoryMs && seen.size < mostRemembered) break
      seen.delete(first)
    }
    const isOld = seen.has(id)
    if (!isOld) seen.set(id, now)
    return isOld
  }

  async function takePress(interaction: Fields, answer: Answer): Promise<void> {
    const { custom_id: id, components } = fieldsOf(interaction.data)
    const press: Press = {
      by: whoIn(interaction),
      data: typeof id === 'string' ? id : '',
      message: messageIn(interaction),
      // Nothing written is an answer, too.
      reason: interaction.type === kinds.form ? reasonIn(components) : null,
    }
    const answering = ears.press(press)
    const early = await inTime(answering)
    if (early !== null) return answer(firstOf(early))
    await answer(nothingToSay)
    const late = await answering
    if (late.kind === 'form') await whisperLate(interaction, 'The form could not be opened in time. Press again.')
    else if (late.isAlert) await whisperLate(interaction, late.text)
  }

  function inTime(answering: Promise<PressAnswer>): Promise<PressAnswer | null> {
    return new Promise((resolve, reject) => {
      const callOff = ears.clock.wake(ears.clock.now() + inTimeMs, () => resolve(null))
      answering.then(resolve, reject).finally(callOff)
    })
  }

  async function whisperLate({ application_id: application, token }: Fields, text: string): Promise<void> {
    const path = `/webhooks/${encodeURIComponent(String(application))}/${encodeURIComponent(String(token))}`
    const told = await call('POST', path, renderWhisper(text), stopping.signal)
    if (!isTaken(told)) warnOf(told, ears, 'an answer to a press could not be shown')
  }

  async function takeCommand(interaction: Fields, id: string, answer: Answer): Promise<void> {
    const { name, options } = fieldsOf(interaction.data)
    const place = typeof interaction.channel_id === 'string' ? interaction.channel_id : ''
    const isHome = place === channelId
    const isPrivate = interaction.context === contexts.bot
    if (!isHome && !isPrivate) return answer(whisper('Write that in the channel of Holdpoint, or to its bot alone.'))
    // Nobody else sees this, and it gives nothing away.
    await answer(whisper('Taken. The answer follows here, for whoever may decide.'))
    const words = [name, ...listOf(options).map((one) => fieldsOf(one).value)]
    const text = `/${words.filter((one) => typeof one === 'string').join(' ')}`
    await ears.say({
      by: whoIn(interaction),
      place,
      isHome,
      isPrivate,
      text,
      replyTo: null,
      message: null,
      name: id,
      whisper: (said) => whisperLate(interaction, said),
    })
  }

  /** What goes wrong here must neither end the process nor leave whoever pressed without an answer. */
  async function handle(interaction: Fields, id: string, answer: Answer): Promise<void> {
    let isAnswered = false
    const answerOnce: Answer = async (first) => {
      if (isAnswered) return
      isAnswered = true
      await answer(first)
    }
    try {
      if (interaction.type === kinds.command) await takeCommand(interaction, id, answerOnce)
      else await takePress(interaction, answerOnce)
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      ears.log.warn(
        { channel: 'discord', error: cut(visibleLine(said), 300) },
        'discord: what somebody did failed here',
      )
      await answerOnce(whisper('Something went wrong here. See what the message says in a moment.'))
    }
  }

  return {
    take(interaction, answer) {
      const { id, type, token } = interaction
      if (typeof id !== 'string' || !isId(id) || typeof token !== 'string') return 'malformed'
      if (type !== kinds.command && type !== kinds.press && type !== kinds.form) return 'malformed'
      if (isKnown(id)) return 'known'
      const handled = handle(interaction, id, answer).finally(() => work.delete(handled))
      work.add(handled)
      return 'taken'
    },
    async stop(graceMs) {
      let timer: NodeJS.Timeout | undefined
      const over = new Promise((resolve) => (timer = setTimeout(resolve, graceMs)))
      await Promise.race([Promise.all(work), over])
      clearTimeout(timer)
      stopping.abort()
    },
  }
}

/**
 * Shows the commands in Discord's own menu. Where presses would come in another way than this it says so, once, and links take
 * the place of buttons until that is mended.
 */
export function offerCommands(
  { call, ears, setHeard }: Pick<InteractionDeps, 'call' | 'ears'> & { setHeard: SetHeard },
  publicKey: string | null,
): { stop(): void } {
  const { clock, log, random } = ears
  const stopping = new AbortController()
  let callOff = () => {}
  let isOffered = false
  let hasProblem = false

  async function look(tries: number): Promise<void> {
    const answer = await call('GET', '/applications/@me', null, stopping.signal)
    if (stopping.signal.aborted) return
    if (isForNow(answer)) return again(tries, answer)
    // A token that is no good is told of by whatever is sent.
    if (!isTaken(answer) || typeof answer.body.id !== 'string') return
    judge(problemWithHearing(answer.body, publicKey))
    if (!isOffered && !(await offer(answer.body.id, tries))) return
    wake(hasProblem ? lookAgainMs.unheard : lookAgainMs.heard, 1)
  }

  function judge(problem: ReturnType<typeof problemWithHearing>): void {
    if (problem !== null && !hasProblem) {
      log.warn({ channel: 'discord', error: problem.error }, `discord: ${problem.mend} ${untilMended}`)
    }
    if (problem === null && hasProblem)
      log.info({ channel: 'discord' }, 'discord: presses come in, so there are buttons')
    hasProblem = problem !== null
    setHeard('application', !hasProblem)
  }

  /** Whether there is nothing more to do about it. */
  async function offer(id: string, tries: number): Promise<boolean> {
    const path = `/applications/${encodeURIComponent(id)}/commands`
    const taken = await call('PUT', path, ears.commands.map(commandOf), stopping.signal)
    if (isForNow(taken)) {
      again(tries, taken)
      return false
    }
    if (!isTaken(taken)) warnOf(taken, ears, 'the menu of commands could not be set')
    isOffered = true
    return true
  }

  function again(tries: number, answer: Called): void {
    const wished = 'status' in answer ? pauseOf(answer) : 0
    wake(Math.max(wished, backoff(tries, random())), tries + 1)
  }

  function wake(afterMs: number, tries: number): void {
    if (stopping.signal.aborted) return
    callOff = clock.wake(clock.now() + afterMs, () => void look(tries))
  }

  void look(1)
  return {
    stop() {
      stopping.abort()
      callOff()
    },
  }
}

const untilMended = 'Until then links take the place of buttons in Discord.'

type Called = Awaited<ReturnType<CallDiscord>>

/** What Discord asks for, where it asks for a pause. */
export function pauseOf({ status, body, retryAfterMs }: Exclude<Called, { kind: 'failed' }>): number {
  const seconds = Number(body.retry_after ?? NaN)
  const wished = Number.isFinite(seconds) ? seconds * 1000 : retryAfterMs
  return status === 429 || wished !== null ? boundPause(wished ?? usualPauseMs) : 0
}

export function isTaken(answer: Called): answer is Exclude<Called, { kind: 'failed' }> {
  return 'status' in answer && answer.status >= 200 && answer.status < 300
}

/** It may be taken another time. */
function isForNow(answer: Called): boolean {
  return !('status' in answer) || answer.status === 429 || answer.status >= 500
}

/** What Discord says about it may repeat the address, which is a secret for as long as it can be answered. */
export function warnOf(answer: Called, { log }: Pick<Ears, 'log'>, what: string): void {
  const said = 'status' in answer ? `${answer.status} ${JSON.stringify(answer.body.code ?? null)}` : answer.error
  log.warn({ channel: 'discord', error: cut(visibleLine(said), 300) }, `discord: ${what}`)
}

/** In a server, and between somebody and the bot. */
const contexts = { server: 0, bot: 1 }
const text = 3
const idOption = { type: text, name: 'id', description: 'the id, or its last six or more characters', required: true }
const reasonOption = { type: text, name: 'reason', description: 'why, for the record' }
const options: Record<string, object[]> = { show: [idOption], approve: [idOption], deny: [idOption, reasonOption] }

function commandOf({ name, help }: Ears['commands'][number]): object {
  return {
    type: 1,
    name,
    description: help.slice(0, 100),
    options: options[name] ?? [],
    contexts: Object.values(contexts),
    integration_types: [0],
  }
}

function firstOf(answer: PressAnswer): object {
  if (answer.kind === 'form') return { type: answers.form, data: renderForm(answer) }
  // What is no alert is seen by how the message changes.
  return answer.isAlert ? whisper(answer.text) : nothingToSay
}

function whisper(text: string): object {
  return { type: answers.message, data: renderWhisper(text) }
}

/** In a server it is a member's. */
function whoIn({ member, user }: Fields): Somebody {
  const { id, bot, system } = fieldsOf(fieldsOf(member).user ?? user)
  const isPerson = typeof id === 'string' && isId(id) && bot !== true && system !== true
  return { channel: 'discord', id: isPerson ? id : '', isNobody: !isPerson }
}

function messageIn({ message, channel_id: place }: Fields): MessageRef | null {
  const { id, channel_id: chat = place } = fieldsOf(message)
  return typeof id === 'string' && typeof chat === 'string' ? { chat, id } : null
}

/** What was written stands in a label, or in a row. */
function reasonIn(components: unknown): string {
  const all = listOf(components).map(fieldsOf)
  const inputs = all.flatMap((one) => [one.component, ...listOf(one.components)]).map(fieldsOf)
  const { value } = inputs.find((one) => one.custom_id === reasonInput) ?? {}
  return typeof value === 'string' ? value : ''
}

function isId(text: string): boolean {
  return /^\d{1,32}$/.test(text)
}
