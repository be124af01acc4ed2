// npm run bench: everything in one table. `-- short` takes a minute at most; names, as in `-- streams masses`, choose some.
import { arch, availableParallelism, cpus, platform, totalmem } from 'node:os'
import { bodies } from './bodies.js'
import { decisions } from './decisions.js'
import { history } from './history.js'
import { keys } from './keys.js'
import { masses } from './masses.js'
import { messages } from './messages.js'
import { formatRows, isMet, type Row } from './rows.js'
import { type Size, sizeOf } from './size.js'
import { streams } from './streams.js'
import { submissions } from './submissions.js'
import { waits } from './waits.js'

/** In the order of the table. */
const benches: Record<string, (size: Size) => Promise<Row[]>> = {
  submissions,
  decisions,
  waits,
  keys,
  bodies,
  streams,
  masses,
  messages,
  history,
}

const words = process.argv.slice(2)
const names = words.filter((word) => word !== 'short')
const unknown = names.filter((name) => !(name in benches))
if (unknown.length > 0) {
  console.error(
    `There is no bench ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}, and the word short.`,
  )
  process.exit(2)
}

const began = performance.now()
const passed = () => `${((performance.now() - began) / 1000).toFixed(0)} s`
const size = sizeOf(words.includes('short'))
const rows: Row[] = []
const failed: string[] = []
for (const [name, run] of Object.entries(benches)) {
  if (names.length > 0 && !names.includes(name)) continue
  size.progress = (text) => process.stderr.isTTY && process.stderr.write(`${passed().padStart(6)}  ${name}: ${text}\n`)
  size.progress('begins')
  try {
    rows.push(...(await run(size)))
  } catch (error) {
    failed.push(`${name} could not be measured: ${error instanceof Error ? error.message : String(error)}`)
    size.progress(failed.at(-1)!)
  }
}
const [cpu] = cpus()
const cores = `${availableParallelism()} x ${cpu?.model.trim() ?? 'unknown'}`
const machine = [
  cores,
  `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
  `Node ${process.versions.node}`,
  `${platform()} ${arch()}`,
]
const form = size.isShort
  ? 'short form: fewer rounds, and some is left out'
  : `${size.rounds} rounds of ${size.seconds} s each`
console.log(`${machine.join(', ')}; ${form}; ${passed()}\n`)
console.log(formatRows(rows))
for (const sentence of [...failed, ...size.leftOut]) console.log(`\n${sentence}`)
const missed = rows.filter((row) => !isMet(row)).length
const met = `${missed === 0 ? 'every aim is met' : `${missed} of ${rows.length} are NOT met`}`
console.log(`\n${rows.length === 0 ? 'nothing was measured' : met}`)
if (missed > 0 || failed.length > 0) process.exitCode = 1
