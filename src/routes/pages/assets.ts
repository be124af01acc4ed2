// The files that pages refer to.
import { assets } from '../../web/assets.js'
import type { Api } from '../api.js'

export function serveAssets(app: Api): void {
  for (const [path, { type, body }] of Object.entries(assets)) {
    app.get(path, { config: { needs: 'nothing' } }, (_request, reply) => reply.type(type).send(body))
  }
}
