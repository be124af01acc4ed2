// The schema as an ordered list that only ever grows. The database's user_version is how many of them it has seen.

/** Marks a SQLite file as ours ("Hold"), so that another program's database is never migrated by mistake. */
export const applicationId = 0x486f6c64

export const migrations: readonly string[] = [
  `
  -- What may be large stands last: SQLite reads a row from its beginning, and pages that overflow only when asked.
  CREATE TABLE confirmations (
    arrival INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    status TEXT NOT NULL
      CHECK (status IN ('pending', 'approved', 'denied', 'expired', 'cancelled', 'auto_approved')),
    timeout_seconds INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    resolved_at INTEGER,
    resolved_via TEXT,
    resolved_by TEXT NOT NULL,
    action TEXT NOT NULL,
    requester TEXT NOT NULL,
    session_key TEXT NOT NULL,
    reason TEXT,
    description TEXT NOT NULL,
    details TEXT NOT NULL,
    CHECK ((status = 'pending') = (resolved_at IS NULL))
  ) STRICT;

  CREATE INDEX confirmations_pending ON confirmations (deadline) WHERE status = 'pending';
  CREATE INDEX confirmations_created_at ON confirmations (created_at);
  CREATE INDEX confirmations_status ON confirmations (status, created_at);
  CREATE INDEX confirmations_action ON confirmations (action, created_at);
  CREATE INDEX confirmations_requester ON confirmations (requester, created_at);
  CREATE INDEX confirmations_session_key ON confirmations (session_key, created_at);
  CREATE INDEX confirmations_resolved_by ON confirmations (resolved_by, created_at);

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    actor TEXT NOT NULL,
    via TEXT NOT NULL,
    confirmation_id TEXT,
    data TEXT NOT NULL
  ) STRICT;

  CREATE TRIGGER events_no_update BEFORE UPDATE ON events
  BEGIN SELECT raise(ABORT, 'events are append-only: UPDATE refused'); END;
  CREATE TRIGGER events_no_delete BEFORE DELETE ON events
  BEGIN SELECT raise(ABORT, 'events are append-only: DELETE refused'); END;
  -- REPLACE deletes without firing the trigger above, so an insert must come after everything there is.
  CREATE TRIGGER events_no_replace BEFORE INSERT ON events
  WHEN NEW.seq <= coalesce((SELECT max(seq) FROM events), 0)
  BEGIN SELECT raise(ABORT, 'events are append-only: seq must grow'); END;

  CREATE TABLE grants (
    arrival INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    action TEXT NOT NULL,
    -- A global grant has scope 'global' and an empty session_key.
    scope TEXT NOT NULL CHECK (scope IN ('global', 'session')),
    session_key TEXT NOT NULL,
    expires_at INTEGER,
    max_uses INTEGER,
    uses INTEGER NOT NULL,
    reason TEXT,
    granted_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    UNIQUE (action, scope, session_key)
  ) STRICT;

  CREATE INDEX grants_created_at ON grants (created_at);

  CREATE TABLE deliveries (
    confirmation_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'retrying', 'sent', 'failed', 'superseded', 'dropped')),
    attempts INTEGER NOT NULL,
    next_at INTEGER,
    updated_at INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (confirmation_id, channel),
    CHECK ((state IN ('queued', 'retrying')) = (next_at IS NOT NULL))
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX deliveries_due ON deliveries (channel, next_at) WHERE next_at IS NOT NULL;

  -- One row that the readiness check rewrites, to learn whether writing works.
  CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
  INSERT INTO probe VALUES (1, 0);
  `,
]
