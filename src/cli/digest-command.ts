// digest: what an approval is bound to, computed from a file as the service computes it from a body.
import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { canonical, digestText } from '../core/canonical.js'
import { sha256 } from '../core/digest.js'
import { visibleLine } from '../core/visible.js'
import { toProblem } from '../routes/errors.js'
import { readJson } from '../routes/json-body.js'
import { submitBody } from '../routes/requests.js'
import type { Context } from './key-commands.js'
import { CommandRefused, printJson } from './output.js'

const maxBytes = 1024 * 1024

/** A digest is over none of what else a submission may have; a description is for people. */
const submission = submitBody.partial({ description: true })

export async function printDigest({ given, output }: Context): Promise<void> {
  const { argument, options } = given
  const bytes = await read(argument)
  if (bytes.length > maxBytes) throw new CommandRefused('It is larger than 1 MiB, which the service does not take.')
  const found = readJson(bytes)
  if (found instanceof Error) throw new CommandRefused(visibleLine(`${argument}: ${found.message}`))
  const claimed = isRecord(found) ? found.digest : null
  const body = submission.safeParse(isRecord(found) ? submittedOf(found) : found)
  if (!body.success) throw new CommandRefused(visibleLine(`${argument}: ${toProblem(body.error).message}`))
  const { action, details, on_behalf_of: onBehalfOf = null, session_key: sessionKey } = body.data
  const requester = (options.requester as string | undefined) ?? body.data.requester ?? 'agent'
  const text = digestText({ action, details: canonical(details), onBehalfOf, requester, sessionKey })
  const digest = sha256(text)
  if (claimed !== null && claimed !== digest) {
    throw new CommandRefused(`${visibleLine(argument)}: its digest is not that of what it says, which is ${digest}.`)
  }
  if (options.json === true) printJson(output, { digest, canonical: text })
  else output.print(digest)
}

async function read(file: string): Promise<Buffer> {
  if (file === '-') return buffer(process.stdin)
  try {
    return readFileSync(file)
  } catch (error) {
    throw new CommandRefused(`It cannot be read: ${(error as Error).message}`)
  }
}

interface Recorded {
  digest: string
  status: string
}

/** As the API answers it, with all that became of it. */
function isRecord(value: object): value is Recorded {
  return 'digest' in value && typeof value.digest === 'string' && 'status' in value
}

function submittedOf(record: object): object {
  const names = ['action', 'details', 'requester', 'session_key', 'on_behalf_of']
  return Object.fromEntries(
    Object.entries(record).filter(([name, value]) => names.includes(name) && value !== null && value !== undefined),
  )
}
