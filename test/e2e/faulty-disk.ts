// The program on a disk that can be made slow, or made to fail.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '../support.js'
import { root } from './program.js'

export interface FaultyDisk {
  /** What the program needs in its environment. */
  env: Record<string, string>
  /** `slow 20` takes 20 ms longer for each sync, `fail` fails it; empty: well again. */
  set(fault: `slow ${number}` | 'fail' | ''): void
}

/** To be called where `needs(t, 'a disk with faults')` says yes. */
export function faultyDisk(t: Test): FaultyDisk {
  const folder = temporaryFolder(t)
  const [library, control] = [join(folder, 'faulty-disk.so'), join(folder, 'fault')]
  const source = join(root, 'test/e2e/faulty-disk.c')
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'pipe' })
  writeFileSync(control, '')
  return { env: { LD_PRELOAD: library, FAULTY_DISK: control }, set: (fault) => writeFileSync(control, fault) }
}
