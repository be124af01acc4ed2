// PNG pictures of pages made small: 256 colours are enough for text on paper.
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** From 8 bits of red, green and blue for each pixel, as Chromium writes it, to a palette. */
export function shrinkPng(png: Buffer): Buffer {
  const { width, height, data } = decodePng(png)
  const counts = new Map<number, number>()
  for (const colour of data) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const palette = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 256)
    .map(([colour]) => colour)
  const indexes = new Map(palette.map((colour, index) => [colour, index]))
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const colour = data[y * width + x]!
      if (!indexes.has(colour)) indexes.set(colour, nearest(palette, colour))
      rows[y * (width + 1) + 1 + x] = indexes.get(colour)!
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(bytesOf))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function nearest(palette: number[], colour: number): number {
  const [red, green, blue] = bytesOf(colour)
  let best = 0
  let least = Infinity
  for (const [index, other] of palette.entries()) {
    const [r, g, b] = bytesOf(other)
    const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2
    if (distance < least) [best, least] = [index, distance]
  }
  return best
}

function bytesOf(colour: number): [number, number, number] {
  return [colour >> 16, (colour >> 8) & 0xff, colour & 0xff]
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(data.length, 0)
  body.copy(whole, 4)
  whole.writeUInt32BE(crc32(body), body.length + 4)
  return whole
}

/** One number for each pixel. */
export function decodePng(png: Buffer): { width: number; height: number; data: Uint32Array } {
  let [width, height] = [0, 0]
  const parts: Buffer[] = []
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const body = png.subarray(at + 8, at + 8 + length)
    if (type === 'IHDR') {
      ;[width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)]
      if (body[8] !== 8 || body[9] !== 2 || body[12] !== 0) throw new Error('not a plain RGB picture')
    }
    if (type === 'IDAT') parts.push(body)
    at += length + 12
  }
  const bytes = inflateSync(Buffer.concat(parts))
  const stride = width * 3
  let above = new Uint8Array(stride)
  const data = new Uint32Array(width * height)
  for (let y = 0; y < height; y++) {
    const filter = bytes[y * (stride + 1)]!
    const row = Uint8Array.from(bytes.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)))
    for (let i = 0; i < stride; i++) {
      const [left, up, corner] = [row[i - 3] ?? 0, above[i]!, above[i - 3] ?? 0]
      row[i]! += predict(filter, left, up, corner)
    }
    for (let x = 0; x < width; x++) {
      data[y * width + x] = (row[x * 3]! << 16) | (row[x * 3 + 1]! << 8) | row[x * 3 + 2]!
    }
    above = row
  }
  return { width, height, data }
}

function predict(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}
