// What the program runs on.
import { existsSync, readFileSync } from 'node:fs'
import { arch, availableParallelism, freemem, platform, release, totalmem } from 'node:os'

export interface Platform {
  os: string
  release: string
  arch: string
  container: string | null
  memory_bytes: number
  memory_free_bytes: number
  /** Less than the machine has, where the process is kept to that. */
  memory_limit_bytes: number | null
  cpus: number
}

export function describePlatform(): Platform {
  const memory = totalmem()
  const limit = process.constrainedMemory()
  return {
    os: platform(),
    release: release(),
    arch: arch(),
    container: findContainer(),
    memory_bytes: memory,
    memory_free_bytes: freemem(),
    memory_limit_bytes: limit > 0 && limit < memory ? limit : null,
    cpus: availableParallelism(),
  }
}

function findContainer(): string | null {
  if (existsSync('/var/run/secrets/kubernetes.io')) return 'kubernetes'
  if (existsSync('/.dockerenv')) return 'docker'
  if (existsSync('/run/.containerenv')) return 'podman'
  try {
    return /\b(docker|kubepods|containerd|lxc|podman)\b/.exec(readFileSync('/proc/1/cgroup', 'utf8'))?.[1] ?? null
  } catch {
    return null
  }
}
