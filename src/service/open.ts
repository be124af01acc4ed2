// What waits for a person, by who asked and by what for: enough to say that somebody asks too much, or the same again.
import type { Confirmation } from '../core/model.js'
import type { Store } from '../store/store.js'

type Known = Pick<Confirmation, 'id' | 'requester' | 'digest'>

export type Open = ReturnType<typeof createOpen>

export function createOpen(store: Store) {
  const byRequester = new Map<string, Set<string>>()
  const byDigest = new Map<string, Set<string>>()

  store.subscribe(({ writes }) => {
    for (const write of writes) {
      if (write.kind !== 'confirmation') continue
      if (write.record.resolution === null) add(write.record)
      else remove(write.record)
    }
  })

  /** From when it is planned, so that many at once cannot pass for the first. */
  function add({ id, requester, digest }: Known): void {
    put(byRequester, requester, id)
    put(byDigest, digest, id)
  }

  function remove({ id, requester, digest }: Known): void {
    drop(byRequester, requester, id)
    drop(byDigest, digest, id)
  }

  return {
    async start(): Promise<void> {
      ;(await store.confirmations.pendingDigests()).forEach(add)
    },
    add,
    remove,
    countOf: (requester: string) => byRequester.get(requester)?.size ?? 0,
    /** The ids of those that are about the same. */
    alike: (digest: string) => [...(byDigest.get(digest) ?? [])],
  }
}

function put(map: Map<string, Set<string>>, key: string, id: string): void {
  const ids = map.get(key)
  if (ids === undefined) map.set(key, new Set([id]))
  else ids.add(id)
}

function drop(map: Map<string, Set<string>>, key: string, id: string): void {
  const ids = map.get(key)
  if (ids?.delete(id) === true && ids.size === 0) map.delete(key)
}
