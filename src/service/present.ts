// What is read is what stands: before anybody is told what time has done to a record, whatever may still have come in time
// has ended.
import type { Clock } from '../clock.js'
import { dueAt } from '../core/confirmation.js'
import type { Confirmation } from '../core/model.js'
import type { Store } from '../store/store.js'

export type Present = ReturnType<typeof createPresent>

export function createPresent(store: Pick<Store, 'settledBefore'>, clock: Clock) {
  /**
   * What `read` answers, and the time as of which it may be judged. A record that is due was read after everything had
   * ended that was sent to be written before that: nothing that comes later can keep it from being over.
   */
  return async <T>(read: () => Promise<T>, recordsOf: (found: T) => readonly Confirmation[]) => {
    let settled = -Infinity
    for (;;) {
      const found = await read()
      const now = clock.now()
      let due = -Infinity
      for (const record of recordsOf(found)) {
        const at = dueAt(record)
        if (at !== null && at <= now && at > due) due = at
      }
      if (due <= settled) return { found, now }
      await store.settledBefore(due)
      settled = due
    }
  }
}

/** For `recordsOf`, where one record is read, if there is one. */
export function only(found: Confirmation | undefined): readonly Confirmation[] {
  return found === undefined ? [] : [found]
}
