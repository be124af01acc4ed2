// A request as the API answers it, for what shows one.
import type { FoundConfirmation } from '../../src/client/index.js'
import { digestOf } from '../../src/core/digest.js'

export function foundWith(fields: Partial<FoundConfirmation> = {}): FoundConfirmation {
  const found: FoundConfirmation = {
    id: '019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e',
    action: 'send_mail',
    description: 'Send the newsletter',
    details: { list: 'news' },
    requester: 'bot',
    session_key: '',
    session_id: null,
    warnings: [],
    status: 'pending',
    resolved_by: '',
    resolved_at: null,
    created_at: 1767225600,
    timeout_seconds: 600,
    created_at_iso: '2026-01-01T00:00:00.000Z',
    resolved_at_iso: null,
    expires_at: 1767226200,
    expires_at_iso: '2026-01-01T00:10:00.000Z',
    resolved_via: null,
    reason: null,
    digest: '',
    callback_url: null,
    requested_as: null,
    on_behalf_of: null,
    risk: 'normal',
    rule: 'default',
    digest_required: false,
    approvals_needed: 1,
    approvals_given: 0,
    votes: [],
    comments: [],
    told_at: null,
    told_at_iso: null,
    execution: null,
    claim_expires_at: null,
    claim_expires_at_iso: null,
    claimed_at: null,
    claimed_at_iso: null,
    reported_at: null,
    reported_at_iso: null,
    outcome: null,
    report_message: null,
    deciding: { deciders: null, groups: [], own_allowed: false, typing_required: false, reason_required: [] },
    deliveries: [],
    ...fields,
  }
  const { action, details, on_behalf_of: onBehalfOf, requester, session_key: sessionKey } = found
  const digest = digestOf({ action, details: JSON.stringify(details), onBehalfOf, requester, sessionKey })
  return { ...found, digest: fields.digest ?? digest }
}
