// Places of which there is a bound for all and a share for each requester, so that one never takes what the others need.

/** Why there is no place: the requester's share is used up, or the bound for all. */
export type Lack = 'share' | 'bound'

export interface Shares {
  /** Takes a place, or several; what it answers with gives them back, once. Null is everybody, who has the whole bound. */
  take(who: string | null, size?: number): (() => void) | Lack
  taken(): number
}

export function createShares({ total, each }: { total: number; each: number }): Shares {
  // Only who has a place is remembered, so the bound is one on names too.
  const byName = new Map<string | null, number>()
  let taken = 0

  function give(who: string | null, size: number): void {
    taken -= size
    const left = byName.get(who)! - size
    if (left === 0) byName.delete(who)
    else byName.set(who, left)
  }

  return {
    take(who, size = 1) {
      const own = byName.get(who) ?? 0
      if (who !== null && own + size > each) return 'share'
      if (taken + size > total) return 'bound'
      taken += size
      byName.set(who, own + size)
      let isTaken = true
      return () => {
        if (isTaken) give(who, size)
        isTaken = false
      }
    },
    taken: () => taken,
  }
}
