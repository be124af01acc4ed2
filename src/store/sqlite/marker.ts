// A file beside the database that says: there was a key once. It outlives the database, so that losing that opens nothing.
import { closeSync, fsyncSync, lstatSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const sentence = `Holdpoint: there was a key in the database beside this file, so a service on it is never again open to everyone, not even
when the database is lost. If it is: npx holdpoint restore FILE, or npx holdpoint keys add --name NAME --role admin.
`

export function markerOf(file: string): string {
  return `${file}.closed`
}

/** That it is there is all that counts, so a torn one is as good. */
export function isMarked(file: string): boolean {
  return lstatSync(markerOf(file), { throwIfNoEntry: false }) !== undefined
}

/** On disk when it returns. Whatever stands there already is as good. */
export function mark(file: string): void {
  if (!isMarked(file)) write(file)
  syncFolder(dirname(file))
}

function write(file: string): void {
  const descriptor = openSync(markerOf(file), 'w', 0o600)
  try {
    writeSync(descriptor, sentence)
    fsyncSync(descriptor)
  } catch (error) {
    // The key that it was for is not written: nobody is to be kept out by a marker without one.
    unlinkSync(markerOf(file))
    throw error
  } finally {
    closeSync(descriptor)
  }
}

/** So that a file's name is on disk too, not only its contents. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
