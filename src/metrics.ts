// Prometheus metrics, folded from the audit events: what is counted is exactly what is on record.
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { AuditEvent, NewEvent } from './audit/event.js'
import { type ExecutionState, isOutcome } from './core/model.js'
import { type ShareName, shareNames, shares } from './policy/share.js'
import type { Service } from './service/service.js'
import { type Step, steps } from './sessions/breaker.js'
import { rotationReasons } from './sessions/session.js'
import type { Committed, Store, Write } from './store/store.js'

export interface Metrics {
  contentType: string
  text(): Promise<string>
  /** Refused before the service was asked, because this share was used up. */
  refused(share: ShareName): void
  /** What is read at each scrape from now on. */
  observe(observed: Observed): void
}

interface Observed {
  /** How much of each share is taken, and how many wait for it. */
  taken(): Partial<Record<ShareName, number>>
  queued(): Partial<Record<ShareName, number>>
  /** How many names are kept, by what for. */
  kept(): Promise<Record<string, number>>
}

/** Seconds from asking to deciding: a reflex, a glance, a coffee, the longest wait there is. */
const latencyBuckets = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]

function isOf(write: Write, { confirmationId }: AuditEvent): write is Extract<Write, { kind: 'confirmation' }> {
  return write.kind === 'confirmation' && write.record.id === confirmationId
}

const executionOutcomes = ['claimed', 'lapsed', 'succeeded', 'failed', 'unreported'] as const satisfies ExecutionState[]

/** What the older of the two metrics of refusals calls some shares. */
const limiters: Partial<Record<ShareName, string>> = { rate: 'action', requests: 'address', refusals: 'guess' }
/** Refused by the service, which records it or says that it does not. */
const gated = ['open', 'disk', 'streak'] as const satisfies ShareName[]

