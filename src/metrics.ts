// Prometheus metrics, folded from the audit events: what is counted is exactly what is on record.
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { AuditEvent } from './audit/event.js'
import { type ExecutionState, isOutcome } from './core/model.js'
import type { Service } from './service/service.js'
import type { Committed, Store, Write } from './store/store.js'

export interface Metrics {
  contentType: string
  text(): Promise<string>
  /** Refused by the flood limit; by that on attempts. */
  flooded(): void
  guessed(): void
}

/** Seconds from asking to deciding: a reflex, a glance, a coffee, the longest wait there is. */
const latencyBuckets = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]

function isOf(write: Write, { confirmationId }: AuditEvent): write is Extract<Write, { kind: 'confirmation' }> {
  return write.kind === 'confirmation' && write.record.id === confirmationId
}

const executionOutcomes = ['claimed', 'lapsed', 'succeeded', 'failed', 'unreported'] as const satisfies ExecutionState[]

export function createMetrics(store: Store, service: Service): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const submissions = new Counter({
    name: 'holdpoint_submissions_total',
    help: 'Submissions by what became of them at once.',
    labelNames: ['outcome'],
    registers,
  })
  const decisions = new Counter({
    name: 'holdpoint_decisions_total',
    help: 'Resolved confirmations by outcome and channel.',
    labelNames: ['outcome', 'channel'],
    registers,
  })
  const latency = new Histogram({
    name: 'holdpoint_decision_latency_seconds',
    help: 'Seconds from submission to the decision of a person.',
    labelNames: ['outcome'],
    buckets: latencyBuckets,
    registers,
  })
  const deliveries = new Counter({
    name: 'holdpoint_deliveries_total',
    help: 'Attempts to tell a person or to call back, by channel and outcome.',
    labelNames: ['channel', 'outcome'],
    registers,
  })
  const refusals = new Counter({
    name: 'holdpoint_limiter_refusals_total',
    help: 'Requests refused by a limiter: per action, per key or client address, or after too many that were refused.',
    labelNames: ['limiter'],
    registers,
  })
  const rejections = new Counter({
    name: 'holdpoint_rejections_total',
    help: 'Attempts that are not allowed and are on record, by problem code.',
    labelNames: ['code'],
    registers,
  })
  const executions = new Counter({
    name: 'holdpoint_executions_total',
    help: 'What became of approvals: claimed or not in time, reported as succeeded or failed or not in time.',
    labelNames: ['outcome'],
    registers,
  })
  const unclaimed = new Gauge({
    name: 'holdpoint_unclaimed',
    help: 'Approvals that may still be claimed.',
    registers,
  })
  const unreported = new Gauge({
    name: 'holdpoint_unreported',
    help: 'Claimed approvals whose outcome nobody has reported, overdue or not.',
    registers,
  })
  const overdue = new Gauge({
    name: 'holdpoint_overdue_reports',
    help: 'Those of them whose report is overdue.',
    registers,
  })
  const listeners = new Gauge({
    name: 'holdpoint_listeners',
    help: 'Requests that are held: for one confirmation (waits, streams), or for all events.',
    labelNames: ['of'],
    registers,
  })
  const pending = new Gauge({ name: 'holdpoint_pending', help: 'Confirmations that wait for a person.', registers })
  const oldest = new Gauge({
    name: 'holdpoint_oldest_pending_age_seconds',
    help: 'Age of the confirmation that has waited longest; 0 when none waits.',
    registers,
  })

  for (const outcome of ['pending', 'auto_approved', 'rate_limited', 'repeated']) submissions.inc({ outcome }, 0)
  for (const code of ['unauthorized', 'forbidden']) rejections.inc({ code }, 0)
  for (const outcome of executionOutcomes) executions.inc({ outcome }, 0)
  for (const limiter of ['action', 'address', 'guess']) refusals.inc({ limiter }, 0)

  function count(event: AuditEvent, { writes }: Committed): void {
    switch (event.type) {
      case 'submitted': {
        const covered = writes.some((write) => isOf(write, event) && write.record.resolution !== null)
        submissions.inc({ outcome: covered ? 'auto_approved' : 'pending' })
        return
      }
      case 'repeated':
        submissions.inc({ outcome: 'repeated' })
        return
      case 'rejected':
        rejections.inc({ code: String(event.data.code) })
        return
      case 'rate_limited':
        submissions.inc({ outcome: 'rate_limited' })
        refusals.inc({ limiter: 'action' })
        return
      case 'notified':
      case 'notify_failed':
        deliveries.inc({ channel: event.via, outcome: String(event.data.state) })
        return
      case 'claimed':
      case 'lapsed':
      case 'unreported':
      case 'reported':
        executions.inc({ outcome: String(event.data.execution) })
        return
    }
    if (isOutcome(event.type)) decisions.inc({ outcome: event.type, channel: event.via })
    if (event.type !== 'approved' && event.type !== 'denied') return
    for (const write of writes) {
      if (!isOf(write, event)) continue
      latency.observe({ outcome: event.type }, (event.at - write.record.createdAt) / 1000)
    }
  }

  store.subscribe((committed) => committed.events.forEach((event) => count(event, committed)))

  return {
    contentType: registry.contentType,
    async text() {
      const { count, oldestCreatedAt } = await service.pending()
      pending.set(count)
      const approved = await service.executions()
      unclaimed.set(approved.unclaimed)
      unreported.set(approved.claimed + approved.unreported)
      overdue.set(approved.unreported)
      const { one, all } = service.listening()
      listeners.set({ of: 'one' }, one)
      listeners.set({ of: 'all' }, all)
      oldest.set(oldestCreatedAt === null ? 0 : (service.now() - oldestCreatedAt) / 1000)
      return registry.metrics()
    },
    flooded: () => refusals.inc({ limiter: 'address' }),
    guessed: () => refusals.inc({ limiter: 'guess' }),
  }
}
