// holdpoint watch: what waits, live on the whole screen, to be opened and decided.
import { Refused, Unreachable } from '../../client/index.js'
import { visibleLine } from '../../core/visible.js'
import type { Context } from '../key-commands.js'
import { CommandRefused } from '../output.js'
import { openOverHttp, sayRefusal } from '../reach.js'
import { createFeed } from './feed.js'
import type { Key } from './keys.js'
import { draw } from './screen.js'
import { arrange, begin, type Effect, learn, type News, press, type State } from './state.js'
import { fillTerminal } from './terminal.js'

const now = () => Date.now()

export async function watch(context: Context): Promise<number> {
  const { output, given } = context
  const { stdin, stdout } = process
  const screen = output.screen?.('print') ?? null
  if (screen === null || !stdin.isTTY) {
    throw new CommandRefused('watch needs a terminal; pending lists what waits, and pending --json is for programs.')
  }
  if (!screen.canMove) {
    throw new CommandRefused('This terminal cannot be written to anywhere (TERM is dumb); pending lists what waits.')
  }
  const operator = openOverHttp(context)
  // What is wrong with the address or the key is said before the screen is taken.
  await operator.pending({ limit: 1 })
  await operator.call('GET', '/audit/events', { query: { limit: 1 } })

  const stop = new AbortController()
  let state: State = begin(operator.place, 80, 24)
  const terminal = fillTerminal(stdin, stdout, screen.hasColours, { keys, resized })
  const feed = createFeed(operator, tell, now, stop.signal)

  function show(): void {
    state = arrange({ ...state, ...terminal.size() })
    terminal.show(draw(state, now()))
  }

  function resized(): void {
    show()
  }

  function tell(news: News): void {
    const isBack = news.kind === 'live' && state.connection.kind === 'lost'
    state = learn(state, news, now())
    show()
    if (isBack && state.open !== null) void feed.load(state.open.id)
  }

  function keys(all: Key[]): void {
    for (const key of all) {
      const wasAsked = isAsked(state)
      const step = press(state, key, now())
      state = step.state
      show()
      if (step.effect !== undefined) carryOut(step.effect)
      // What came with the key that led to the question was no answer to it.
      if (isAsked(state) && !wasAsked) return
    }
  }

  function carryOut(effect: Effect): void {
    if (effect.kind === 'quit') terminal.end(0)
    else if (effect.kind === 'suspend') terminal.suspend()
    else if (effect.kind === 'redraw') terminal.redraw()
    else if (effect.kind === 'load') void feed.load(effect.id)
    else void decide(effect)
  }

  async function decide({ verdict, id, said }: Extract<Effect, { kind: 'decide' }>): Promise<void> {
    const by = given.options.by as string | undefined
    try {
      const { status, approvals_given, approvals_needed } = await operator[verdict](id, { by, ...said })
      const text =
        status === 'pending' ? `Recorded: ${approvals_given} of ${approvals_needed} approvals.` : `It is ${status}.`
      tell({ kind: 'answered', id, text, isGood: true })
    } catch (error) {
      tell({ kind: 'answered', id, text: sayFailure(error), isGood: false })
    }
    await feed.load(id)
  }

  const ticking = setInterval(show, 1000)
  try {
    show()
    const following = feed.run()
    const code = await terminal.ended
    stop.abort()
    await following
    return code
  } finally {
    clearInterval(ticking)
    operator.close()
  }
}

function isAsked({ open }: State): boolean {
  return open?.prompt?.kind === 'sure'
}

function sayFailure(error: unknown): string {
  if (error instanceof Refused) return sayRefusal(error)
  if (!(error instanceof Unreachable)) return visibleLine((error as Error).message)
  const uncertain = error.mayHaveArrived
    ? 'It may count or not: look at its state once the service is back.'
    : 'Nothing was decided.'
  return `${uncertain} ${visibleLine(error.message)}`
}
