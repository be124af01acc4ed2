// Until when a message is known to have gone out: who sees it may press its buttons before that is on disk.
import type { Clock } from '../clock.js'
import type { DeliveryKey } from '../core/model.js'
import type { Store } from '../store/store.js'

/** Longer than a commit takes on a slow disk, and less than a press may go without an answer. */
const patienceMs = 2000

/** Resolves with the next change of any delivery of the same request in that chat, or when it took too long. */
export function createWhenSent({ follow, deliveries }: Pick<Store, 'follow' | 'deliveries'>, clock: Clock) {
  return async ({ subjectId, channel, destination, occasion }: DeliveryKey): Promise<void> => {
    let stop = () => {}
    const over = new Promise<void>((resolve) => {
      const unfollow = follow(({ changed }) => {
        if (changed.some((one) => one.kind === 'delivery' && one.id === subjectId && one.channel === channel)) resolve()
      })
      const callOff = clock.after(patienceMs, resolve)
      stop = () => {
        unfollow()
        callOff()
      }
    })
    // Looked for once it is listened for, so that nothing is missed in between.
    const isSent = (await deliveries.of(subjectId)).some(
      (one) =>
        one.channel === channel && one.destination === destination && one.occasion === occasion && one.message !== null,
    )
    if (!isSent) await over
    stop()
  }
}
