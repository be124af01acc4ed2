// /sessions/gc: removing sessions that nobody needs, for administrators.
import type { z } from 'zod'
import type { Doomed, DoomedPlace } from '../service/collect.js'
import type { Service } from '../service/service.js'
import { type CollectSettings, sumOf } from '../sessions/collect.js'
import type { Api } from './api.js'
import * as answers from './answers.js'
import type { Cursors } from './cursor.js'
import { granted } from './errors.js'
import { byOf } from './keys.js'
import * as requests from './requests.js'
import { iso } from './view.js'

const config = { needs: 'administer' as const }

export function sessionGcRoutes(app: Api, { collector }: Service, cursors: Cursors): void {
  app.post(
    '/sessions/gc',
    {
      config,
      schema: {
        operationId: 'collectSessions',
        tag: 'sessions',
        summary: 'Remove sessions that nobody needs, or tell which those are',
        description:
          'Answers when all are gone, which may take a minute. A session stays that was used in the last hour, has ' +
          'something pending, claimed or still to be claimed, is suspended or due, or has a whitelist entry that stands.',
        body: requests.collectBody,
        response: { 200: answers.collected },
        problems: ['invalid_cursor'],
      },
    },
    async ({ body, caller }) => {
      const settings = settingsOf(body)
      if (!body.dry_run) {
        const byRule = granted(await collector.collect(settings, byOf(caller)))
        return { dry_run: false, total: sumOf(byRule), by_rule: byRule }
      }
      const after = cursors.readJson(body.cursor, 'gc', caller) as DoomedPlace | null
      const { items, next, counts } = await collector.list(settings, after)
      return {
        dry_run: true,
        total: counts === null ? null : sumOf(counts),
        by_rule: counts,
        sessions: items.map(doomedView),
        next_cursor: cursors.writeJson(next, 'gc', caller),
      }
    },
  )

  app.get(
    '/sessions/gc/progress',
    {
      config,
      schema: {
        operationId: 'readCollecting',
        tag: 'sessions',
        summary: 'How far the removing is that is under way',
        response: { 200: answers.collecting },
      },
    },
    () => ({ under_way: collector.progress() }),
  )
}

function settingsOf(body: z.output<typeof requests.collectBody>): CollectSettings {
  return {
    emptyHours: body.empty_hours,
    trivialMax: body.trivial_max,
    trivialDays: body.trivial_days,
    maxAgeDays: body.max_age_days,
    platform: body.source,
  }
}

function doomedView({ run, rule }: Doomed) {
  return {
    id: run.id,
    session_key: run.key,
    requester: run.requester,
    platform: run.platform,
    is_current: run.isCurrent,
    rule,
    messages: run.messages,
    created_at: run.createdAt / 1000,
    created_at_iso: iso(run.createdAt),
    last_active_at: run.lastActiveAt / 1000,
    last_active_at_iso: iso(run.lastActiveAt),
  }
}
