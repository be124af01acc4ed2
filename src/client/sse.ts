// Server-sent events, as the service writes them: bytes in, one message after the other out.

export interface Message {
  /** Where to go on, if it says so. */
  id: string | null
  /** Empty in one that only says where the stream is. */
  data: string
  retryMs: number | null
}

/** What is not closed by an empty line within so many characters is no message of ours. */
const maxLength = 64 * 1024 * 1024

export async function* messagesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder()
  const open: string[] = []
  let size = 0
  for await (const chunk of bytes) {
    const text = decoder.decode(chunk, { stream: true })
    if ((size += text.length) > maxLength) throw new RangeError('a message has no end')
    open.push(text)
    if (!text.includes('\n')) continue
    const parts = open.splice(0).join('').split('\n\n')
    const rest = parts.pop()!
    open.push(rest)
    size = rest.length
    for (const part of parts) {
      const message = readMessage(part)
      if (message !== null) yield message
    }
  }
}

/** Null for a comment. */
function readMessage(text: string): Message | null {
  const data: string[] = []
  let id: string | null = null
  let retryMs: number | null = null
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':')
    const value = line.slice(colon + 1).replace(/^ /, '')
    if (colon <= 0) continue
    const name = line.slice(0, colon)
    if (name === 'data') data.push(value)
    else if (name === 'id') id = value
    else if (name === 'retry' && /^\d{1,6}$/.test(value)) retryMs = Number(value)
  }
  if (data.length === 0 && id === null && retryMs === null) return null
  return { id, data: data.join('\n'), retryMs }
}
