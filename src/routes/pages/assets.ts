// The files that pages refer to, as the build has put them beside the program. Read once, at the start.
import { readFileSync } from 'node:fs'
import { badgedIcon, badgedPath, badges } from '../../web/badge.js'
import type { Api } from '../api.js'

const icon = read('icon.svg')

export const assets: Record<string, { type: string; body: string }> = {
  '/assets/holdpoint.css': { type: 'text/css; charset=utf-8', body: read('page.css') },
  '/assets/holdpoint.js': { type: 'text/javascript; charset=utf-8', body: read('page.js') },
  '/assets/remember.js': { type: 'text/javascript; charset=utf-8', body: read('remember.js') },
  '/assets/list.js': { type: 'text/javascript; charset=utf-8', body: read('list.js') },
  '/assets/alerts.js': { type: 'text/javascript; charset=utf-8', body: read('alerts.js') },
  '/assets/holdpoint.svg': { type: 'image/svg+xml', body: icon },
  ...Object.fromEntries(
    badges.map((badge) => [badgedPath(badge), { type: 'image/svg+xml', body: badgedIcon(icon, badge) }]),
  ),
}

function read(name: string): string {
  return readFileSync(new URL(`../../web/browser/${name}`, import.meta.url), 'utf8')
}

export function serveAssets(app: Api): void {
  for (const [path, { type, body }] of Object.entries(assets)) {
    app.get(path, { config: { needs: 'nothing' } }, (_request, reply) => reply.type(type).send(body))
  }
}
