// A chat that takes every message at once, and has nothing to say. It tells how many it has taken.
import { createServer } from 'node:net'

const text = '{"ok":true,"result":{"message_id":1}}'
const answer = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
let taken = 0

const server = createServer({ noDelay: true }, (socket) => {
  let received = ''
  socket.on('error', () => {})
  socket.setEncoding('latin1').on('data', (piece: string) => {
    received += piece
    const end = received.indexOf('\r\n\r\n')
    // Whoever asks what was pressed is held, as by the real one.
    if (received.slice(0, received.indexOf('\r\n')).includes('/getUpdates')) return
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0)
    if (end < 0 || received.length < end + 4 + length) return
    received = received.slice(end + 4 + length)
    taken += 1
    socket.write(answer)
  })
})
process.on('message', () => process.send!(taken))
process.once('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send!((server.address() as { port: number }).port))
