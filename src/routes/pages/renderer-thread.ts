// The thread that large pages are rendered on.
import { parentPort } from 'node:worker_threads'
import { confirmationPage, type ConfirmationPage } from '../../web/confirmation.js'
import type { Rendered } from './renderer.js'

parentPort!.on('message', ({ number, page }: { number: number; page: ConfirmationPage }) => {
  parentPort!.postMessage({ number, text: confirmationPage(page) } satisfies Rendered)
})
