// The rules file as a report shows it.
import { statSync } from 'node:fs'
import { sha256 } from '../core/digest.js'
import { readRules } from '../policy/file.js'
import { readText } from '../rules-file.js'
import { maskSetting } from './mask.js'

export interface SeenRules {
  path: string
  sha256: string | null
  /** Null where the file cannot be used. */
  rules: number | null
  warnings: string[]
  mistakes: string[]
  /** Why it cannot be read. */
  error: string | null
}

export function seeRules(path: string): SeenRules {
  const none = { path, sha256: null, rules: null, warnings: [], mistakes: [] }
  let text: string
  try {
    // What is read from a pipe is gone for the service.
    if (!statSync(path).isFile()) return { ...none, error: 'it is no regular file, and was not read' }
    text = readText(path)
  } catch (error) {
    return {
      ...none,
      error: `it cannot be read (${(error as NodeJS.ErrnoException).code ?? (error as Error).message})`,
    }
  }
  const found = { ...none, sha256: sha256(text), error: null }
  const read = readRules(text)
  if ('mistakes' in read) return { ...found, mistakes: read.mistakes.map(maskSetting) }
  return { ...found, rules: read.rules.length, warnings: read.warnings.map(maskSetting) }
}
