// Debian's Chromium, driven through playwright-core, and the small site that it looks at.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, chromium } from 'playwright-core'
import { assets } from '../../src/routes/pages/assets.js'
import { pageHeaders } from '../../src/web/headers.js'
import t, { type Test } from 'tap'
import { chromiumPath, needs } from '../needs.js'

export function browserTest(name: string, run: (t: Test) => Promise<void>): void {
  void t.test(name, async (t) => {
    if (needs(t, 'Chromium')) await run(t)
  })
}

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

export interface Site {
  url: string
  /** What a path answers to GET; with a function, anew each time. */
  pages: Map<string, string | (() => string | Promise<string>)>
  /** What was asked for, in order. */
  gets: string[]
  /** The forms that were posted, with the headers they came with. */
  posts: { path: string; fields: URLSearchParams; headers: IncomingMessage['headers'] }[]
  close(): Promise<void>
}

/** Serves pages with their headers, and the assets. A path that ends in /state answers as JSON. */
export async function serve(): Promise<Site> {
  const pages: Site['pages'] = new Map()
  const gets: string[] = []
  const posts: Site['posts'] = []
  const server = createServer((request, response) => {
    const path = new URL(request.url!, 'http://localhost').pathname
    const answer = async () => {
      const asset = assets[path]
      if (asset !== undefined) return response.writeHead(200, { 'content-type': asset.type }).end(asset.body)
      if (request.method === 'GET') gets.push(request.url!)
      if (request.method === 'POST') {
        let body = ''
        for await (const chunk of request) body += String(chunk)
        posts.push({ path, fields: new URLSearchParams(body), headers: request.headers })
      }
      const page = pages.get(path)
      if (page === undefined) return response.writeHead(404).end()
      const type = path.endsWith('/state') ? 'application/json' : 'text/html; charset=utf-8'
      const text = typeof page === 'string' ? page : await page()
      response.writeHead(200, { ...pageHeaders, 'content-type': type }).end(text)
    }
    answer().catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pages,
    gets,
    posts,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
