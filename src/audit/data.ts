// What each event says beside who, when, through what and about which confirmation. Names are the API's own.
import type { Role } from '../access/role.js'
import type { raw } from '../core/json.js'
import type { AlarmKind, DeliveryState, ExecutionState, Occasion, Outcome, Verdict } from '../core/model.js'
import type { RefusalCode } from '../core/refusal.js'
import type { ByRule } from '../sessions/collect.js'
import type { RotationReason } from '../sessions/session.js'

type Json = ReturnType<typeof raw>

/** Which action of a confirmation, and bound to what. */
interface About {
  action: string
  digest: string
}

interface Ended extends About {
  status: Outcome
  resolved_by: string
  resolved_at: number
  reason?: string
}

/** How far a vote brought it. */
interface Tally {
  comment?: string
  rule: string
  approvals_given: number
  approvals_needed: number
}

interface Executed extends About {
  execution: ExecutionState
  message?: string
}

interface Delivered {
  state: DeliveryState
  attempts: number
  /** What for, where it is not the first that somebody is told. */
  occasion?: Occasion
  /** Whom alone, by the chat's id. */
  to?: string
  error?: string
  next_attempt_at?: number
}

/** Which alarm, and about what. No confirmation stands beside it. */
export interface AboutAlarm {
  alarm: AlarmKind
  alarm_id: string
  requester: string
  session_key: string
}

interface GrantScope {
  grant_id: string
  action: string
  session_key: string | null
  requester?: string
  when?: Json
  details?: Json
}

interface KeyFacts {
  key_id: string
  name: string
  role: Role
  expires_at?: number
}

/** Which session. The requester is empty in open mode. */
export interface SessionFacts {
  session_key: string
  requester: string
  session_id: string | null
}

interface EndedGrant {
  id: string
  action: string
  uses: number
}

interface SessionEnd {
  reason: RotationReason
  messages: number
  submissions: number
  failures: number
  /** The whitelist entries that end with it. */
  grants: EndedGrant[]
}

/** What was tried that is not allowed, as far as it is known. */
export interface Attempted {
  action?: string
  digest?: string
  session_key?: string | null
  verdict?: Verdict
  presented_digest?: string
  address?: string
  method?: string
  route?: string
}

/** The data of each type of event. */
export interface EventData {
  submitted: About & {
    description: string
    details: Json
    requester: string
    session_key: string
    timeout_seconds: number
    expires_at: number
    rule: string
    session_id?: string
    warnings?: string[]
    on_behalf_of?: string
    requested_as?: string
    callback_url?: string
  }
  repeated: About
  voted: About & Tally & { verdict: Verdict; reason?: string }
  auto_approved: Ended & ({ grant_id: string } | { rule: string })
  approved: Ended & Tally
  denied: Ended & Tally
  /** `told_at` is null where nobody was told. */
  expired: Ended & { told_at: number | null }
  cancelled: Ended
  commented: About & { comment: string }
  asked_for: About
  /** In how many places; none where a first message is still on its way, or the log alone is told. */
  reminded: About & { rule: string; is_last: boolean; places: number; expires_at: number }
  escalated: About & { rule: string; expires_at: number }
  claimed: Executed
  lapsed: Executed
  reported: Executed
  unreported: Executed
  rate_limited: {
    action: string
    session_key: string
    max: number
    remaining: number
    window_seconds: number
    retry_after_seconds: number
  }
  rejected: Attempted & { code: RefusalCode }
  granted: GrantScope & { expires_at: number | null; max_uses: number | null; reason: string | null }
  revoked: GrantScope & { uses: number }
  linked: { recipient: string; digest: string }
  /** With what was said, where the log is told. */
  notified: Delivered & ({ digest: string; action?: string; requester?: string; on_behalf_of?: string } | AboutAlarm)
  notify_failed: Delivered & ({ digest: string } | AboutAlarm)
  key_added: KeyFacts
  key_revoked: KeyFacts & { reason?: string }
  key_rotated: KeyFacts & { old_key_id: string; overlap_seconds: number }
  /** `name` is what its provisioner calls it, `requester` who it is on record. */
  instance_changed: { instance_id: string; name: string; requester: string; key_id: string }
  sign_in_linked: Pick<KeyFacts, 'key_id' | 'name' | 'role'> & { link_expires_at: number }
  sign_in_link_used: Pick<KeyFacts, 'key_id' | 'name' | 'role'>
  person_changed: { name: string; telegram_id: string | null; discord_id: string | null; slack_id: string | null }
  session_started: SessionFacts
  session_due: SessionFacts & SessionEnd
  /** The run that ended, as it was; `session_id` is the new one. */
  session_rotated: SessionFacts &
    SessionEnd & {
      previous_id: string
      lasted_seconds: number
      outcomes: { id: string; action: string; status: Outcome }[]
    }
  session_suspended: SessionFacts & { reason?: string; failures?: number }
  session_resumed: SessionFacts & { reason?: string }
  session_warned: SessionFacts & { failures: number }
  session_paused: SessionFacts & { failures: number; waits_until: number; grants: EndedGrant[] }
  requester_paused: { requester: string; failures: number; waits_until: number }
  /** By which settings. Of those that `corrects` names, so many went. */
  sessions_collected: ByRule & {
    total: number
    empty_hours: number
    trivial_max: number
    trivial_days: number
    max_age_days: number | null
    source: string | null
    corrects?: number
  }
  rules_loaded: { rules: number; sha256: string }
  restored: {
    backup_last_seq: number
    replaced_last_seq: number | null
    requests_ended: number
    approvals_lapsed: number
    grants_revoked: number
    links_ended: number
    messages_dropped: number
    keys_revoked: string[]
    /** As they were in the database that was replaced, and not in the backup. */
    sessions_suspended: number
    streaks_kept: number
  }
}
