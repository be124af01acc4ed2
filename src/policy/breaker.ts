// `breaker`: how many denials in a row a session may have, from a rule of the file.
import type { z } from 'zod'
import { closed, explain, filled, whole } from './parts.js'
import { type Breaker, defaultBreaker } from './policy.js'
import type { Finding } from './sentences.js'
import type { Path } from './yaml.js'

const maxInRow = 1000
const maxWaitSeconds = 86_400

const inRow = () => whole(0, maxInRow, `must be a whole number from 0 (never) to ${maxInRow}`).optional()
const takes = `0 (never) to ${maxInRow}`

const shape = {
  warn: explain(inRow(), 'At so many, the next answer and the next notification carry a warning.', {
    takes,
    leftOut: String(defaultBreaker.warnAt),
  }),
  wait: explain(inRow(), "At so many, the session's whitelist entries are revoked, and it must wait.", {
    takes,
    leftOut: String(defaultBreaker.waitAt),
  }),
  suspend: explain(inRow(), 'At so many, the session is suspended until an operator lifts that.', {
    takes,
    leftOut: String(defaultBreaker.suspendAt),
  }),
  wait_seconds: explain(whole(1, maxWaitSeconds).optional(), 'How long it must wait.', {
    takes: `1 to ${maxWaitSeconds}`,
    leftOut: String(defaultBreaker.waitMs / 1000),
  }),
  fixation: explain(
    inRow(),
    'So many requests in a row for the same action with other details, and the request carries a warning.',
    { takes, leftOut: String(defaultBreaker.fixationAt) },
  ),
}

export const breakerSchema = filled(
  closed('part of `breaker`', shape, 'must be made of numbers, such as `{ warn: 3, wait: 6, suspend: 9 }`'),
).superRefine((given, context) => {
  const { warnAt, waitAt, suspendAt } = breakerFrom(given)
  const steps = [warnAt, waitAt, suspendAt].filter((step) => step !== 0)
  if (steps.every((step, index) => index === 0 || step > steps[index - 1]!)) return
  const message =
    `must have \`warn\` below \`wait\` below \`suspend\`, where they are not 0; with what is left out they are ` +
    `${warnAt}, ${waitAt} and ${suspendAt}`
  context.addIssue({ code: 'custom', message })
})

/** Every part of a breaker, in the order of the manual. */
export const breakerParts = shape

export type BreakerSettings = z.output<typeof breakerSchema> | undefined

export function breakerFrom(given: BreakerSettings): Breaker {
  if (given === undefined) return defaultBreaker
  const { warn, wait, suspend, wait_seconds: waitSeconds, fixation } = given
  return {
    warnAt: warn ?? defaultBreaker.warnAt,
    waitAt: wait ?? defaultBreaker.waitAt,
    suspendAt: suspend ?? defaultBreaker.suspendAt,
    waitMs: waitSeconds === undefined ? defaultBreaker.waitMs : waitSeconds * 1000,
    fixationAt: fixation ?? defaultBreaker.fixationAt,
  }
}

/** What it says to no effect. */
export function warnAboutBreaker(given: BreakerSettings, place: Path): Finding[] {
  if (given?.wait !== 0 || given.wait_seconds === undefined) return []
  const sentence = '`wait_seconds` has no effect here: with `wait: 0` nobody must wait'
  return [{ path: [...place, 'wait_seconds'], sentence }]
}
