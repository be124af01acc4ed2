// What the API takes and answers, written by `npm run docs` from openapi.yaml: edit nothing here.
export interface components {
  schemas: {
    /** @description What went wrong, as the Agent Approval Protocol says it. It is never an approval. */
    AapError: {
      error: {
        code: string
        message: string
        /** @description The field that is wrong. */
        param?: string
        /**
         * Format: uuid
         * @description The header `X-Request-ID` and the log have it too.
         */
        request_id: string
        /** @enum {string} */
        type:
          | 'invalid_request'
          | 'authentication'
          | 'authorization'
          | 'not_found'
          | 'conflict'
          | 'rate_limit'
          | 'dependency'
          | 'internal'
      }
    }
    /** @description The instance. */
    AapInstance: {
      /** Format: uuid */
      id: string
      name: string
    }
    AapInstanceChange: {
      /** @description Refused, but for null: there is none. */
      delivery?: Record<string, never> | null
      /** @description Trimmed, it must be 1 to 100 letters, digits, spaces and . _ @ + -, and begin and end with a letter or a digit. Names of the service itself are reserved. */
      instance_name?: string
    }
    AapInstanceTerms: {
      /** @description Refused: adapters poll. */
      delivery?: Record<string, never>
      /** @description Trimmed, it must be 1 to 100 letters, digits, spaces and . _ @ + -, and begin and end with a letter or a digit. Names of the service itself are reserved. */
      instance_name?: string
    }
    /** @description One call of a tool, that may be made once it is approved. */
    AapProposal: {
      /** @description The agent's word, shown as such. */
      agent_reasoning?: string
      /** @description What the tool is called with, whole. */
      arguments: {
        [key: string]: unknown
      }
      /** @description What the runtime says. `session_id` is the session, and `cwd` stands in the details. */
      context?: {
        [key: string]: unknown
      }
      /** @description The MCP server that has the tool, by the name that the runtime gives it. The action is then `tool:mcp__SERVER__TOOL`. */
      server?: string
      /** @description How long people may take, as `30s`, `30m` or `24h`. The rule may shorten it: `deadline_at` says what counts. */
      timeout: string
      tool: string
    }
    /** @description The instance, and the key with which it makes requests. */
    AapProvisioned: {
      credential: {
        token: string
      }
      instance: components['schemas']['AapInstance']
    }
    /** @description The request as it stands. */
    AapRequest: {
      agent_reasoning?: string
      arguments: {
        [key: string]: unknown
      }
      context?: {
        [key: string]: unknown
      }
      /** Format: date-time */
      created_at: string
      /**
       * Format: date-time
       * @description Until when it can be approved.
       */
      deadline_at: string
      decision?: {
        /** Format: date-time */
        decided_at: string
        /**
         * Format: date-time
         * @description Of an approval: until when the call may begin.
         */
        expires_at?: string
        note?: string
        /** @enum {string} */
        status: 'approved' | 'denied' | 'expired' | 'cancelled'
      }
      /** Format: uuid */
      id: string
      server?: string
      /** @enum {string} */
      status: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled'
      /** @description What was asked for. */
      timeout: string
      tool: string
    }
    Approval: {
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      approver?: string
      reason?: string
      /** @description Also whitelists the action, for this session or for all. In one word: until it is revoked. */
      remember?: ('session' | 'global') | components['schemas']['Remember']
      /** @description The action's name, where the rule wants it typed out to approve. */
      typed_action?: string
    }
    /** @description One entry per confirmation in its latest state, the newest first. */
    AuditPage: {
      /** @description How many there are in this answer. */
      count: number
      entries: components['schemas']['Confirmation'][]
      /** @description Where the next page begins; null on the last. */
      next_cursor: string | null
    }
    Batch: {
      items: components['schemas']['BatchItem'][]
    }
    /** @description One submission of a batch. */
    BatchItem: {
      /** @description Trimmed; it must not be blank. */
      action: string
      /**
       * Format: uri
       * @description Where the resolved record is POSTed, signed after Standard Webhooks.
       */
      callback_url?: string
      /** @description Trimmed; it must not be blank. */
      description: string
      /** @description At most 64 levels deep; the whole body has at most 10000 values. Left out: `{}`. */
      details?: {
        [key: string]: unknown
      }
      /** @description As the header `Idempotency-Key` of a submission alone, without quotes: 1 to 255 visible ASCII characters. */
      idempotency_key?: string
      /** @description For whom the agent says it acts: shown as its word, part of the digest, and no right. */
      on_behalf_of?: string
      /** @description With a key it is the key's owner, and this no more than a comment. Left out: `"agent"`. */
      requester?: string
      /** @description Left out: `""`. */
      session_key?: string
      /** @description Clamped to the bounds of the rule, and its default if it is left out or no number: 30..3600 and 300, where the rule says nothing else. */
      timeout_seconds?: number
    }
    /** @description How many by each rule. */
    ByRule: {
      aged: number
      empty: number
      trivial: number
    }
    Cancellation: {
      /** @description While there is no key; left out: the requester. */
      cancelled_by?: string
      reason?: string
    }
    /** @enum {string} */
    Channel: 'telegram' | 'discord' | 'slack' | 'ntfy' | 'log' | 'callback'
    Claim: {
      /** @description What the agent is about to do; compared with what was approved. */
      digest?: string
    }
    /** @description What went, or what would go. */
    Collected: {
      by_rule: components['schemas']['ByRule'] | null
      dry_run: boolean
      /** @description Where the next page begins; null on the last. */
      next_cursor?: string | null
      /** @description What would go, if that was the question. */
      sessions?: components['schemas']['DoomedSession'][]
      /** @description How many went, or would; null on further pages. */
      total: number | null
    }
    /** @description How far it is. */
    Collecting: {
      /** @description How many are to go, and how many have gone; null: none is being removed. */
      under_way: {
        gone: number
        planned: number
      } | null
    }
    /** @description Which sessions nobody needs. */
    Collection: {
      /** @description With `dry_run`, go on there: the `next_cursor` of the last answer. */
      cursor?: string
      /** @description Only tell what would go. Left out: `false`. */
      dry_run?: boolean
      /** @description Without any message, and begun and last active so long ago. Left out: `24`. */
      empty_hours?: number
      /** @description Last active so long ago, whatever it has; null: that is no reason. Left out: `null`. */
      max_age_days?: number | null
      /** @description Of this platform alone; null: of any, and of none. Left out: `null`. */
      source?: string | null
      /** @description ... and last active so long ago. Left out: `7`. */
      trivial_days?: number
      /** @description With at most so many messages ... Left out: `5`. */
      trivial_max?: number
    }
    /**
     * @description Why a session goes: it is `empty`, it is `trivial`, or it `aged`. The first that fits is the one.
     * @enum {string}
     */
    CollectRule: 'empty' | 'trivial' | 'aged'
    /** @description What somebody who decided said of it afterwards. */
    Comment: {
      at: components['schemas']['EpochSeconds']
      at_iso: components['schemas']['IsoTime']
      by: string
      text: string
      via: string
    }
    /**
     * @description A confirmation in its latest state.
     * @example {
     *       "id": "019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e",
     *       "action": "deploy_production",
     *       "description": "Deploy 4.2.0 to production",
     *       "details": {
     *         "version": "4.2.0",
     *         "region": "eu-west-1"
     *       },
     *       "requester": "release-bot",
     *       "session_key": "release-4.2",
     *       "session_id": "019b7765-1c7f-7b14-8f0e-2a51c6f6d1e3",
     *       "warnings": [],
     *       "status": "approved",
     *       "resolved_by": "alice",
     *       "resolved_at": 1767225660,
     *       "created_at": 1767225600,
     *       "timeout_seconds": 600,
     *       "created_at_iso": "2026-01-01T00:00:00.000Z",
     *       "resolved_at_iso": "2026-01-01T00:01:00.000Z",
     *       "expires_at": 1767226200,
     *       "expires_at_iso": "2026-01-01T00:10:00.000Z",
     *       "resolved_via": "http",
     *       "reason": null,
     *       "digest": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
     *       "callback_url": null,
     *       "requested_as": null,
     *       "on_behalf_of": null,
     *       "risk": "high",
     *       "rule": "default",
     *       "digest_required": false,
     *       "approvals_needed": 1,
     *       "approvals_given": 1,
     *       "votes": [
     *         {
     *           "verdict": "approve",
     *           "by": "alice",
     *           "at": 1767225660,
     *           "at_iso": "2026-01-01T00:01:00.000Z",
     *           "via": "http",
     *           "reason": null,
     *           "comment": null,
     *           "proven": true,
     *           "remember": null
     *         }
     *       ],
     *       "comments": [],
     *       "told_at": 1767225601,
     *       "told_at_iso": "2026-01-01T00:00:01.000Z",
     *       "execution": "unclaimed",
     *       "claim_expires_at": 1767229260,
     *       "claim_expires_at_iso": "2026-01-01T01:01:00.000Z",
     *       "claimed_at": null,
     *       "claimed_at_iso": null,
     *       "reported_at": null,
     *       "reported_at_iso": null,
     *       "outcome": null,
     *       "report_message": null
     *     }
     */
    Confirmation: {
      action: string
      approvals_given: number
      /** @description How many different people must approve. */
      approvals_needed: number
      callback_url: string | null
      /** @description Until when an approval may be claimed. */
      claim_expires_at: components['schemas']['EpochSeconds'] | null
      claim_expires_at_iso: components['schemas']['IsoTime'] | null
      claimed_at: components['schemas']['EpochSeconds'] | null
      claimed_at_iso: components['schemas']['IsoTime'] | null
      comments: components['schemas']['Comment'][]
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      description: string
      details: {
        [key: string]: unknown
      }
      digest: components['schemas']['Digest']
      /** @description Whether it is claimed only with its digest. */
      digest_required: boolean
      /** @description What became of an approval; null without one. */
      execution: components['schemas']['ExecutionState'] | null
      expires_at: components['schemas']['EpochSeconds']
      expires_at_iso: components['schemas']['IsoTime']
      id: string
      /** @description For whom the requester says it acts, which nobody has verified. */
      on_behalf_of: string | null
      outcome: components['schemas']['ReportedOutcome'] | null
      reason: string | null
      report_message: string | null
      reported_at: components['schemas']['EpochSeconds'] | null
      reported_at_iso: components['schemas']['IsoTime'] | null
      /** @description The name in the request, where it is not the key's owner. */
      requested_as: string | null
      requester: string
      resolved_at: components['schemas']['EpochSeconds'] | null
      resolved_at_iso: components['schemas']['IsoTime'] | null
      /** @description Empty while it is pending. */
      resolved_by: string
      resolved_via: string | null
      risk: components['schemas']['Risk']
      /** @description The rule that governs it. */
      rule: string
      /** @description The id that the session had then; null without one. */
      session_id: string | null
      session_key: string
      status: components['schemas']['Status']
      timeout_seconds: number
      /** @description When a person was first told of it; null: nobody was, before it ended. */
      told_at: components['schemas']['EpochSeconds'] | null
      told_at_iso: components['schemas']['IsoTime'] | null
      votes: components['schemas']['Vote'][]
      /** @description What was odd about it in its session. */
      warnings: string[]
    }
    /** @description Pending ones with the next deadline first; everything else with the newest first. */
    ConfirmationPage: {
      confirmations: components['schemas']['Confirmation'][]
      /** @description How many there are in this answer. */
      count: number
      /** @description Where the next page begins; null on the last. */
      next_cursor: string | null
    }
    /** @description The messages are counted. */
    CountedMessages: {
      session: components['schemas']['SessionState']
    }
    /** @description Resolved, and that stands; or pending, while more people must approve. */
    DecidedConfirmation: {
      action: string
      approvals_given: number
      /** @description How many different people must approve. */
      approvals_needed: number
      /** @description The whitelist entry that came with the approval. */
      grant?: components['schemas']['Grant']
      id: string
      reason?: string
      resolved_at: components['schemas']['EpochSeconds'] | null
      resolved_at_iso: components['schemas']['IsoTime'] | null
      resolved_by: string
      status: components['schemas']['Status']
      votes: components['schemas']['Vote'][]
    }
    /** @description What its rule wants of whoever decides. */
    Deciding: {
      /** @description Who may decide, by name; null: any operator. */
      deciders: string[] | null
      /** @description How many of the approvals must come from each group, if any. */
      groups: {
        count: number
        group: string
        members: string[]
      }[]
      /** @description Whether the requester may decide it too. */
      own_allowed: boolean
      /** @description Which verdicts need a reason. */
      reason_required: components['schemas']['Verdict'][]
      /** @description Whether approving needs the action's name typed out. */
      typing_required: boolean
    }
    /** @description What is decided on one confirmation. */
    Decision: {
      id: string
      reason?: string
      /** @description The action's name, where the rule wants it typed out to approve. */
      typed_action?: string
      verdict: components['schemas']['Verdict']
    }
    /** @description The answer that one decision would have had alone. */
    DecisionResult:
      | {
          body: components['schemas']['DecidedConfirmation']
          id: string
          /** @constant */
          status_code: 200
        }
      | {
          body: components['schemas']['Problem'] & {
            /** @enum {string} */
            code:
              | 'not_json'
              | 'unknown_field'
              | 'invalid_request'
              | 'reason_required'
              | 'own_request'
              | 'not_a_decider'
              | 'typing_required'
              | 'unauthorized'
              | 'not_found'
              | 'internal_error'
              | 'contended'
              | 'outcome_unknown'
              | 'storage_unavailable'
          }
          id?: string
          /** @enum {number} */
          status_code: 400 | 401 | 403 | 404 | 500 | 503
        }
      | {
          body: components['schemas']['StateProblem'] & {
            /** @enum {string} */
            code: 'already_resolved' | 'already_voted'
          }
          id?: string
          /** @constant */
          status_code: 409
        }
    /** @description One result for each, in the order of the request. */
    DecisionResults: {
      /** @description How many there are in this answer. */
      count: number
      results: components['schemas']['DecisionResult'][]
    }
    Decisions: {
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      decided_by?: string
      decisions: components['schemas']['Decision'][]
    }
    /** @description How telling a person, or calling the agent back, went by one channel. */
    Delivery: {
      attempts: number
      channel: components['schemas']['Channel']
      error: string | null
      next_attempt_at: components['schemas']['EpochSeconds'] | null
      /**
       * @description What for: `notice` is the first that somebody is told, `asked` what somebody asked a chat for; a callback is a `notice`.
       * @enum {string}
       */
      occasion: 'notice' | 'escalation' | 'reminder' | 'last_reminder' | 'asked'
      /** @enum {string} */
      status: 'queued' | 'retrying' | 'collected' | 'sent' | 'failed' | 'superseded' | 'dropped'
      updated_at: components['schemas']['EpochSeconds']
      updated_at_iso: components['schemas']['IsoTime']
    }
    Denial: {
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      denier?: string
      reason?: string
    }
    /** @description SHA-256 over the RFC 8785 form of action, details, on_behalf_of (where it is given), requester and session_key, in 64 hexadecimal digits. */
    Digest: string
    /** @description A session id that would go. */
    DoomedSession: {
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      /** @description The session id. */
      id: string
      /** @description Whether the session goes on with it; else it was rotated away. */
      is_current: boolean
      last_active_at: components['schemas']['EpochSeconds']
      last_active_at_iso: components['schemas']['IsoTime']
      messages: number
      platform: string | null
      /** @description Empty: from open mode. */
      requester: string
      rule: components['schemas']['CollectRule']
      session_key: string
    }
    /** @description One that was rotated away; the session can be switched back to it. */
    EarlierSessionId: {
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      ended_at: components['schemas']['EpochSeconds']
      ended_at_iso: components['schemas']['IsoTime']
      last_active_at: components['schemas']['EpochSeconds']
      last_active_at_iso: components['schemas']['IsoTime']
      messages: number
      reason: components['schemas']['RotationReason']
      session_id: string
      submissions: number
    }
    /** @description Seconds since 1970, with a fraction. */
    EpochSeconds: number
    /** @description Something that happened, as the append-only history keeps it. */
    Event: {
      actor: string
      channel: string
      confirmation_id: string | null
      data: {
        [key: string]: unknown
      }
      seq: number
      time: components['schemas']['EpochSeconds']
      time_iso: components['schemas']['IsoTime']
      type: components['schemas']['EventType']
    }
    /** @description The history, oldest first. */
    EventPage: {
      /** @description How many there are in this answer. */
      count: number
      events: components['schemas']['Event'][]
      /** @description There is more behind that already. */
      more: boolean
      /** @description The 'after' of the next call. */
      next_after: number
    }
    /** @enum {string} */
    EventType:
      | 'submitted'
      | 'repeated'
      | 'voted'
      | 'auto_approved'
      | 'approved'
      | 'denied'
      | 'expired'
      | 'cancelled'
      | 'commented'
      | 'asked_for'
      | 'reminded'
      | 'escalated'
      | 'claimed'
      | 'lapsed'
      | 'reported'
      | 'unreported'
      | 'rate_limited'
      | 'rejected'
      | 'granted'
      | 'revoked'
      | 'linked'
      | 'notified'
      | 'notify_failed'
      | 'key_added'
      | 'key_revoked'
      | 'key_rotated'
      | 'instance_changed'
      | 'sign_in_linked'
      | 'sign_in_link_used'
      | 'person_changed'
      | 'session_started'
      | 'session_due'
      | 'session_rotated'
      | 'session_suspended'
      | 'session_resumed'
      | 'session_warned'
      | 'session_paused'
      | 'requester_paused'
      | 'sessions_collected'
      | 'rules_loaded'
      | 'restored'
    /**
     * @description What became of an approval. `unclaimed` may still be claimed; `lapsed` was not claimed in time. `claimed`: the agent acts; `unreported`: it has not said in time how that went, which it still may.
     * @enum {string}
     */
    ExecutionState: 'unclaimed' | 'lapsed' | 'claimed' | 'unreported' | 'succeeded' | 'failed'
    /** @description The confirmation in its latest state, with who was told of it. */
    FoundConfirmation: components['schemas']['Confirmation'] & {
      /** @description Null with an agent's key. */
      deciding: components['schemas']['Deciding'] | null
      deliveries: components['schemas']['Delivery'][]
    }
    /** @description A whitelist entry. */
    Grant: {
      action: string
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      /** @description The details it is for, equal as a whole. */
      details: {
        [key: string]: unknown
      } | null
      expires_at: components['schemas']['EpochSeconds'] | null
      expires_at_iso: components['schemas']['IsoTime'] | null
      granted_by: string
      id: string
      max_uses: number | null
      reason: string | null
      requester: string | null
      revoked_at: components['schemas']['EpochSeconds'] | null
      /** @enum {string} */
      scope: 'global' | 'session'
      session_key: string | null
      uses: number
      /** @description Conditions on the details, as in the rules. */
      when: {
        [key: string]: unknown
      } | null
    }
    /** @description The whitelist entries that stand. */
    GrantPage: {
      /** @description How many there are in this answer. */
      count: number
      entries: components['schemas']['Grant'][]
      /** @description Where the next page begins; null on the last. */
      next_cursor: string | null
    }
    /** @description What may pass without asking, for whom and how long. */
    GrantTerms: {
      /** @description Trimmed; it must not be blank. */
      action: string
      /** @description Covers only requests whose details are equal to these as a whole. At most 64 levels deep; the whole body has at most 10000 values. */
      details?: {
        [key: string]: unknown
      }
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      granted_by?: string
      max_uses?: number
      reason?: string
      /** @description Leave it out to cover whoever asks. Trimmed; it must not be blank. */
      requester?: string
      /** @description Leave it out to cover everyone. */
      session_key?: string
      ttl_seconds?: number
      /** @description Conditions on the details, as in the rules: by the path to a value, what it is to equal, or an object of `equals`, `in`, `greater_than`, `at_least`, `less_than`, `at_most`, `matches`, `exists`, `every`. At most 2000 characters. Leave it out to cover whatever the details are; beside `details`, both must fit. */
      when?: {
        [key: string]: unknown
      }
    }
    /** @description The process answers. */
    Health: {
      /**
       * @description Open: there is no key yet, and everyone here is let in.
       * @enum {string}
       */
      auth: 'open' | 'keys'
      pending_count: number
      /** @constant */
      status: 'ok'
      timestamp: components['schemas']['EpochSeconds']
      timestamp_iso: components['schemas']['IsoTime']
      version: string
    }
    /**
     * @description Held; a person has been asked. With `wait`: still no answer.
     * @example {
     *       "id": "019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e",
     *       "action": "deploy_production",
     *       "requester": "release-bot",
     *       "digest": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
     *       "expires_at": 1767226200,
     *       "expires_at_iso": "2026-01-01T00:10:00.000Z",
     *       "status": "pending",
     *       "timeout_seconds": 600,
     *       "message": "Waiting for a person to approve or deny this; it expires in 600 s.",
     *       "approve_url": "/confirm/019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e/approve",
     *       "deny_url": "/confirm/019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e/deny"
     *     }
     */
    HeldConfirmation: {
      action: string
      approve_url: string
      deny_url: string
      digest: components['schemas']['Digest']
      expires_at: components['schemas']['EpochSeconds']
      expires_at_iso: components['schemas']['IsoTime']
      id: string
      message: string
      requester: string
      session?: components['schemas']['SessionState']
      /** @constant */
      status: 'pending'
      timeout_seconds: number
    }
    /** @description The decision. Whatever goes wrong is a `deny` as well, with its code and its sentence. */
    HookAnswer: {
      /** @description Before a call, and where anything is wrong: always there. After a call: nothing is to be said. */
      hookSpecificOutput?: {
        /** @constant */
        hookEventName: 'PreToolUse'
        /** @enum {string} */
        permissionDecision: 'allow' | 'deny'
        /** @description For whoever looks on, or for the model: what to do next. */
        permissionDecisionReason: string
      }
    }
    /**
     * @description What a hook says of a call. Other fields of the host's are not looked at.
     * @example {
     *       "hook_event_name": "PreToolUse",
     *       "session_id": "4f6c1b1e-6f5d-4c7e-9d0e-2f4f6a1f0c55",
     *       "tool_name": "Bash",
     *       "tool_input": {
     *         "command": "git push --force",
     *         "description": "Publish the branch"
     *       },
     *       "cwd": "/home/ann/shop",
     *       "tool_use_id": "toolu_01A09q90qw90lq917835lq9"
     *     }
     */
    HookCall: {
      /** @description In which folder; approved with the rest. */
      cwd?: string | null
      /** @description How a call failed; of a text the beginning is kept. */
      error?: unknown
      /**
       * @description Before a call, after one that went well, or after one that failed.
       * @enum {string}
       */
      hook_event_name: 'PreToolUse' | 'PostToolUse' | 'PostToolUseFailure'
      /** @description Becomes the session key; without one there is no session. */
      session_id?: string | null
      /** @description Approved as it is, but for the `description` of Bash, which is left out: it does nothing. */
      tool_input: {
        [key: string]: unknown
      }
      /** @description The action is `tool:` and this. */
      tool_name: string
      /** @description By which the outcome is reported afterwards. */
      tool_use_id?: string | null
    }
    /**
     * Format: date-time
     * @description The same time as ISO 8601, in UTC.
     */
    IsoTime: string
    /** @description A key, without its secret. */
    Key: {
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      created_by: string
      expires_at: components['schemas']['EpochSeconds'] | null
      expires_at_iso: components['schemas']['IsoTime'] | null
      id: string
      /** @description When it was last used; a crash forgets the last minute. Null: never. */
      last_used_at: components['schemas']['EpochSeconds'] | null
      last_used_at_iso: components['schemas']['IsoTime'] | null
      name: string
      /** @description The key in its place, where it was rotated. */
      replaced_by: string | null
      revoked_at: components['schemas']['EpochSeconds'] | null
      revoked_at_iso: components['schemas']['IsoTime'] | null
      role: components['schemas']['Role']
      /** @enum {string} */
      state: 'live' | 'expired' | 'revoked'
    }
    /** @description Every key there ever was. */
    KeyList: {
      /** @description How many there are in this answer. */
      count: number
      keys: components['schemas']['Key'][]
    }
    /** @description Whose key it is to be, and what it may do. */
    KeyTerms: {
      /** @description Best sent as text: a number is refused where it has more digits than it can hold. */
      discord_id?: (string | number) | null
      /** @description Left out: until it is revoked. */
      expires_in_seconds?: number
      /** @description Trimmed, it must be 1 to 100 letters, digits, spaces and . _ @ + -, and begin and end with a letter or a digit. Names of the service itself are reserved. */
      name: string
      role: components['schemas']['Role']
      /** @description Of somebody from another workspace with the id of that in front: T012AB3CD:U012AB3CD. */
      slack_id?: string | null
      /** @description Best sent as text: a number is refused where it has more digits than it can hold. */
      telegram_id?: (string | number) | null
    }
    /** @description A new key. Keep it now: only its hash is stored. */
    MadeKey: components['schemas']['Key'] & {
      /** @description The key itself: shown this once. */
      key: string
      /** @description The key in whose place it is, which stays good for a while. */
      replaces?: components['schemas']['Key']
    }
    /** @description That the conversation went on. */
    Messages: {
      /** @description How many messages there were. Left out: `1`. */
      count?: number
    }
    OutcomeInSession: {
      action: string
      /** @description Empty where it is long; the confirmation has it. */
      description: string
      execution: components['schemas']['ExecutionState'] | null
      id: string
      reason: string | null
      resolved_at: components['schemas']['EpochSeconds']
      resolved_at_iso: components['schemas']['IsoTime']
      resolved_by: string
      session_id: string | null
      status: components['schemas']['Status']
    }
    PendingInSession: {
      action: string
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      /** @description Empty where it is long; the confirmation has it. */
      description: string
      expires_at: components['schemas']['EpochSeconds']
      expires_at_iso: components['schemas']['IsoTime']
      id: string
      session_id: string | null
    }
    /** @description Whoever asks and votes under one name, by whatever channel. */
    Person: {
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      discord_id: string | null
      name: string
      slack_id: string | null
      telegram_id: string | null
    }
    /** @description By which ids the chats know somebody. Left out: as it was; null: by none. */
    PersonIds: {
      /** @description Best sent as text: a number is refused where it has more digits than it can hold. */
      discord_id?: (string | number) | null
      /** @description Of somebody from another workspace with the id of that in front: T012AB3CD:U012AB3CD. */
      slack_id?: string | null
      /** @description Best sent as text: a number is refused where it has more digits than it can hold. */
      telegram_id?: (string | number) | null
    }
    /** @description Everyone who ever had a key or is known by a chat. */
    PersonList: {
      /** @description How many there are in this answer. */
      count: number
      people: components['schemas']['Person'][]
    }
    /**
     * @description What went wrong, as RFC 9457 problem details.
     * @example {
     *       "type": "urn:holdpoint:problem:not_found",
     *       "title": "Not found",
     *       "status": 404,
     *       "detail": "There is no confirmation 019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e.",
     *       "error": "There is no confirmation 019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e.",
     *       "code": "not_found",
     *       "request_id": "8f14e45fceea167a"
     *     }
     */
    Problem: {
      code: components['schemas']['ProblemCode']
      detail: string
      /** @description One sentence: what is wrong and what to do next. */
      error: string
      /** @description The confirmation that is meant. With `key_reused`. */
      id?: string
      /** @description With `ambiguous_id`. */
      ids?: string[]
      /** @description Confirmations of this action in one window. With `rate_limited`. */
      max?: number
      /** @description How many the requester may have open. With `too_many_open`. */
      open_limit?: number
      /** @description Why it was denied. With `session_suspended`. */
      reason?: string | null
      /** @description How many are left in this window. With `rate_limited`, `flood_limited`. */
      remaining?: number
      /** @description The log has it too. */
      request_id: string
      /** @description With `ambiguous_session`. */
      requesters?: string[]
      /** @description As in `Retry-After`. With `rate_limited`, `too_many_open`, `disk_limited`, `circuit_open`, `guess_limited`, `flood_limited`. */
      retry_after_seconds?: number
      /** @description Which share was used up. With `rate_limited`, `too_many_open`, `disk_limited`, `circuit_open`, `guess_limited`, `flood_limited`. */
      share?: components['schemas']['Share']
      /** @description The HTTP status. */
      status: number
      title: string
      /** @description `urn:holdpoint:problem:` and the code. */
      type: string
      /** @description With `rate_limited`, `flood_limited`. */
      window_seconds?: number
    }
    /**
     * @description What went wrong. Decide by this; it is stable.
     *
     *     - `not_json` (400): The body is no JSON object in UTF-8.
     *     - `ambiguous_json` (400): A name stands twice, or a number does not survive being read; `error` says where. Send it as text.
     *     - `unknown_field` (400): The body has a field that does not exist; `error` lists those that do.
     *     - `unknown_parameter` (400): The query has a parameter that does not exist; `error` lists those that do.
     *     - `invalid_request` (400): A field, a parameter or the request itself is wrong; `error` says which and how.
     *     - `unsupported_delivery_type` (400): An instance with `delivery`: there is only the synchronous mode, in which adapters poll.
     *     - `invalid_cursor` (400): The `cursor` did not come from here, belongs to another listing or to somebody else, or `after` is beyond the end.
     *     - `callback_refused` (400): The `callback_url` cannot be called back; `error` says why.
     *     - `unclear_action` (400): There are rules, and the action's name is not plain nor spelt out by one.
     *     - `details_too_long` (400): A whitelist entry for exactly these details would be too long.
     *     - `no_session` (400): `remember: "session"` for a request that has no `session_key`.
     *     - `no_requester` (400): To remember it for a requester who gave no name.
     *     - `invalid_choice` (400): A form on a page was sent without a choice, or with a reason that is no text.
     *     - `reason_required` (400): The rule wants a `reason` for this verdict.
     *     - `typing_required` (400): The rule wants the action's name in `typed_action`.
     *     - `unauthorized` (401): No key, or one that is not known or no longer good; or no such link.
     *     - `forbidden` (403): The key's role does not allow this.
     *     - `not_yours` (403): Only whoever submitted it may cancel, claim and report it.
     *     - `own_request` (403): Nobody decides what they submitted.
     *     - `not_a_decider` (403): The rule lets others decide this, or needs several people and this is a chat's link.
     *     - `not_whitelistable` (403): The rules want a person for this action every time.
     *     - `high_risk` (403): This action always needs a person and cannot be whitelisted.
     *     - `cross_origin` (403): A web page of another site tried to change something.
     *     - `not_found` (404): There is nothing with this id, or it is another agent's.
     *     - `no_such_route` (404): There is nothing at this path.
     *     - `method_not_allowed` (405): The path takes other methods; `Allow` lists them.
     *     - `request_timeout` (408): The request took too long to arrive.
     *     - `already_resolved` (409): Somebody was first, or it expired. `status` is the state that stands.
     *     - `already_voted` (409): One person has one vote. It is still pending.
     *     - `link_used` (409): A link is good for one decision.
     *     - `denied_before` (409): The same was denied a short while ago; `id` and `reason` say by what and why.
     *     - `whitelist_full` (409): 100 entries differ in nothing but requester and conditions; revoke one.
     *     - `ambiguous_session` (409): Several requesters have a session with this key; say whose with `?requester=`. `requesters` has the first 20.
     *     - `ambiguous_id` (409): Several requests of the last week have an id with this end; say more of it. `ids` has the last 10.
     *     - `name_taken` (409): Somebody has a name that looks like this, or this chat id.
     *     - `key_not_live` (409): A revoked or expired key cannot be rotated, and signs nobody in.
     *     - `instance_deleted` (409): The instance that was made with this `Idempotency-Key` was deleted, and does not come back.
     *     - `credential_lost` (409): The instance was made with another key of the same provisioner, and only with that its credential is told again.
     *     - `not_approved` (409): A claim for what is pending or was not approved. Do not act.
     *     - `approval_expired` (409): A claim that came too late. Do not act; submit again.
     *     - `digest_mismatch` (409): A claim for something other than what was approved. Do not act.
     *     - `digest_required` (409): A claim that does not say what it is for, where it must. Do not act; compute the digest, and claim with it.
     *     - `already_claimed` (409): An approval is good for one act. Do not act again.
     *     - `not_claimed` (409): A report on what was never claimed.
     *     - `already_reported` (409): The first report stands.
     *     - `body_too_large` (413): More than 1 MiB.
     *     - `unsupported_media_type` (415): A body without `Content-Type: application/json`.
     *     - `expectation_failed` (417): An `Expect` header other than `100-continue`.
     *     - `unknown_host` (421): A browser came by a name that is not this machine's.
     *     - `key_reused` (422): The `Idempotency-Key` stands for another request; the `id` of its confirmation is in the answer.
     *     - `session_suspended` (423): Nothing is taken from this session until an operator resumes or resets it.
     *     - `rate_limited` (429): This action had its confirmations for now; see `Retry-After`.
     *     - `too_many_open` (429): The requester has as many open as may be; see `Retry-After`.
     *     - `disk_limited` (429): The requester has written as much as may be in a day; see `Retry-After`.
     *     - `circuit_open` (429): Too many requests in a row were denied or expired, of this session or of this requester; see `Retry-After`.
     *     - `guess_limited` (429): Too many refusals from this address or name; see `Retry-After`.
     *     - `flood_limited` (429): Too much of what there is a share of for each requester; `share` says of what. See `Retry-After`.
     *     - `headers_too_large` (431): More than 16 KiB of headers, or more than 100 of them.
     *     - `internal_error` (500): A bug. Nothing was approved; the log has the details.
     *     - `contended` (503): Too many changed the same thing at once. Nothing was done; try again.
     *     - `outcome_unknown` (503): The disk failed during the commit. It may stand or not: do not act, and look again until you are told.
     *     - `storage_unavailable` (503): The database cannot be written or read, or was taken away; `error` says which. Nothing was changed.
     *     - `shutting_down` (503): Try again in a moment.
     * @enum {string}
     */
    ProblemCode:
      | 'not_json'
      | 'ambiguous_json'
      | 'unknown_field'
      | 'unknown_parameter'
      | 'invalid_request'
      | 'unsupported_delivery_type'
      | 'invalid_cursor'
      | 'callback_refused'
      | 'unclear_action'
      | 'details_too_long'
      | 'no_session'
      | 'no_requester'
      | 'invalid_choice'
      | 'reason_required'
      | 'typing_required'
      | 'unauthorized'
      | 'forbidden'
      | 'not_yours'
      | 'own_request'
      | 'not_a_decider'
      | 'not_whitelistable'
      | 'high_risk'
      | 'cross_origin'
      | 'not_found'
      | 'no_such_route'
      | 'method_not_allowed'
      | 'request_timeout'
      | 'already_resolved'
      | 'already_voted'
      | 'link_used'
      | 'denied_before'
      | 'whitelist_full'
      | 'ambiguous_session'
      | 'ambiguous_id'
      | 'name_taken'
      | 'key_not_live'
      | 'instance_deleted'
      | 'credential_lost'
      | 'not_approved'
      | 'approval_expired'
      | 'digest_mismatch'
      | 'digest_required'
      | 'already_claimed'
      | 'not_claimed'
      | 'already_reported'
      | 'body_too_large'
      | 'unsupported_media_type'
      | 'expectation_failed'
      | 'unknown_host'
      | 'key_reused'
      | 'session_suspended'
      | 'rate_limited'
      | 'too_many_open'
      | 'disk_limited'
      | 'circuit_open'
      | 'guess_limited'
      | 'flood_limited'
      | 'headers_too_large'
      | 'internal_error'
      | 'contended'
      | 'outcome_unknown'
      | 'storage_unavailable'
      | 'shutting_down'
    /** @description The database takes writes. */
    Readiness: {
      /** @constant */
      status: 'ready'
    }
    /** @description The whitelist entry that goes with an approval. */
    Remember: {
      /**
       * @description Exact: only for details that are equal to these as a whole. Left out: `"any"`.
       * @enum {string}
       */
      details?: 'exact' | 'any'
      /**
       * @description Left out: anyone; for a session and with keys, the requester.
       * @enum {string}
       */
      for?: 'requester' | 'anyone'
      /** @enum {string} */
      scope: 'session' | 'global'
      /** @description Left out: until it is revoked. */
      ttl_seconds?: number
    }
    /** @description For what it was whitelisted too. */
    Remembered: {
      /** @enum {string} */
      details: 'exact' | 'any'
      expires_at: components['schemas']['EpochSeconds'] | null
      expires_at_iso: components['schemas']['IsoTime'] | null
      /** @description For whom; null: whoever asks. */
      requester: string | null
      /** @enum {string} */
      scope: 'session' | 'global'
    }
    /** @description How the act went. */
    Report: {
      message?: string
      outcome: components['schemas']['ReportedOutcome']
    }
    /**
     * @description How the act went.
     * @enum {string}
     */
    ReportedOutcome: 'succeeded' | 'failed'
    Revocation: {
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      revoked_by?: string
    }
    /**
     * @description `high` always needs a person.
     * @enum {string}
     */
    Risk: 'low' | 'normal' | 'high'
    /**
     * @description What a key may do.
     * @enum {string}
     */
    Role: 'agent' | 'operator' | 'auditor' | 'admin' | 'provisioner'
    Rotation: {
      /** @description How long the old key stays good. Left out: `86400`. */
      overlap_seconds?: number
    }
    /**
     * @description Why a session got a new id.
     * @enum {string}
     */
    RotationReason: 'idle' | 'daily' | 'message_limit' | 'suspended' | 'manual' | 'switched'
    /** @description What one requester does under one session key. */
    Session: {
      /** @description It rotates with its next use. */
      at_limit: boolean
      chat_type: ('dm' | 'group' | 'channel' | 'thread') | null
      /** @description When this session id began. */
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      due_reason: components['schemas']['RotationReason'] | null
      /** @description Since when it has to rotate. Its grants cover nothing any more; its session id stays until what was pending or claimed then is over. */
      due_since: components['schemas']['EpochSeconds'] | null
      due_since_iso: components['schemas']['IsoTime'] | null
      /** @description What was asked for last, and how many times in a row with other details. */
      fixation: {
        action: string
        repeats: number
      } | null
      last_active_at: components['schemas']['EpochSeconds']
      last_active_at_iso: components['schemas']['IsoTime']
      /** @description How many there may be; null: any number. */
      max_messages: number | null
      /** @description Under this session id, submissions among them. */
      messages: number
      /** @description From 85 % on. */
      near_limit: boolean
      /** @description Of a session key in the usual form; else null. */
      platform: string | null
      previous_id: string | null
      remaining: number | null
      /** @description The key's owner; empty for what was asked in open mode. */
      requester: string
      /** @description When it is due if nothing more happens; null: never by time. */
      resets_at: components['schemas']['EpochSeconds'] | null
      resets_at_iso: components['schemas']['IsoTime'] | null
      /** @description When it last got another session id. */
      rotated_at: components['schemas']['EpochSeconds'] | null
      rotated_at_iso: components['schemas']['IsoTime'] | null
      rotation_reason: components['schemas']['RotationReason'] | null
      /** @description It changes with each rotation. */
      session_id: string
      session_key: string
      /** @description Denials and expiries in a row, since a person last approved something. */
      streak: number
      submissions: number
      /** @description Nothing is taken from it until it is resumed or reset. */
      suspended: boolean
      suspended_at: components['schemas']['EpochSeconds'] | null
      suspended_at_iso: components['schemas']['IsoTime'] | null
      suspended_by: string | null
      suspended_reason: string | null
      /** @description The earlier session id that comes back then; null: a new one. */
      switches_to: string | null
      /** @description Until then nothing is taken from it; null: it need not wait. */
      waits_until: components['schemas']['EpochSeconds'] | null
      waits_until_iso: components['schemas']['IsoTime'] | null
    }
    /** @description The latest active first. */
    SessionPage: {
      /** @description How many there are in this answer. */
      count: number
      /** @description Where the next page begins; null on the last. */
      next_cursor: string | null
      sessions: components['schemas']['Session'][]
    }
    SessionReset: {
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      reset_by?: string
    }
    SessionResumption: {
      reason?: string
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      resumed_by?: string
    }
    /** @description How the session stands, with this submission or message. */
    SessionState: {
      /** @description It rotates with its next use. */
      at_limit: boolean
      /** @description Messages so far, submissions among them. */
      count: number
      /** @description The session id, which changes with each rotation. */
      id: string
      /** @description How many there may be; null: any number. */
      max: number | null
      /** @description From 85 % on. */
      near_limit: boolean
      /** @description What to do about that, for the agent's prompt. */
      notice?: string
      previous_id?: string
      remaining: number | null
      reset_reason?: components['schemas']['RotationReason']
      /** @description What is odd about the requests of this session. */
      warning?: string
      /**
       * @description It rotated since the last answer; said once.
       * @constant
       */
      was_reset?: true
    }
    SessionSuspension: {
      /** @description The agent is told. */
      reason?: string
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      suspended_by?: string
    }
    SessionSwitch: {
      /** @description Trimmed; it must not be blank. */
      session_id: string
      /** @description Who does this, 'api' if it is left out; with a key it is the key's owner. */
      switched_by?: string
    }
    /** @description Resolved: by a whitelist entry or a rule at once, or, with `wait`, meanwhile. */
    SettledConfirmation: components['schemas']['Confirmation'] & {
      /** @description Whether to go ahead. */
      message: string
      session?: components['schemas']['SessionState']
    }
    /**
     * @description Which share was used up.
     * @enum {string}
     */
    Share:
      | 'rate'
      | 'open'
      | 'disk'
      | 'requests'
      | 'streak'
      | 'refusals'
      | 'connections'
      | 'bodies'
      | 'waits'
      | 'calls'
      | 'streams'
      | 'exports'
      | 'answers'
      | 'pages'
    /** @description A link to sign in with a key. Only its hash is stored. */
    SignInLink: {
      expires_at: components['schemas']['EpochSeconds']
      expires_at_iso: components['schemas']['IsoTime']
      key_id: string
      name: string
      role: components['schemas']['Role']
      /** @description Where its recipient signs in, once, by pressing a button: shown this once. */
      url: string
    }
    /**
     * @description A 409 about the state of a confirmation: `status` is that state.
     * @example {
     *       "type": "urn:holdpoint:problem:already_resolved",
     *       "title": "Already resolved",
     *       "status": "denied",
     *       "detail": "Confirmation 019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e was already denied by bob. That stands; nothing was changed.",
     *       "error": "Confirmation 019b7765-1c80-7d3f-9a51-6f2d1c6f6b1e was already denied by bob. That stands; nothing was changed.",
     *       "code": "already_resolved",
     *       "request_id": "8f14e45fceea167a",
     *       "resolved_by": "bob",
     *       "resolved_at": 1767225660
     *     }
     */
    StateProblem: {
      /** @description Seconds since 1970, with a fraction. With `approval_expired`. */
      claim_expires_at?: components['schemas']['EpochSeconds']
      /** @description Seconds since 1970, with a fraction. With `already_claimed`. */
      claimed_at?: components['schemas']['EpochSeconds']
      /** @enum {string} */
      code:
        | 'already_resolved'
        | 'already_voted'
        | 'link_used'
        | 'denied_before'
        | 'whitelist_full'
        | 'not_approved'
        | 'approval_expired'
        | 'digest_mismatch'
        | 'digest_required'
        | 'already_claimed'
        | 'not_claimed'
        | 'already_reported'
      detail: string
      /** @description The digest of what was approved. With `digest_mismatch`. */
      digest?: components['schemas']['Digest']
      /** @description One sentence: what is wrong and what to do next. */
      error: string
      /** @description The confirmation that is meant. With `denied_before`. */
      id?: string
      /** @description What was reported. With `already_reported`. */
      outcome?: components['schemas']['ReportedOutcome']
      /** @description Why it was denied. With `denied_before`. */
      reason?: string | null
      /** @description The log has it too. */
      request_id: string
      /** @description Seconds since 1970, with a fraction. With `already_resolved`. */
      resolved_at?: components['schemas']['EpochSeconds']
      /** @description With `already_resolved`, `denied_before`. */
      resolved_by?: string
      /** @description As in `Retry-After`. With `denied_before`. */
      retry_after_seconds?: number
      /** @description The state of the confirmation that stands, and not the HTTP status. */
      status: components['schemas']['Status']
      title: string
      /** @description `urn:holdpoint:problem:` and the code. */
      type: string
    }
    /**
     * @description The state of a confirmation. `pending` waits for a person; `approved` and `auto_approved` may be claimed; the rest are a no.
     * @enum {string}
     */
    Status: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled' | 'auto_approved'
    /**
     * @description An action that a person is to confirm.
     * @example {
     *       "action": "deploy_production",
     *       "description": "Deploy 4.2.0 to production",
     *       "details": {
     *         "version": "4.2.0",
     *         "region": "eu-west-1"
     *       },
     *       "requester": "release-bot",
     *       "session_key": "release-4.2",
     *       "timeout_seconds": 600
     *     }
     */
    Submission: {
      /** @description Trimmed; it must not be blank. */
      action: string
      /**
       * Format: uri
       * @description Where the resolved record is POSTed, signed after Standard Webhooks.
       */
      callback_url?: string
      /** @description Trimmed; it must not be blank. */
      description: string
      /** @description At most 64 levels deep; the whole body has at most 10000 values. Left out: `{}`. */
      details?: {
        [key: string]: unknown
      }
      /** @description For whom the agent says it acts: shown as its word, part of the digest, and no right. */
      on_behalf_of?: string
      /** @description With a key it is the key's owner, and this no more than a comment. Left out: `"agent"`. */
      requester?: string
      /** @description Left out: `""`. */
      session_key?: string
      /** @description Clamped to the bounds of the rule, and its default if it is left out or no number: 30..3600 and 300, where the rule says nothing else. */
      timeout_seconds?: number
    }
    /** @description The answer that one submission would have had alone. */
    SubmissionResult:
      | {
          body: components['schemas']['HeldConfirmation']
          /** @description Asked before, with the same key. */
          replayed?: boolean
          /** @constant */
          status_code: 202
        }
      | {
          body: components['schemas']['SettledConfirmation']
          /** @description Asked before, with the same key. */
          replayed?: boolean
          /** @constant */
          status_code: 200
        }
      | {
          body: components['schemas']['Problem'] & {
            /** @enum {string} */
            code:
              | 'not_json'
              | 'unknown_field'
              | 'invalid_request'
              | 'callback_refused'
              | 'unclear_action'
              | 'key_reused'
              | 'rate_limited'
              | 'too_many_open'
              | 'disk_limited'
              | 'session_suspended'
              | 'circuit_open'
          }
          /** @enum {number} */
          status_code: 400 | 422 | 423 | 429
        }
      | {
          body: components['schemas']['StateProblem'] & {
            /** @enum {string} */
            code: 'denied_before'
          }
          /** @constant */
          status_code: 409
        }
    /** @description One result for each, in the order of the request. */
    SubmissionResults: {
      /** @description How many there are in this answer. */
      count: number
      results: components['schemas']['SubmissionResult'][]
    }
    /** @enum {string} */
    Verdict: 'approve' | 'deny'
    /** @description One person's word on a confirmation. */
    Vote: {
      at: components['schemas']['EpochSeconds']
      at_iso: components['schemas']['IsoTime']
      by: string
      /** @description The name that was given beside the proven one. */
      comment: string | null
      /** @description Whether a key, a link or a chat proves the name. */
      proven: boolean
      reason: string | null
      remember: components['schemas']['Remembered'] | null
      verdict: components['schemas']['Verdict']
      via: string
    }
    /** @description A session, with what belongs to it. */
    WholeSession: {
      /** @description It rotates with its next use. */
      at_limit: boolean
      chat_type: ('dm' | 'group' | 'channel' | 'thread') | null
      /** @description When this session id began. */
      created_at: components['schemas']['EpochSeconds']
      created_at_iso: components['schemas']['IsoTime']
      due_reason: components['schemas']['RotationReason'] | null
      /** @description Since when it has to rotate. Its grants cover nothing any more; its session id stays until what was pending or claimed then is over. */
      due_since: components['schemas']['EpochSeconds'] | null
      due_since_iso: components['schemas']['IsoTime'] | null
      /** @description The last 20 session ids before this one, the latest first. */
      earlier: components['schemas']['EarlierSessionId'][]
      /** @description What was asked for last, and how many times in a row with other details. */
      fixation: {
        action: string
        repeats: number
      } | null
      /** @description The whitelist entries for this session that cover something now. */
      grants: components['schemas']['Grant'][]
      last_active_at: components['schemas']['EpochSeconds']
      last_active_at_iso: components['schemas']['IsoTime']
      /** @description How many there may be; null: any number. */
      max_messages: number | null
      /** @description Under this session id, submissions among them. */
      messages: number
      /** @description From 85 % on. */
      near_limit: boolean
      /** @description The last ten, the latest first. */
      outcomes: components['schemas']['OutcomeInSession'][]
      /** @description At most 100. */
      pending: components['schemas']['PendingInSession'][]
      /** @description Of a session key in the usual form; else null. */
      platform: string | null
      previous_id: string | null
      remaining: number | null
      /** @description The key's owner; empty for what was asked in open mode. */
      requester: string
      /** @description Until then nothing is taken from its requester, in whichever session. */
      requester_waits_until: components['schemas']['EpochSeconds'] | null
      requester_waits_until_iso: components['schemas']['IsoTime'] | null
      /** @description When it is due if nothing more happens; null: never by time. */
      resets_at: components['schemas']['EpochSeconds'] | null
      resets_at_iso: components['schemas']['IsoTime'] | null
      /** @description When it last got another session id. */
      rotated_at: components['schemas']['EpochSeconds'] | null
      rotated_at_iso: components['schemas']['IsoTime'] | null
      rotation_reason: components['schemas']['RotationReason'] | null
      /** @description It changes with each rotation. */
      session_id: string
      session_key: string
      /** @description Denials and expiries in a row, since a person last approved something. */
      streak: number
      submissions: number
      /** @description Nothing is taken from it until it is resumed or reset. */
      suspended: boolean
      suspended_at: components['schemas']['EpochSeconds'] | null
      suspended_at_iso: components['schemas']['IsoTime'] | null
      suspended_by: string | null
      suspended_reason: string | null
      /** @description The earlier session id that comes back then; null: a new one. */
      switches_to: string | null
      /** @description Until then nothing is taken from it; null: it need not wait. */
      waits_until: components['schemas']['EpochSeconds'] | null
      waits_until_iso: components['schemas']['IsoTime'] | null
    }
  }
}
export type AapError = components['schemas']['AapError']
export type AapInstance = components['schemas']['AapInstance']
export type AapInstanceChange = components['schemas']['AapInstanceChange']
export type AapInstanceTerms = components['schemas']['AapInstanceTerms']
export type AapProposal = components['schemas']['AapProposal']
export type AapProvisioned = components['schemas']['AapProvisioned']
export type AapRequest = components['schemas']['AapRequest']
export type Approval = components['schemas']['Approval']
export type AuditPage = components['schemas']['AuditPage']
export type Batch = components['schemas']['Batch']
export type BatchItem = components['schemas']['BatchItem']
export type ByRule = components['schemas']['ByRule']
export type Cancellation = components['schemas']['Cancellation']
export type Channel = components['schemas']['Channel']
export type Claim = components['schemas']['Claim']
export type Collected = components['schemas']['Collected']
export type Collecting = components['schemas']['Collecting']
export type Collection = components['schemas']['Collection']
export type CollectRule = components['schemas']['CollectRule']
export type Comment = components['schemas']['Comment']
export type Confirmation = components['schemas']['Confirmation']
export type ConfirmationPage = components['schemas']['ConfirmationPage']
export type CountedMessages = components['schemas']['CountedMessages']
export type DecidedConfirmation = components['schemas']['DecidedConfirmation']
export type Deciding = components['schemas']['Deciding']
export type Decision = components['schemas']['Decision']
export type DecisionResult = components['schemas']['DecisionResult']
export type DecisionResults = components['schemas']['DecisionResults']
export type Decisions = components['schemas']['Decisions']
export type Delivery = components['schemas']['Delivery']
export type Denial = components['schemas']['Denial']
export type Digest = components['schemas']['Digest']
export type DoomedSession = components['schemas']['DoomedSession']
export type EarlierSessionId = components['schemas']['EarlierSessionId']
export type EpochSeconds = components['schemas']['EpochSeconds']
export type Event = components['schemas']['Event']
export type EventPage = components['schemas']['EventPage']
export type EventType = components['schemas']['EventType']
export type ExecutionState = components['schemas']['ExecutionState']
export type FoundConfirmation = components['schemas']['FoundConfirmation']
export type Grant = components['schemas']['Grant']
export type GrantPage = components['schemas']['GrantPage']
export type GrantTerms = components['schemas']['GrantTerms']
export type Health = components['schemas']['Health']
export type HeldConfirmation = components['schemas']['HeldConfirmation']
export type HookAnswer = components['schemas']['HookAnswer']
export type HookCall = components['schemas']['HookCall']
export type IsoTime = components['schemas']['IsoTime']
export type Key = components['schemas']['Key']
export type KeyList = components['schemas']['KeyList']
export type KeyTerms = components['schemas']['KeyTerms']
export type MadeKey = components['schemas']['MadeKey']
export type Messages = components['schemas']['Messages']
export type OutcomeInSession = components['schemas']['OutcomeInSession']
export type PendingInSession = components['schemas']['PendingInSession']
export type Person = components['schemas']['Person']
export type PersonIds = components['schemas']['PersonIds']
export type PersonList = components['schemas']['PersonList']
export type Problem = components['schemas']['Problem']
export type ProblemCode = components['schemas']['ProblemCode']
export type Readiness = components['schemas']['Readiness']
export type Remember = components['schemas']['Remember']
export type Remembered = components['schemas']['Remembered']
export type Report = components['schemas']['Report']
export type ReportedOutcome = components['schemas']['ReportedOutcome']
export type Revocation = components['schemas']['Revocation']
export type Risk = components['schemas']['Risk']
export type Role = components['schemas']['Role']
export type Rotation = components['schemas']['Rotation']
export type RotationReason = components['schemas']['RotationReason']
export type Session = components['schemas']['Session']
export type SessionPage = components['schemas']['SessionPage']
export type SessionReset = components['schemas']['SessionReset']
export type SessionResumption = components['schemas']['SessionResumption']
export type SessionState = components['schemas']['SessionState']
export type SessionSuspension = components['schemas']['SessionSuspension']
export type SessionSwitch = components['schemas']['SessionSwitch']
export type SettledConfirmation = components['schemas']['SettledConfirmation']
export type Share = components['schemas']['Share']
export type SignInLink = components['schemas']['SignInLink']
export type StateProblem = components['schemas']['StateProblem']
export type Status = components['schemas']['Status']
export type Submission = components['schemas']['Submission']
export type SubmissionResult = components['schemas']['SubmissionResult']
export type SubmissionResults = components['schemas']['SubmissionResults']
export type Verdict = components['schemas']['Verdict']
export type Vote = components['schemas']['Vote']
export type WholeSession = components['schemas']['WholeSession']
