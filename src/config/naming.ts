// How messages repeat a name that is not known, and name the one that was meant.
import { nearTo } from '../core/closest.js'
import { cut } from '../core/cut.js'
import { visibleLine } from '../core/visible.js'

/** More of a name is not repeated. */
const maxShown = 80

export function shorten(name: string): string {
  return cut(visibleLine(name), maxShown)
}

export function didYouMean(name: string, known: string[], prefix = ''): string {
  const meant = nearTo(name, known)
  return meant === undefined ? '' : `; did you mean ${prefix}${meant}?`
}
