// Values as JSON carries them: a copy that nobody can change, or a sentence about what would become something else on its way.
import { types } from 'node:util'
import { Invalid } from './errors.js'

export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

/** What the service takes. */
const maxDepth = 64
const maxValues = 10_000

/**
 * A copy of plain data, frozen all the way down, or `Invalid` with the place of what is none. No code of the value's is run,
 * and each property is read once: what is checked is what is kept.
 */
export function frozenCopy(value: unknown, name: string): JsonObject {
  const copied = new Copying().copy(value, [name])
  if (typeof copied !== 'object' || copied === null || Array.isArray(copied)) {
    throw new Invalid(`${name} must be an object.`)
  }
  return copied as JsonObject
}

class Copying {
  readonly #open = new Set<object>()
  #count = 0

  copy(value: unknown, path: readonly string[]): Json {
    if ((this.#count += 1) > maxValues) throw refusal(path, `makes it more than ${maxValues} values.`)
    switch (typeof value) {
      case 'string':
        if (!value.isWellFormed()) throw refusal(path, 'has half a character, a lone surrogate.')
        return value
      case 'boolean':
        return value
      case 'number':
        if (!Number.isFinite(value)) throw refusal(path, `is ${value}, which JSON cannot carry.`)
        if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
          throw refusal(path, 'is an integer beyond 2^53, where numbers are rounded; give it as text.')
        }
        // As it arrives: JSON has no -0.
        return value + 0
      case 'object':
        return value === null ? null : this.#copyInside(value, path)
      default:
        throw refusal(path, `is ${typeof value === 'undefined' ? '' : 'a '}${typeof value}, which JSON cannot carry.`)
    }
  }

  #copyInside(value: object, path: readonly string[]): Json {
    if (this.#open.has(value)) throw refusal(path, 'leads back to what it is in.')
    if (this.#open.size >= maxDepth) throw refusal(path, `is more than ${maxDepth} levels deep.`)
    if (types.isProxy(value)) throw refusal(path, 'is a Proxy, which may answer differently each time.')
    const isList = Array.isArray(value)
    if (!(isList ? isListPrototype : isPlainPrototype)(Object.getPrototypeOf(value) as object | null)) {
      throw refusal(path, `is ${kindOf(value)}, which JSON does not carry as it is; give its plain values.`)
    }
    this.#open.add(value)
    const copied = isList ? this.#copyList(value, path) : this.#copyObject(value, path)
    this.#open.delete(value)
    return Object.freeze(copied)
  }

  #copyList(list: readonly unknown[], path: readonly string[]): Json[] {
    const { length } = list
    if (Reflect.ownKeys(list).length !== length + 1) throw refusal(path, 'is a list with holes, or with names.')
    return Array.from({ length }, (_, index) => this.#copyProperty(list, String(index), path))
  }

  #copyObject(object: object, path: readonly string[]): Record<string, Json> {
    const copied: Record<string, Json> = {}
    for (const name of Reflect.ownKeys(object)) {
      if (typeof name === 'symbol') throw refusal(path, 'has a symbol for a name.')
      if (!name.isWellFormed()) throw refusal(path, 'has half a character, a lone surrogate, in a name.')
      const value = name === '__proto__' ? null : this.#copyProperty(object, name, path)
      // The names by which a reader of JSON is made to change what all objects have in common.
      const isConstructor = name === 'constructor' && typeof value === 'object' && value !== null
      if (name === '__proto__' || (isConstructor && Object.hasOwn(value, 'prototype'))) {
        throw refusal(path, `has the name ${name}, which is refused.`)
      }
      copied[name] = value
    }
    return copied
  }

  #copyProperty(of: object, name: string, path: readonly string[]): Json {
    const here = [...path, name]
    const property = Object.getOwnPropertyDescriptor(of, name)
    if (property === undefined) throw refusal(here, 'is a hole in a list.')
    if (!('value' in property)) throw refusal(here, 'is computed by a getter, which may answer differently each time.')
    if (property.enumerable !== true) throw refusal(here, 'is hidden from JSON.')
    return this.copy(property.value, here)
  }
}

function refusal(path: readonly string[], why: string): Invalid {
  const steps = path.map((step) => (step.length > 40 ? `${step.slice(0, 40)}…` : step))
  const shown = steps.length > 6 ? [...steps.slice(0, 2), '…', ...steps.slice(-3)] : steps
  return new Invalid(`${shown.join('.').toWellFormed()} ${why}`)
}

/** Its class may say what it likes of itself, so it is not asked. */
function kindOf(value: object): string {
  if (types.isDate(value)) return 'a Date'
  if (types.isMap(value)) return 'a Map'
  if (types.isSet(value)) return 'a Set'
  return ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value) ? 'made of bytes' : 'an object of a class'
}

/** Of this realm or of another: some runners of tests have several. */
function isPlainPrototype(prototype: object | null): boolean {
  if (prototype === null || prototype === Object.prototype) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf')
}

function isListPrototype(prototype: object | null): boolean {
  if (prototype === Array.prototype) return true
  return (
    prototype !== null &&
    Object.hasOwn(prototype, 'flatMap') &&
    isPlainPrototype(Object.getPrototypeOf(prototype) as object | null)
  )
}
