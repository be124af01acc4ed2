// Until when a message is known to have gone out: who sees it may press its buttons, or reply to it, before that is on disk.
import type { Clock } from '../clock.js'
import type { ChatName, Delivery, DeliveryKey, MessageRef } from '../core/model.js'
import { isSameDelivery } from '../notify/delivery.js'
import type { Reference, Store } from '../store/store.js'

/** Longer than a commit takes on a slow disk, and less than a press may go without an answer. */
const patienceMs = 2000

export function createArrival({ follow, deliveries }: Pick<Store, 'follow' | 'deliveries'>, clock: Clock) {
  /** What is found now, or after a change that concerns it; undefined when that takes too long. */
  async function lookFor<T>(find: () => Promise<T | undefined>, concerns: (one: Reference) => boolean) {
    let ring = () => {}
    let isLate = false
    const unfollow = follow(({ changed }) => {
      if (changed.some(concerns)) ring()
    })
    const callOff = clock.after(patienceMs, () => {
      isLate = true
      ring()
    })
    try {
      for (;;) {
        const rang = new Promise<void>((resolve) => (ring = resolve))
        // Looked for once it is listened for, so that nothing is missed in between.
        const found = await find()
        if (found !== undefined || isLate) return found
        await rang
      }
    } finally {
      unfollow()
      callOff()
    }
  }

  return {
    /** Resolves once it is known which message this delivery is, or when that took too long. */
    async whenSent(of: DeliveryKey): Promise<void> {
      const { subjectId, channel } = of
      const find = async () =>
        (await deliveries.of(subjectId)).find((one) => isSameDelivery(one, of) && one.message !== null)
      await lookFor(find, (one) => one.kind === 'delivery' && one.id === subjectId && one.channel === channel)
    },

    /** The delivery of a message of ours; undefined: none, as far as can be told by then. */
    findSent(channel: ChatName, message: MessageRef): Promise<Delivery | undefined> {
      const find = () => deliveries.ofMessage(channel, message)
      return lookFor(find, (one) => one.kind === 'delivery' && one.channel === channel)
    },
  }
}
