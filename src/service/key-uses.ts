// When each key was used last: noted in memory with each request, so that it costs none of them a commit, and written
// once a minute.
import { type Clock, createAlarm } from '../clock.js'
import { type Store, StoreUnavailable } from '../store/store.js'

/** As much as a crash may forget. */
const writeMs = 60_000

export type KeyUses = ReturnType<typeof createKeyUses>

export function createKeyUses(store: Store, clock: Clock) {
  /** By key, and of those that are good alone: what is not written yet. */
  const noted = new Map<string, number>()
  const alarm = createAlarm(clock, async () => {
    await write()
    return noted.size === 0 ? undefined : clock.now() + writeMs
  })

  /** What cannot be written now stays noted. */
  async function write(): Promise<void> {
    const uses = [...noted].map(([keyId, usedAt]) => ({ keyId, usedAt }))
    if (uses.length === 0) return
    try {
      await store.keyUses.note(uses)
    } catch (error) {
      if (error instanceof StoreUnavailable) return
      throw error
    }
    for (const { keyId, usedAt } of uses) if (noted.get(keyId) === usedAt) noted.delete(keyId)
  }

  return {
    note(keyId: string): void {
      const now = clock.now()
      noted.set(keyId, now)
      alarm.by(now + writeMs)
    },

    /** By key; what is not in it was never used. */
    async read(): Promise<Map<string, number>> {
      const last = new Map((await store.keyUses.list()).map(({ keyId, usedAt }) => [keyId, usedAt]))
      for (const [keyId, usedAt] of noted) last.set(keyId, Math.max(usedAt, last.get(keyId) ?? 0))
      return last
    },

    async stop(): Promise<void> {
      await alarm.stop()
      await write()
    },
  }
}