/** The one table of metrics: the registry and the documents are made from it. */
export const metrics = {
  submissions: {
    name: 'holdpoint_submissions_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Submissions by what became of them at once: `pending`, `auto_approved`, `rate_limited`, `repeated`.',
  },
  decisions: {
    name: 'holdpoint_decisions_total',
    type: 'counter',
    labels: ['outcome', 'channel'],
    help: 'Resolved confirmations, by outcome and by the channel they were resolved through.',
  },
  untold: {
    name: 'holdpoint_expired_untold_total',
    type: 'counter',
    labels: [],
    help: 'Confirmations that expired before anyone was told.',
  },
  latency: {
    name: 'holdpoint_decision_latency_seconds',
    type: 'histogram',
    labels: ['outcome'],
    help: "Seconds from the submission to a person's decision.",
  },
  deliveries: {
    name: 'holdpoint_deliveries_total',
    type: 'counter',
    labels: ['channel', 'outcome'],
    help: 'Attempts to tell a person, or to call an agent back (`callback`).',
  },
  executions: {
    name: 'holdpoint_executions_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'What became of approvals: `claimed`, `lapsed`, `succeeded`, `failed`, `unreported`.',
  },
  refusals: {
    name: 'holdpoint_limiter_refusals_total',
    type: 'counter',
    labels: ['limiter'],
    help: 'Refused by the limit per `action`, by the flood limit per key or `address`, or after too many refusals (`guess`).',
  },
  rejections: {
    name: 'holdpoint_rejections_total',
    type: 'counter',
    labels: ['code'],
    help: 'Attempts that are not allowed and are on record, by problem code.',
  },
  unrecorded: {
    name: 'holdpoint_unrecorded_refusals_total',
    type: 'counter',
    labels: ['code'],
    help: 'Refusals that are not on record because whoever was refused had more than 30 a minute, by problem code.',
  },
  shareRefusals: {
    name: 'holdpoint_share_refusals_total',
    type: 'counter',
    labels: ['share'],
    help: 'Refused because a share was used up, by its name.',
  },
  taken: {
    name: 'holdpoint_share_taken',
    type: 'gauge',
    labels: ['share'],
    help: 'How much of what is shared out in memory is taken by all: `connections`, bytes of `bodies`, `waits` and so on.',
  },
  queued: {
    name: 'holdpoint_share_queued',
    type: 'gauge',
    labels: ['share'],
    help: 'Requests that wait for room: for their `bodies`, or for their `answers`.',
  },
  kept: {
    name: 'holdpoint_kept_names',
    type: 'gauge',
    labels: ['of'],
    help:
      'What is kept by name: keys and addresses with `requests` in the last minute, `destinations` of callbacks, and ' +
      '`slots` of windows and budgets, these up to 10,000.',
  },
  rotations: {
    name: 'holdpoint_session_rotations_total',
    type: 'counter',
    labels: ['reason'],
    help: `Sessions that rotated, by why: ${rotationReasons.map((reason) => `\`${reason}\``).join(', ')}.`,
  },
  breakerSteps: {
    name: 'holdpoint_breaker_steps_total',
    type: 'counter',
    labels: ['step', 'of'],
    help:
      'What denials and expiries in a row led to: `warn`, `wait` and `suspend` of a `session`, and `wait` of a ' +
      '`requester` over all its sessions.',
  },
  fixations: {
    name: 'holdpoint_fixation_warnings_total',
    type: 'counter',
    labels: [],
    help: 'Submissions that carry the warning that one action is asked for again and again, with other details.',
  },
  sessions: {
    name: 'holdpoint_sessions',
    type: 'gauge',
    labels: [],
    help: 'Sessions that were used and not collected since, up to 10,000.',
  },
  suspended: {
    name: 'holdpoint_sessions_suspended',
    type: 'gauge',
    labels: [],
    help: 'Sessions that are suspended and that only an operator lets go on, up to 10,000.',
  },
  pending: { name: 'holdpoint_pending', type: 'gauge', labels: [], help: 'Confirmations that wait for a person.' },
  oldest: {
    name: 'holdpoint_oldest_pending_age_seconds',
    type: 'gauge',
    labels: [],
    help: 'Age of the confirmation that has waited longest; 0 when none waits.',
  },
  unclaimed: {
    name: 'holdpoint_unclaimed',
    type: 'gauge',
    labels: [],
    help: 'Approvals that may still be claimed.',
  },
  unreported: {
    name: 'holdpoint_unreported',
    type: 'gauge',
    labels: [],
    help: 'Claimed approvals whose outcome nobody has reported, overdue or not.',
  },
  overdue: {
    name: 'holdpoint_overdue_reports',
    type: 'gauge',
    labels: [],
    help: 'Claimed approvals whose report is overdue, up to 1000. Also after a restart.',
  },
  listeners: {
    name: 'holdpoint_listeners',
    type: 'gauge',
    labels: ['of'],
    help: 'Requests that are held: for `one` confirmation (waits, streams), or for `all` events.',
  },
} as const satisfies Record<string, Metric>

interface Metric {
  name: `holdpoint_${string}`
  type: 'counter' | 'gauge' | 'histogram'
  labels: readonly string[]
  help: string
}

export function createMetrics(store: Store, service: Service): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const options = ({ name, help, labels }: Metric) => ({ name, help, labelNames: labels, registers })
  const counter = (metric: Metric & { type: 'counter' }) => new Counter(options(metric))
  const gauge = (metric: Metric & { type: 'gauge' }) => new Gauge(options(metric))
  const submissions = counter(metrics.submissions)
  const decisions = counter(metrics.decisions)
  const untold = counter(metrics.untold)
  const latency = new Histogram({ ...options(metrics.latency), buckets: latencyBuckets })
  const deliveries = counter(metrics.deliveries)
  const executions = counter(metrics.executions)
  const refusals = counter(metrics.refusals)
  const rejections = counter(metrics.rejections)
  const unrecorded = counter(metrics.unrecorded)
  const shareRefusals = counter(metrics.shareRefusals)
  const taken = gauge(metrics.taken)
  const queued = gauge(metrics.queued)
  const kept = gauge(metrics.kept)
  const rotations = counter(metrics.rotations)
  const breakerSteps = counter(metrics.breakerSteps)
  const fixations = counter(metrics.fixations)
  const sessions = gauge(metrics.sessions)
  const suspended = gauge(metrics.suspended)
  const pending = gauge(metrics.pending)
  const oldest = gauge(metrics.oldest)
  const unclaimed = gauge(metrics.unclaimed)
  const unreported = gauge(metrics.unreported)
  const overdue = gauge(metrics.overdue)
  const listeners = gauge(metrics.listeners)

  for (const outcome of ['pending', 'auto_approved', 'rate_limited', 'repeated']) submissions.inc({ outcome }, 0)
  for (const code of ['unauthorized', 'forbidden']) rejections.inc({ code }, 0)
  for (const outcome of executionOutcomes) executions.inc({ outcome }, 0)
  for (const limiter of Object.values(limiters)) refusals.inc({ limiter }, 0)
  for (const share of shareNames) shareRefusals.inc({ share }, 0)
  for (const reason of rotationReasons) rotations.inc({ reason }, 0)
  for (const step of steps) countStep(step, 'session', 0)
  countStep('wait', 'requester', 0)

  function countStep(step: Step, of: 'session' | 'requester', count = 1): void {
    breakerSteps.inc({ step, of }, count)
  }

  function countRefusal(share: ShareName): void {
    shareRefusals.inc({ share })
    const limiter = limiters[share]
    if (limiter !== undefined) refusals.inc({ limiter })
  }

  function countRefused(event: NewEvent): void {
    if (event.type === 'rate_limited') {
      submissions.inc({ outcome: 'rate_limited' })
      countRefusal('rate')
    } else if (event.type === 'rejected') {
      const share = gated.find((name) => shares[name].code === event.data.code)
      if (share !== undefined) countRefusal(share)
    }
  }

  function count(event: AuditEvent, { writes }: Committed): void {
    switch (event.type) {
      case 'submitted': {
        const covered = writes.some((write) => isOf(write, event) && write.record.status !== 'pending')
        submissions.inc({ outcome: covered ? 'auto_approved' : 'pending' })
        if (writes.some((write) => isOf(write, event) && (write.record.caution?.repeats ?? 0) > 0)) fixations.inc()
        return
      }
      case 'session_rotated':
        rotations.inc({ reason: event.data.reason })
        return
      case 'session_warned':
        return countStep('warn', 'session')
      case 'session_paused':
        return countStep('wait', 'session')
      case 'requester_paused':
        return countStep('wait', 'requester')
      case 'session_suspended':
        // Without them it was somebody's own decision.
        if (event.data.failures !== undefined) countStep('suspend', 'session')
        return
      case 'repeated':
        submissions.inc({ outcome: 'repeated' })
        return
      case 'rejected':
        rejections.inc({ code: event.data.code })
        countRefused(event)
        return
      case 'rate_limited':
        countRefused(event)
        return
      case 'notified':
      case 'notify_failed':
        deliveries.inc({ channel: event.via, outcome: event.data.state })
        return
      case 'claimed':
      case 'lapsed':
      case 'unreported':
      case 'reported':
        executions.inc({ outcome: event.data.execution })
        return
    }
    if (event.type === 'expired' && event.data.told_at === null) untold.inc()
    if (isOutcome(event.type)) decisions.inc({ outcome: event.type, channel: event.via })
    if (event.type !== 'approved' && event.type !== 'denied') return
    for (const write of writes) {
      if (!isOf(write, event)) continue
      latency.observe({ outcome: event.type }, (event.at - write.record.createdAt) / 1000)
    }
  }

  store.onCommit((committed) => committed.events.forEach((event) => count(event, committed)))

  service.onUnrecorded((refused) => {
    unrecorded.inc({ code: refused.type === 'rejected' ? refused.data.code : refused.type })
    countRefused(refused)
  })

  let observed: Observed | null = null

  return {
    contentType: registry.contentType,
    async text() {
      pending.set(await service.countPending())
      const approved = await service.countExecutions()
      unclaimed.set(approved.unclaimed)
      unreported.set(approved.claimed + approved.unreported)
      overdue.set(approved.unreported)
      const standing = await service.countSessions()
      sessions.set(standing.all)
      suspended.set(standing.suspended)
      const { one, all } = service.countListeners()
      listeners.set({ of: 'one' }, one)
      listeners.set({ of: 'all' }, all)
      for (const [share, count] of Object.entries(observed?.taken() ?? {})) taken.set({ share }, count)
      for (const [share, count] of Object.entries(observed?.queued() ?? {})) queued.set({ share }, count)
      for (const [of, count] of Object.entries((await observed?.kept()) ?? {})) kept.set({ of }, count)
      const oldestAt = await service.oldestPending()
      oldest.set(oldestAt === undefined ? 0 : (service.now() - oldestAt) / 1000)
      return registry.metrics()
    },
    refused: countRefusal,
    observe: (one) => void (observed = one),
  }
}
