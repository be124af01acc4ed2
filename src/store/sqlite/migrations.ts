// The schema as an ordered list that only ever grows. The database's user_version is how many of them it has seen.
// One is SQL, or a function where SQL cannot say it. It stands for itself: what it calls may not change after it.
import { digestOf } from '../../core/digest.js'
import { skeleton } from '../../core/skeleton.js'
import type Database from './driver.js'

export type Migration = string | ((db: Database.Database) => void)

/** Marks a SQLite file as ours ("Hold"), so that another program's database is never migrated by mistake. */
export const applicationId = 0x486f6c64

const claimsAndKeys = `
  -- Anew, because columns that are added stand behind the large ones.
  CREATE TABLE confirmations_2 (
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
    details TEXT NOT NULL,
    CHECK ((status = 'pending') = (resolved_at IS NULL)),
    CHECK ((status IN ('approved', 'auto_approved')) = (execution IS NOT NULL)),
    CHECK ((execution IS NULL) = (claim_by IS NULL)),
    CHECK ((claimed_at IS NULL) = (report_by IS NULL))
  ) STRICT;

  -- Approvals from before there were claims cannot be claimed; whoever asked then acts without.
  INSERT INTO confirmations_2
  SELECT arrival, id, version, status, timeout_seconds, created_at, deadline, resolved_at, resolved_via, resolved_by,
    CASE WHEN status IN ('approved', 'auto_approved') THEN 'lapsed' END,
    CASE WHEN status IN ('approved', 'auto_approved') THEN resolved_at END,
    NULL, NULL, NULL, digest_of(action, details, requester, session_key), action, requester, session_key,
    NULL, NULL, NULL, NULL, reason, NULL, description, details
  FROM confirmations;
  DROP TABLE confirmations;
  ALTER TABLE confirmations_2 RENAME TO confirmations;

  CREATE INDEX confirmations_pending ON confirmations (deadline) WHERE status = 'pending';
  CREATE INDEX confirmations_unclaimed ON confirmations (claim_by) WHERE execution = 'unclaimed';
  CREATE INDEX confirmations_claimed ON confirmations (report_by) WHERE execution = 'claimed';
  CREATE INDEX confirmations_unreported ON confirmations (report_by) WHERE execution = 'unreported';
  CREATE INDEX confirmations_created_at ON confirmations (created_at);
  CREATE INDEX confirmations_status ON confirmations (status, created_at);
  CREATE INDEX confirmations_action ON confirmations (action, created_at);
  CREATE INDEX confirmations_requester ON confirmations (requester, created_at);
  CREATE INDEX confirmations_session_key ON confirmations (session_key, created_at);
  CREATE INDEX confirmations_resolved_by ON confirmations (resolved_by, created_at) WHERE resolved_at IS NOT NULL;
  CREATE INDEX confirmations_denied ON confirmations (digest, resolved_at) WHERE status = 'denied';

  ALTER TABLE deliveries ADD COLUMN destination TEXT NOT NULL DEFAULT '';
  DROP INDEX deliveries_due;
  CREATE INDEX deliveries_due ON deliveries (channel, next_at, destination) WHERE next_at IS NOT NULL;

  CREATE TABLE grants_2 (
    arrival INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    action TEXT NOT NULL,
    -- A global grant has scope 'global' and an empty session_key; one for whoever asks has an empty requester.
    scope TEXT NOT NULL CHECK (scope IN ('global', 'session')),
    session_key TEXT NOT NULL,
    requester TEXT NOT NULL,
    expires_at INTEGER,
    max_uses INTEGER,
    uses INTEGER NOT NULL,
    reason TEXT,
    granted_by TEXT NOT NULL,
    proven INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    UNIQUE (action, scope, session_key, requester)
  ) STRICT;
  INSERT INTO grants_2
  SELECT arrival, id, version, action, scope, session_key, '', expires_at, max_uses, uses, reason, granted_by, 0,
    created_at, revoked_at
  FROM grants;
  DROP TABLE grants;
  ALTER TABLE grants_2 RENAME TO grants;
  CREATE INDEX grants_created_at ON grants (created_at);

  CREATE INDEX events_confirmation_id ON events (confirmation_id) WHERE confirmation_id IS NOT NULL;

  CREATE TABLE idempotency_keys (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    confirmation_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE people (
    name TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    telegram_id TEXT UNIQUE,
    discord_id TEXT UNIQUE,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Of keys and links only hashes are kept.
  CREATE TABLE keys (
    id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    person TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('agent', 'operator', 'auditor', 'admin')),
    hash TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    replaced_by TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE links (
    hash TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    confirmation_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    channel TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER
  ) STRICT, WITHOUT ROWID;
  `

