// What is whitelisted: from the API's words to the service's.
import type { z } from 'zod'
import { actorOf, type Caller } from '../access/role.js'
import { canonical } from '../core/canonical.js'
import type { GrantRequest } from '../service/grants.js'
import { authorityOf } from '../service/settle.js'
import type { grantBody } from './requests.js'
import { nameOr } from './voter.js'

export function toGrantRequest(body: z.output<typeof grantBody>, caller: Caller): GrantRequest {
  return {
    action: body.action,
    sessionKey: body.session_key ?? null,
    requester: body.requester ?? null,
    when: body.when === undefined ? null : canonical(body.when),
    details: body.details === undefined ? null : canonical(body.details),
    ttlSeconds: body.ttl_seconds ?? null,
    maxUses: body.max_uses ?? null,
    reason: body.reason?.trim() || null,
    by: actorOf(caller, nameOr(body.granted_by, 'api')),
    authority: authorityOf(caller),
  }
}
