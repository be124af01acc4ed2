// The rules file: read whole or not at all.
import { readFileSync } from 'node:fs'
import { sha256 } from './core/digest.js'
import { readRules } from './policy/file.js'
import type { LoadedRules } from './service/service.js'

/** The file cannot be used; the message lists everything that is wrong with it. */
export class RulesRefused extends Error {
  override name = 'RulesRefused'
}

export interface ReadFile extends LoadedRules {
  warnings: string[]
}

export function loadRules(path: string): ReadFile {
  const text = readText(path)
  const read = readRules(text)
  if ('mistakes' in read) {
    const lines = read.mistakes.map((mistake) => `  - ${mistake}`)
    throw new RulesRefused(`The rules in ${path} cannot be used:\n${lines.join('\n')}`)
  }
  return { ...read, sha256: sha256(text) }
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new RulesRefused(`The rules in ${path} cannot be read: ${(error as Error).message}.`)
  }
}
