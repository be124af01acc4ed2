// What the disk does by itself: how long it takes to write a little and have it safe.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const times = 200
/** About what a small group of submissions writes. */
const piece = Buffer.alloc(64 * 1024, 1)

/** In ms, each. */
export function syncTimes(folder: string): number[] {
  const file = openSync(join(folder, 'synced'), 'w')
  try {
    return Array.from({ length: times }, () => {
      const began = performance.now()
      writeSync(file, piece)
      fsyncSync(file)
      return performance.now() - began
    })
  } finally {
    closeSync(file)
  }
}
