// A backup of the database, and a backup in its place.
import { randomBytes } from 'node:crypto'
import { systemClock } from '../clock.js'
import { madeKeyView } from '../routes/keys.js'
import { type Ended, endAll } from '../service/restore.js'
import { backUp } from '../store/sqlite/backup.js'
import { restoreDatabase } from '../store/sqlite/restore.js'
import type { Context } from './key-commands.js'
import { type Output, printJson } from './output.js'

/** What is over sooner needs no progress. */
const patienceMs = 1000

export async function makeBackup({ given, config: { dbPath }, output }: Context): Promise<void> {
  const { argument: file, options } = given
  process.umask(0o077)
  const { bytes, events } = await withProgress(output, (progress) => backUp(dbPath, file, progress))
  if (options.json === true) printJson(output, { file, bytes, events })
  else output.print(`Backed up ${dbPath} to ${file}: ${size(bytes)}, ${count(events, 'event')}, checked.`)
}

export async function restore({ given, config: { dbPath }, output }: Context): Promise<void> {
  const { argument: file, options } = given
  const { tell, print } = output
  process.umask(0o077)
  const clock = systemClock()
  let ended: Ended | undefined
  const restored = await withProgress(output, (progress) =>
    restoreDatabase(
      dbPath,
      file,
      async (copy, replaced) => {
        ended = await endAll(copy, replaced, clock, () => randomBytes(48).toString('hex'))
      },
      progress,
    ),
  )
  const { data, made } = ended!
  const { bytes, events, nextSeq, kept } = restored
  tell(`Restored ${file} to ${dbPath}: ${size(bytes)}, ${count(events, 'event')}; the history goes on with ${nextSeq}.`)
  tell(
    `Ended: ${count(data.requests_ended, 'pending request')}, ${count(data.approvals_lapsed, 'approval')}, ${count(data.links_ended, 'link')}, ` +
      `${count(data.grants_revoked, 'whitelist entry', 'whitelist entries')}, ${count(data.keys_revoked.length, 'key')}. What was claimed can still be reported.`,
  )
  if (data.sessions_suspended > 0)
    tell(`Still suspended: ${count(data.sessions_suspended, 'session')} that the backup does not have so.`)
  if (kept !== null) tell(`What was there is kept as ${kept}.`)
  if (made !== null) {
    tell(`No other key is good: this one is for ${made.key.person}, admin. Keep it now: it is not shown again.`)
  }
  if (options.json === true) {
    const key = made === null ? null : madeKeyView(made, clock.now())
    printJson(output, { file, bytes, events, next_seq: nextSeq, kept, ended: data, made_key: key })
  } else if (made !== null) print(made.secret)
}

async function withProgress<T>({ show }: Output, run: (progress: (done: number) => void) => Promise<T>): Promise<T> {
  const start = performance.now()
  let isShown = false
  try {
    return await run((done) => {
      if (performance.now() - start < patienceMs) return
      isShown = true
      show?.(`${Math.floor(done * 100)} % copied, to be checked …`)
    })
  } finally {
    if (isShown) show?.('')
  }
}

function size(bytes: number): string {
  const mebibytes = bytes / 1024 / 1024
  return mebibytes < 1 ? `${Math.ceil(bytes / 1024)} KiB` : `${mebibytes.toFixed(1)} MiB`
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
