// The last resort: a warning in the log that names the id, the action and where to look. It does not show all of it, so it
// offers no way to approve unseen. A log line cannot fail, so the delivery is written down as sent at once, and the line
// follows its commit.
import type { AuditEvent } from '../audit/event.js'
import { shortDigest } from '../core/digest.js'
import { cut, visibleLine } from '../core/text.js'
import type { Store } from '../store/store.js'

export interface WarnLog {
  warn(fields: object, message: string): void
}

export function announceInLog(store: Store, log: WarnLog, pagesUrl: () => string): void {
  store.subscribe(({ events }) => {
    for (const event of events) if (event.type === 'notified' && event.via === 'log') warn(event)
  })

  function warn({ confirmationId, data }: AuditEvent): void {
    const short = (text: unknown) => cut(visibleLine(String(text)), 200)
    log.warn(
      {
        id: confirmationId,
        action: short(data.action),
        requester: short(data.requester),
        ...(data.on_behalf_of === undefined ? {} : { on_behalf_of_unverified: short(data.on_behalf_of) }),
        digest: shortDigest(String(data.digest)),
      },
      `confirmation needed and no chat took the message: open ${pagesUrl()}/view/${confirmationId!} to see and decide it, or POST to /confirm/${confirmationId!}/deny`,
    )
  }
}
