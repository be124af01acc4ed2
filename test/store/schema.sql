CREATE TABLE alarms (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    share TEXT NOT NULL,
    requester TEXT NOT NULL,
    session_key TEXT NOT NULL,
    reason TEXT NOT NULL,
    command TEXT NOT NULL,
    request TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

CREATE TABLE buttons (
    hash TEXT NOT NULL PRIMARY KEY,
    confirmation_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    destination TEXT NOT NULL,
    occasion TEXT NOT NULL,
    verb TEXT NOT NULL,
    presser TEXT,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

CREATE INDEX buttons_of ON buttons (confirmation_id, channel, destination, occasion);

CREATE TABLE chat_identities (
    channel TEXT NOT NULL,
    id TEXT NOT NULL,
    person TEXT NOT NULL,
    PRIMARY KEY (channel, id)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX chat_identities_person ON chat_identities (person);

CREATE TABLE "confirmations" (
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
    execution TEXT CHECK (execution IN ('unclaimed', 'lapsed', 'claimed', 'unreported', 'succeeded', 'failed')),
    claim_by INTEGER,
    claimed_at INTEGER,
    report_by INTEGER,
    reported_at INTEGER,
    digest TEXT NOT NULL,
    action TEXT NOT NULL,
    requester TEXT NOT NULL,
    session_key TEXT NOT NULL,
    callback_url TEXT,
    requested_as TEXT,
    -- JSON; NULL are the default terms, and no votes.
    terms TEXT,
    votes TEXT,
    reason TEXT,
    report_message TEXT,
    description TEXT NOT NULL,
    details TEXT NOT NULL, on_behalf_of TEXT, due_at INTEGER, resolved_by_kind TEXT, share TEXT NOT NULL DEFAULT '', session_id TEXT, caution TEXT, comments TEXT, joins INTEGER, aap TEXT,
    CHECK ((status = 'pending') = (resolved_at IS NULL)),
    CHECK ((status IN ('approved', 'auto_approved')) = (execution IS NOT NULL)),
    CHECK ((execution IS NULL) = (claim_by IS NULL)),
    CHECK ((claimed_at IS NULL) = (report_by IS NULL))
  ) STRICT;

CREATE INDEX confirmations_alike ON confirmations (requester, digest) WHERE status = 'pending' AND joins = 1;

CREATE TRIGGER confirmations_close AFTER UPDATE OF status ON confirmations
    WHEN OLD.status = 'pending' AND NEW.status <> 'pending' BEGIN
    UPDATE open_counts SET open = open - 1 WHERE requester = OLD.requester;
    DELETE FROM open_counts WHERE requester = OLD.requester AND open = 0;
  END;

CREATE INDEX confirmations_created_at ON confirmations (created_at);

CREATE INDEX confirmations_denied ON confirmations (digest, resolved_at) WHERE status = 'denied';

CREATE INDEX confirmations_due ON confirmations (execution, due_at) WHERE due_at IS NOT NULL;

CREATE INDEX confirmations_ended ON confirmations (status, resolved_at)
    WHERE resolved_at IS NOT NULL AND status <> 'auto_approved';

CREATE TRIGGER confirmations_open AFTER INSERT ON confirmations WHEN NEW.status = 'pending' BEGIN
    INSERT INTO open_counts VALUES (NEW.requester, 1) ON CONFLICT DO UPDATE SET open = open + 1;
  END;

CREATE INDEX confirmations_resolved_by ON confirmations (resolved_by, created_at) WHERE resolved_by <> '';

CREATE INDEX confirmations_session_ended ON confirmations (share, session_key, resolved_at)
    WHERE resolved_at IS NOT NULL AND session_key <> '';

CREATE INDEX confirmations_session_open ON confirmations (share, session_key, created_at)
    WHERE due_at IS NOT NULL AND session_key <> '';

CREATE INDEX confirmations_status ON confirmations (status, created_at);

CREATE INDEX confirmations_unclaimed_alike ON confirmations (requester, digest)
    WHERE status = 'approved' AND execution = 'unclaimed' AND joins = 1;

CREATE INDEX confirmations_unreported ON confirmations (report_by) WHERE execution = 'unreported';

CREATE TABLE "deliveries" (
    confirmation_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    destination TEXT NOT NULL,
    occasion TEXT NOT NULL,
    share TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL
      CHECK (state IN ('queued', 'retrying', 'collected', 'sent', 'failed', 'superseded', 'dropped')),
    attempts INTEGER NOT NULL,
    next_at INTEGER,
    updated_at INTEGER NOT NULL,
    told_at INTEGER,
    chat TEXT,
    message TEXT,
    -- Which version of the confirmation the message shows; below 0: it also asks something. NULL: it has not to change any more.
    shown INTEGER,
    leased_until INTEGER,
    error TEXT,
    PRIMARY KEY (confirmation_id, channel, destination, occasion),
    CHECK ((state IN ('queued', 'retrying', 'collected')) = (next_at IS NOT NULL)),
    CHECK ((chat IS NULL) = (message IS NULL))
  ) STRICT, WITHOUT ROWID;

CREATE INDEX deliveries_collected ON deliveries (channel, destination, share, next_at) WHERE state = 'collected';

CREATE INDEX deliveries_due ON deliveries (channel, next_at, destination) WHERE next_at IS NOT NULL;

CREATE INDEX deliveries_followed ON deliveries (channel) WHERE shown IS NOT NULL;

CREATE INDEX deliveries_leased ON deliveries (channel, leased_until) WHERE leased_until IS NOT NULL;

CREATE INDEX deliveries_message ON deliveries (channel, chat, message) WHERE message IS NOT NULL;

CREATE INDEX deliveries_to ON deliveries (channel, share, destination, next_at, leased_until)
    WHERE next_at IS NOT NULL AND destination <> '';

CREATE INDEX deliveries_turn ON deliveries (channel, share, next_at, destination, leased_until)
    WHERE next_at IS NOT NULL;

CREATE TABLE disk_use (
    share TEXT NOT NULL,
    hour INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (share, hour)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE event_marks (
    piece INTEGER NOT NULL,
    n INTEGER NOT NULL,
    bits BLOB NOT NULL,
    PRIMARY KEY (piece, n)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE event_spans (
    size INTEGER NOT NULL,
    n INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (size, n)
  ) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_spans_million AFTER INSERT ON event_spans
  WHEN NEW.size = 1000 AND (SELECT max(seq) / 1000000 FROM events) > NEW.n / 1000
  BEGIN
    INSERT INTO event_spans SELECT 1000000, NEW.n / 1000, min(first_at), max(last_at) FROM event_spans
    WHERE size = 1000 AND n >= NEW.n / 1000 * 1000 AND n <= NEW.n;
  END;

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    actor TEXT NOT NULL,
    via TEXT NOT NULL,
    confirmation_id TEXT,
    data TEXT NOT NULL
  ) STRICT;

CREATE INDEX events_confirmation_id ON events (confirmation_id) WHERE confirmation_id IS NOT NULL;

CREATE TRIGGER events_no_delete BEFORE DELETE ON events
  BEGIN SELECT raise(ABORT, 'events are append-only: DELETE refused'); END;

CREATE TRIGGER events_no_replace BEFORE INSERT ON events
  WHEN NEW.seq <= coalesce((SELECT max(seq) FROM events), 0)
  BEGIN SELECT raise(ABORT, 'events are append-only: seq must grow'); END;

CREATE TRIGGER events_no_update BEFORE UPDATE ON events
  BEGIN SELECT raise(ABORT, 'events are append-only: UPDATE refused'); END;

CREATE TRIGGER events_thousand AFTER INSERT ON events
  WHEN NEW.seq / 1000 > (SELECT max(seq) / 1000 FROM events WHERE seq < NEW.seq)
  BEGIN
    INSERT INTO event_spans SELECT 1000, max(seq) / 1000, min(at), max(at) FROM events
    WHERE seq < NEW.seq AND seq >= (SELECT max(seq) / 1000 FROM events WHERE seq < NEW.seq) * 1000;
  END;

CREATE TABLE filed (
    facet INTEGER NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    arrival INTEGER NOT NULL,
    PRIMARY KEY (facet, value, created_at, arrival)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE filed_up_to (facet INTEGER PRIMARY KEY, arrival INTEGER NOT NULL) STRICT;

CREATE TABLE "grants" (
    arrival INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    action TEXT NOT NULL,
    -- A global grant has scope 'global' and an empty session_key; one for whoever asks has an empty requester; one that
    -- asks nothing of the details has empty conditions and an empty hash.
    scope TEXT NOT NULL CHECK (scope IN ('global', 'session')),
    session_key TEXT NOT NULL,
    requester TEXT NOT NULL,
    conditions TEXT NOT NULL,
    details_hash TEXT NOT NULL,
    expires_at INTEGER,
    max_uses INTEGER,
    uses INTEGER NOT NULL,
    reason TEXT,
    granted_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    details TEXT, granted_by_kind TEXT NOT NULL DEFAULT 'person', given_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (action, scope, session_key, requester, conditions, details_hash),
    CHECK ((details_hash = '') = (details IS NULL))
  ) STRICT;

CREATE INDEX grants_created_at ON grants (created_at);

CREATE INDEX grants_live ON grants (action, session_key, details_hash, coalesce(expires_at, 9007199254740991))
    WHERE revoked_at IS NULL AND (max_uses IS NULL OR uses < max_uses);

CREATE INDEX grants_session ON grants (session_key) WHERE scope = 'session' AND revoked_at IS NULL;

CREATE TABLE idempotency_keys (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    confirmation_id TEXT NOT NULL,
    created_at INTEGER NOT NULL, result TEXT,
    PRIMARY KEY (caller, key)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (channel TEXT NOT NULL PRIMARY KEY, cursor TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE instances (
    id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    provisioner TEXT NOT NULL,
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

CREATE TABLE key_uses (key_id TEXT NOT NULL PRIMARY KEY, used_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE "keys" (
    id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    person TEXT NOT NULL,
    role TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    replaced_by TEXT,
    created_by_kind TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

CREATE TABLE links (
    hash TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    confirmation_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    channel TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER
  , recipient_kind TEXT NOT NULL DEFAULT 'person') STRICT, WITHOUT ROWID;

CREATE TABLE named_acts (
    requester TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    confirmation_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (requester, name)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE open_counts (requester TEXT NOT NULL PRIMARY KEY, open INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE "people" (
    name TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL
  , skeleton TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX people_skeleton ON people (skeleton);

CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;

CREATE TABLE quota_slots (
      quota TEXT NOT NULL,
      at INTEGER NOT NULL,
      n INTEGER NOT NULL, kept_until INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (quota, at, n)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE session_runs (
    id TEXT NOT NULL PRIMARY KEY,
    requester TEXT NOT NULL,
    session_key TEXT NOT NULL,
    platform TEXT,
    created_at INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    submissions INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    reason TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

CREATE INDEX session_runs_active ON session_runs (last_active_at);

CREATE INDEX session_runs_of ON session_runs (requester, session_key, ended_at);

CREATE TABLE sessions (
    arrival INTEGER PRIMARY KEY,
    requester TEXT NOT NULL,
    session_key TEXT NOT NULL,
    platform TEXT,
    version INTEGER NOT NULL,
    run_id TEXT,
    run_created_at INTEGER,
    last_active_at INTEGER,
    messages INTEGER NOT NULL,
    submissions INTEGER NOT NULL,
    trusted_from INTEGER NOT NULL,
    due_at INTEGER,
    due_reason TEXT,
    due_to TEXT,
    reset_at INTEGER,
    rotated_at INTEGER,
    rotation_reason TEXT,
    previous_id TEXT,
    is_told INTEGER NOT NULL,
    suspended_at INTEGER,
    suspended_by TEXT,
    suspended_reason TEXT,
    failures INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    stepped_at INTEGER NOT NULL,
    waits_until INTEGER NOT NULL,
    fixed_action TEXT,
    fixed_digest TEXT,
    repeats INTEGER, listed_at INTEGER,
    UNIQUE (requester, session_key)
  ) STRICT;

CREATE INDEX sessions_active ON sessions (listed_at) WHERE run_id IS NOT NULL;

CREATE INDEX sessions_held ON sessions (requester, session_key) WHERE due_at IS NOT NULL;

CREATE INDEX sessions_key ON sessions (session_key, requester);

CREATE INDEX sessions_own ON sessions (requester, listed_at) WHERE run_id IS NOT NULL;

CREATE INDEX sessions_reset ON sessions (reset_at) WHERE reset_at IS NOT NULL;

CREATE INDEX sessions_suspended ON sessions (last_active_at) WHERE suspended_at IS NOT NULL;

CREATE TABLE sign_in_links (
    hash TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    used_at INTEGER,
    process TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

CREATE TABLE sign_ins (
    place_hash TEXT NOT NULL PRIMARY KEY,
    secret_hash TEXT NOT NULL,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    process TEXT
  ) STRICT, WITHOUT ROWID;

CREATE INDEX sign_ins_end ON sign_ins (ends_at);

CREATE INDEX sign_ins_key ON sign_ins (key_id, created_at);

CREATE TABLE unfiled_slots (
    arrival INTEGER PRIMARY KEY,
    quota TEXT NOT NULL,
    at INTEGER NOT NULL,
    n INTEGER NOT NULL,
    kept_until INTEGER NOT NULL
  ) STRICT;

CREATE TABLE voters (
    voter TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    arrival INTEGER NOT NULL,
    PRIMARY KEY (voter, created_at, arrival)
  ) STRICT, WITHOUT ROWID;
