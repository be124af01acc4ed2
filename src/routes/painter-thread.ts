// The thread that large pages are made on.
import { parentPort } from 'node:worker_threads'
import { confirmationPage, type ConfirmationPage } from '../web/page.js'
import type { Painted } from './painter.js'

parentPort!.on('message', ({ number, page }: { number: number; page: ConfirmationPage }) => {
  parentPort!.postMessage({ number, text: confirmationPage(page) } satisfies Painted)
})