export const migrations: readonly Migration[] = [
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
  (db) => {
    db.function('digest_of', (action: string, details: string, requester: string, sessionKey: string) =>
      digestOf({ action, details, onBehalfOf: null, requester, sessionKey }),
    )
    db.exec(claimsAndKeys)
  },
  `
  CREATE TABLE grants_3 (
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
    proven INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    details TEXT,
    UNIQUE (action, scope, session_key, requester, conditions, details_hash),
    CHECK ((details_hash = '') = (details IS NULL))
  ) STRICT;
  INSERT INTO grants_3
  SELECT arrival, id, version, action, scope, session_key, requester, '', '', expires_at, max_uses, uses, reason,
    granted_by, proven, created_at, revoked_at, NULL
  FROM grants;
  DROP TABLE grants;
  ALTER TABLE grants_3 RENAME TO grants;
  CREATE INDEX grants_created_at ON grants (created_at);
  CREATE INDEX grants_live ON grants (action, session_key, details_hash, coalesce(expires_at, 9007199254740991))
    WHERE revoked_at IS NULL AND (max_uses IS NULL OR uses < max_uses);

  -- A vote said in one word what it let pass from then on.
  UPDATE confirmations SET votes = (
    SELECT json_group_array(CASE WHEN json_type(value, '$.remember') = 'text' THEN
      json_set(value, '$.remember', json_object('scope', json_extract(value, '$.remember'), 'requester',
        CASE WHEN json_extract(value, '$.remember') = 'session' AND json_extract(value, '$.isProven') THEN requester END,
        'expiresAt', NULL, 'isExact', json('false')))
      ELSE json(value) END)
    FROM json_each(votes))
  WHERE votes LIKE '%"remember":"%';
  `,
  `
  -- Behind the large ones, which whoever reads it reads as well.
  ALTER TABLE confirmations ADD COLUMN on_behalf_of TEXT;
  `,
  `
  -- Drawn once: what the service seals with it stays good across restarts.
  CREATE TABLE secrets (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO secrets VALUES ('cursors', lower(hex(randomblob(32))));
  `,
  `
  -- When time alone changes it next, as core/confirmation.ts says.
  ALTER TABLE confirmations ADD COLUMN due_at INTEGER;
  UPDATE confirmations SET due_at = CASE WHEN status = 'pending' THEN deadline
    WHEN execution = 'unclaimed' THEN claim_by ELSE report_by END
  WHERE status = 'pending' OR execution IN ('unclaimed', 'claimed');
  CREATE INDEX confirmations_due ON confirmations (due_at) WHERE due_at IS NOT NULL;
  `,
  `
  -- Who did something is a text and its kind. A vote says it in its JSON, in place of a name and whether that was verified.
  ALTER TABLE confirmations ADD COLUMN resolved_by_kind TEXT;
  UPDATE confirmations SET
    resolved_by_kind = CASE
      WHEN status = 'pending' THEN NULL
      WHEN resolved_via = 'whitelist' THEN 'grant'
      WHEN resolved_via IN ('system', 'link') THEN resolved_via
      -- Requesters withdraw; before the first key, under any name.
      WHEN status = 'cancelled' THEN CASE
        WHEN resolved_at < (SELECT coalesce(min(created_at), 9007199254740991) FROM keys) THEN 'anyone'
        WHEN resolved_by IN (SELECT person FROM keys WHERE role = 'agent') THEN 'agent'
        ELSE 'person' END
      -- From before there were votes, and keys.
      WHEN votes IS NULL THEN 'anyone'
      WHEN json_extract(votes, '$[#-1].isProven') THEN 'person'
      ELSE 'anyone' END,
    votes = CASE WHEN votes IS NOT NULL THEN (
      SELECT json_group_array(json_set(json_remove(value, '$.isProven'), '$.by', CASE
        WHEN NOT json_extract(value, '$.isProven') THEN json_object('kind', 'anyone', 'name', json_extract(value, '$.by'))
        WHEN json_extract(value, '$.via') <> 'link'
          THEN json_object('kind', 'person', 'name', json_extract(value, '$.by'))
        WHEN instr(json_extract(value, '$.by'), ':') = 0 THEN json_object('kind', 'link', 'recipient',
          json_object('kind', 'person', 'name', json_extract(value, '$.by')))
        ELSE json_object('kind', 'link', 'recipient', json_object('kind', 'chat',
          'channel', substr(json_extract(value, '$.by'), 1, instr(json_extract(value, '$.by'), ':') - 1),
          'id', substr(json_extract(value, '$.by'), instr(json_extract(value, '$.by'), ':') + 1)))
        END))
      FROM json_each(votes)) END
  WHERE status <> 'pending' OR votes IS NOT NULL;

  ALTER TABLE grants ADD COLUMN granted_by_kind TEXT NOT NULL DEFAULT 'person';
  UPDATE grants SET granted_by_kind = iif(proven = 0, 'anyone', 'link') WHERE proven = 0 OR instr(granted_by, ':') > 0;
  ALTER TABLE grants DROP COLUMN proven;

  ALTER TABLE keys ADD COLUMN created_by_kind TEXT NOT NULL DEFAULT 'person';
  UPDATE keys SET created_by_kind = CASE
    WHEN created_by = 'local' THEN 'local'
    WHEN created_by LIKE 'system:%' THEN 'system'
    -- Only the first can be made without another.
    WHEN created_by = 'api' AND created_at = (SELECT min(created_at) FROM keys) THEN 'anyone'
    ELSE 'person' END;

  ALTER TABLE links ADD COLUMN recipient_kind TEXT NOT NULL DEFAULT 'person';
  UPDATE links SET recipient_kind = 'chat' WHERE instr(recipient, ':') > 0;

  CREATE TABLE chat_identities (
    channel TEXT NOT NULL,
    id TEXT NOT NULL,
    person TEXT NOT NULL,
    PRIMARY KEY (channel, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX chat_identities_person ON chat_identities (person);
  INSERT INTO chat_identities
  SELECT 'telegram', telegram_id, name FROM people WHERE telegram_id IS NOT NULL
  UNION ALL SELECT 'discord', discord_id, name FROM people WHERE discord_id IS NOT NULL;
  CREATE TABLE people_7 (
    name TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO people_7 SELECT name, version, created_at FROM people;
  DROP TABLE people;
  ALTER TABLE people_7 RENAME TO people;
  `,
  (db) => {
    db.function('skeleton_of', skeleton)
    db.function('quota_of', (action: string) => {
      const isPlain = /^[A-Za-z0-9_.:/-]*$/.test(action)
      return `action ${
        isPlain
          ? action
              .toLowerCase()
              .replace(/[_.:/-]+/g, '_')
              .replace(/^_|_$/g, '')
          : ''
      }`
    })
    db.exec(`
    -- A row for each slot of a quota that was taken: n counts up, so the first and the last of a window tell how many it has.
    CREATE TABLE quota_slots (
      quota TEXT NOT NULL,
      at INTEGER NOT NULL,
      n INTEGER NOT NULL,
      PRIMARY KEY (quota, at, n)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO quota_slots
    SELECT quota, created_at, row_number() OVER (PARTITION BY quota ORDER BY created_at, arrival)
    FROM (SELECT quota_of(action) AS quota, created_at, arrival FROM confirmations
      WHERE status <> 'auto_approved' AND created_at > (SELECT max(created_at) FROM confirmations) - 31536000000);

    CREATE INDEX confirmations_alike ON confirmations (requester, digest) WHERE status = 'pending';

    -- What a name comes down to: no two people have names that look alike.
    ALTER TABLE people ADD COLUMN skeleton TEXT NOT NULL DEFAULT '';
    UPDATE people SET skeleton = skeleton_of(name);
    UPDATE people SET skeleton = skeleton || ' ' || name
    WHERE EXISTS (SELECT 1 FROM people AS other WHERE other.skeleton = people.skeleton AND other.name < people.name);
    CREATE UNIQUE INDEX people_skeleton ON people (skeleton);
    `)
  },
  `
  -- Until when somebody is sending it.
  ALTER TABLE deliveries ADD COLUMN leased_until INTEGER;
  CREATE INDEX deliveries_leased ON deliveries (channel, leased_until) WHERE leased_until IS NOT NULL;

  -- Browsers. One that came by http has the mark of a process, with which it ends.
  CREATE TABLE sign_ins (
    place_hash TEXT NOT NULL PRIMARY KEY,
    secret_hash TEXT NOT NULL,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    process TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sign_ins_key ON sign_ins (key_id, created_at);
  CREATE INDEX sign_ins_end ON sign_ins (ends_at);
  `,
  `
  -- Links by which a browser signs in with a key, once.
  CREATE TABLE sign_in_links (
    hash TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    used_at INTEGER,
    process TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- What each share has written, by the hour.
  CREATE TABLE disk_use (
    share TEXT NOT NULL,
    hour INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (share, hour)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- In whose share something is: the requester's who came with a key; empty for all who came in open mode.
  ALTER TABLE confirmations ADD COLUMN share TEXT NOT NULL DEFAULT '';
  UPDATE confirmations SET share = requester
  WHERE status = 'pending' AND created_at >= (SELECT min(created_at) FROM keys);
  ALTER TABLE deliveries ADD COLUMN share TEXT NOT NULL DEFAULT '';
  UPDATE deliveries SET share = (SELECT requester FROM confirmations WHERE id = confirmation_id)
  WHERE next_at IS NOT NULL AND confirmation_id IN
    (SELECT id FROM confirmations WHERE created_at >= (SELECT min(created_at) FROM keys));
  CREATE INDEX deliveries_turn ON deliveries (channel, share, next_at, destination, leased_until)
    WHERE next_at IS NOT NULL;
  `,
  `
  -- By whom a confirmation is found who voted on it. Each vote there ever was has its event.
  CREATE TABLE voters (
    voter TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    arrival INTEGER NOT NULL,
    PRIMARY KEY (voter, created_at, arrival)
  ) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO voters
  SELECT actor, created_at, arrival FROM events CROSS JOIN confirmations ON confirmations.id = confirmation_id
  WHERE type IN ('voted', 'approved', 'denied');
  `,
  `
  -- Between which times the events of each thousand numbers are, and of each million: those that are over, which begins
  -- with the first event of another. A clock may be set back, so the order of numbers is not that of times.
  CREATE TABLE event_spans (
    size INTEGER NOT NULL,
    n INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (size, n)
  ) STRICT, WITHOUT ROWID;
  WITH RECURSIVE thousands (n) AS (
    SELECT min(seq) / 1000 FROM events
    UNION ALL SELECT (SELECT min(seq) / 1000 FROM events WHERE seq >= (n + 1) * 1000) FROM thousands WHERE n IS NOT NULL
  )
  INSERT INTO event_spans
  SELECT 1000, n, (SELECT min(at) FROM events WHERE seq >= n * 1000 AND seq < (n + 1) * 1000),
    (SELECT max(at) FROM events WHERE seq >= n * 1000 AND seq < (n + 1) * 1000)
  FROM thousands WHERE n < (SELECT max(seq) / 1000 FROM events);
  INSERT INTO event_spans
  SELECT 1000000, n / 1000, min(first_at), max(last_at) FROM event_spans
  WHERE n / 1000 < (SELECT max(seq) / 1000000 FROM events) GROUP BY n / 1000;

  CREATE TRIGGER events_thousand AFTER INSERT ON events
  WHEN NEW.seq / 1000 > (SELECT max(seq) / 1000 FROM events WHERE seq < NEW.seq)
  BEGIN
    INSERT INTO event_spans SELECT 1000, max(seq) / 1000, min(at), max(at) FROM events
    WHERE seq < NEW.seq AND seq >= (SELECT max(seq) / 1000 FROM events WHERE seq < NEW.seq) * 1000;
  END;
  CREATE TRIGGER event_spans_million AFTER INSERT ON event_spans
  WHEN NEW.size = 1000 AND (SELECT max(seq) / 1000000 FROM events) > NEW.n / 1000
  BEGIN
    INSERT INTO event_spans SELECT 1000000, NEW.n / 1000, min(first_at), max(last_at) FROM event_spans
    WHERE size = 1000 AND n >= NEW.n / 1000 * 1000 AND n <= NEW.n;
  END;
  `,
  `
  -- When each key was used last, to the minute.
  CREATE TABLE key_uses (key_id TEXT NOT NULL PRIMARY KEY, used_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  -- What ended lately, for the list that people keep open.
  CREATE INDEX confirmations_ended ON confirmations (status, resolved_at)
    WHERE resolved_at IS NOT NULL AND status <> 'auto_approved';
  `,
  `
  -- A slot that counts in no window any more is removed, whoever takes one.
  ALTER TABLE quota_slots ADD COLUMN kept_until INTEGER NOT NULL DEFAULT 0;
  UPDATE quota_slots
  SET kept_until = at + CASE WHEN quota GLOB 'action *' OR quota GLOB 'of *' THEN 31536000000 ELSE 3600000 END;
  `,
  `
  -- What one requester does under one session key, and its current run. A row without a key is about all of a requester's.
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
    repeats INTEGER,
    UNIQUE (requester, session_key)
  ) STRICT;
  CREATE INDEX sessions_key ON sessions (session_key, requester) WHERE run_id IS NOT NULL;
  CREATE INDEX sessions_active ON sessions (last_active_at) WHERE run_id IS NOT NULL;
  CREATE INDEX sessions_own ON sessions (requester, last_active_at) WHERE run_id IS NOT NULL;
  CREATE INDEX sessions_suspended ON sessions (last_active_at) WHERE suspended_at IS NOT NULL;
  CREATE INDEX sessions_reset ON sessions (reset_at) WHERE reset_at IS NOT NULL;
  CREATE INDEX sessions_held ON sessions (requester, session_key) WHERE due_at IS NOT NULL;

  -- Session ids that were rotated away.
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
  CREATE INDEX session_runs_of ON session_runs (requester, session_key, ended_at);
  CREATE INDEX session_runs_active ON session_runs (last_active_at);

  -- To which run a request belongs, and what was odd about it.
  ALTER TABLE confirmations ADD COLUMN session_id TEXT;
  ALTER TABLE confirmations ADD COLUMN caution TEXT;
  CREATE INDEX confirmations_session_open ON confirmations (share, session_key, created_at)
    WHERE due_at IS NOT NULL AND session_key <> '';
  CREATE INDEX confirmations_session_ended ON confirmations (share, session_key, resolved_at)
    WHERE resolved_at IS NOT NULL AND session_key <> '';

  -- When a whitelist entry was last given.
  ALTER TABLE grants ADD COLUMN given_at INTEGER NOT NULL DEFAULT 0;
  UPDATE grants SET given_at = created_at;
  CREATE INDEX grants_session ON grants (session_key) WHERE scope = 'session' AND revoked_at IS NULL;
  `,
  `
  -- What people are told that is about no confirmation. Its deliveries have its id in place of a confirmation's.
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
  `,
  `
  -- By when sessions are found: when one was last active, or a little before. So the indexes are not written each time.
  ALTER TABLE sessions ADD COLUMN listed_at INTEGER;
  UPDATE sessions SET listed_at = last_active_at;
  DROP INDEX sessions_active;
  DROP INDEX sessions_own;
  DROP INDEX sessions_key;
  CREATE INDEX sessions_active ON sessions (listed_at) WHERE run_id IS NOT NULL;
  CREATE INDEX sessions_own ON sessions (requester, listed_at) WHERE run_id IS NOT NULL;
  CREATE INDEX sessions_key ON sessions (session_key, requester);
  `,
  `
  -- By which what is due for one destination is found behind any number for others. Chats have none, and cost nothing here.
  CREATE INDEX deliveries_to ON deliveries (channel, share, destination, next_at, leased_until)
    WHERE next_at IS NOT NULL AND destination <> '';
  `,
  `
  -- By a condition that says nothing the index does not know: so who looks for somebody reads the index alone.
  DROP INDEX confirmations_resolved_by;
  CREATE INDEX confirmations_resolved_by ON confirmations (resolved_by, created_at) WHERE resolved_by <> '';
  `,
  `
  -- Marks of the events of each thousand numbers; see event-marks.ts. They are made afterwards, a thousand events at a time.
  CREATE TABLE event_marks (
    piece INTEGER NOT NULL,
    n INTEGER NOT NULL,
    bits BLOB NOT NULL,
    PRIMARY KEY (piece, n)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Several messages of a confirmation may go through one channel: to other places, and for other reasons. Each is followed
  -- until it shows how that ended.
  CREATE TABLE deliveries_2 (
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
  INSERT INTO deliveries_2
  SELECT confirmation_id, channel, destination, 'notice', share, version, state, attempts, next_at, updated_at,
    CASE WHEN state = 'sent' AND channel <> 'callback' THEN updated_at END, NULL, NULL, NULL, leased_until, error
  FROM deliveries;
  DROP TABLE deliveries;
  ALTER TABLE deliveries_2 RENAME TO deliveries;
  CREATE INDEX deliveries_due ON deliveries (channel, next_at, destination) WHERE next_at IS NOT NULL;
  CREATE INDEX deliveries_leased ON deliveries (channel, leased_until) WHERE leased_until IS NOT NULL;
  CREATE INDEX deliveries_turn ON deliveries (channel, share, next_at, destination, leased_until)
    WHERE next_at IS NOT NULL;
  CREATE INDEX deliveries_to ON deliveries (channel, share, destination, next_at, leased_until)
    WHERE next_at IS NOT NULL AND destination <> '';
  CREATE INDEX deliveries_message ON deliveries (channel, chat, message) WHERE message IS NOT NULL;
  CREATE INDEX deliveries_followed ON deliveries (channel) WHERE shown IS NOT NULL;

  -- Of what a press sends only the hash is kept.
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

  -- How far what a chat sends was taken in.
  CREATE TABLE inbox (channel TEXT NOT NULL PRIMARY KEY, cursor TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- What was said once it was decided: JSON; NULL is nothing.
  ALTER TABLE confirmations ADD COLUMN comments TEXT;
  `,
  `
  -- By the end of its id; see the reader. By the week first, so that what is written stays close together.
  CREATE INDEX confirmations_id_end ON confirmations (created_at / 604800000, substr(id, -6));
  `,
  `
  -- What waits for a message of its own, by place and in turns. Nothing else costs anything here.
  CREATE INDEX deliveries_collected ON deliveries (channel, destination, share, next_at) WHERE state = 'collected';
  `,
  `
  -- By what confirmations are found is written some time after them, many together; see filing.ts. By the ends of ids, those of
  -- 8192 arrivals together.
  CREATE TABLE filed (
    facet INTEGER NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    arrival INTEGER NOT NULL,
    PRIMARY KEY (facet, value, created_at, arrival)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE filed_up_to (facet INTEGER PRIMARY KEY, arrival INTEGER NOT NULL) STRICT;
  INSERT INTO filed SELECT 1, action, created_at, arrival FROM confirmations ORDER BY 2, 3, 4;
  INSERT INTO filed SELECT 2, requester, created_at, arrival FROM confirmations ORDER BY 2, 3, 4;
  INSERT INTO filed SELECT 3, session_key, created_at, arrival FROM confirmations ORDER BY 2, 3, 4;
  INSERT INTO filed SELECT 4, (arrival / 8192) || ':' || substr(id, -6), created_at, arrival FROM confirmations
    ORDER BY 2, 3, 4;
  INSERT INTO filed_up_to SELECT value, (SELECT coalesce(max(arrival), 0) FROM confirmations) FROM json_each('[1, 2, 3, 4]');
  DROP INDEX confirmations_action;
  DROP INDEX confirmations_requester;
  DROP INDEX confirmations_session_key;
  DROP INDEX confirmations_id_end;

  -- Whether the same again is answered with this one, while it is pending. Few are: what finds them has no others.
  ALTER TABLE confirmations ADD COLUMN joins INTEGER;
  UPDATE confirmations SET joins = 1 WHERE status = 'pending';
  DROP INDEX confirmations_alike;
  CREATE INDEX confirmations_alike ON confirmations (requester, digest) WHERE status = 'pending' AND joins = 1;

  -- What time changes, by state: pending is without an execution.
  DROP INDEX confirmations_due;
  DROP INDEX confirmations_pending;
  DROP INDEX confirmations_unclaimed;
  DROP INDEX confirmations_claimed;
  CREATE INDEX confirmations_due ON confirmations (execution, due_at) WHERE due_at IS NOT NULL;

  -- How many each requester has pending, for those who have any.
  CREATE TABLE open_counts (requester TEXT NOT NULL PRIMARY KEY, open INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO open_counts SELECT requester, count(*) FROM confirmations WHERE status = 'pending' GROUP BY requester;
  CREATE TRIGGER confirmations_open AFTER INSERT ON confirmations WHEN NEW.status = 'pending' BEGIN
    INSERT INTO open_counts VALUES (NEW.requester, 1) ON CONFLICT DO UPDATE SET open = open + 1;
  END;
  CREATE TRIGGER confirmations_close AFTER UPDATE OF status ON confirmations
    WHEN OLD.status = 'pending' AND NEW.status <> 'pending' BEGIN
    UPDATE open_counts SET open = open - 1 WHERE requester = OLD.requester;
    DELETE FROM open_counts WHERE requester = OLD.requester AND open = 0;
  END;

  -- Slots that are not filed yet; see quotas.ts.
  CREATE TABLE unfiled_slots (
    arrival INTEGER PRIMARY KEY,
    quota TEXT NOT NULL,
    at INTEGER NOT NULL,
    n INTEGER NOT NULL,
    kept_until INTEGER NOT NULL
  ) STRICT;
  `,
  `
  -- An approval that nobody has claimed, by what was approved: for the same call again.
  CREATE INDEX confirmations_unclaimed_alike ON confirmations (requester, digest)
    WHERE status = 'approved' AND execution = 'unclaimed' AND joins = 1;

  -- What was claimed for an act that its requester knows by a name of its own.
  CREATE TABLE named_acts (
    requester TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    confirmation_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (requester, name)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- What is put in the Agent Approval Protocol; and what was answered to an Idempotency-Key, where reading it again may not tell.
  ALTER TABLE confirmations ADD COLUMN aap TEXT;
  ALTER TABLE idempotency_keys ADD COLUMN result TEXT;

  -- Its instances: agents with their keys, each a provisioner's.
  CREATE TABLE instances (
    id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    provisioner TEXT NOT NULL,
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Which roles there are is said in one place, and not here again.
  CREATE TABLE keys_2 (
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
  INSERT INTO keys_2 (id, version, person, role, hash, created_by, created_at, expires_at, revoked_at, replaced_by,
    created_by_kind)
  SELECT id, version, person, role, hash, created_by, created_at, expires_at, revoked_at, replaced_by, created_by_kind
  FROM keys;
  DROP TABLE keys;
  ALTER TABLE keys_2 RENAME TO keys;
  `,
]
