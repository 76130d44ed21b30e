-- Purpose: the first format: runs, jobs, their graph, their logs, and the workers.
-- Inputs: an empty database.
-- Result: tables and indexes. Ids are 16 bytes; moments are milliseconds since 1970; documents are JSON.
-- Atomicity: one transaction, together with the step of `user_version`.

-- An agent's specification under the SHA-256 of its JSON: a thousand runs of one agent keep it once.
CREATE TABLE agent (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    doc  TEXT NOT NULL
) STRICT;

-- A run and its counters. A counter has 64 bits and no sign; from 2^63 on it reads as negative here.
CREATE TABLE run (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    version       INTEGER NOT NULL CHECK (version >= 1),
    open          INTEGER NOT NULL DEFAULT 0,
    jobs          INTEGER NOT NULL DEFAULT 0,
    retries       INTEGER NOT NULL DEFAULT 0,
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    tokens        INTEGER NOT NULL DEFAULT 0,
    cost_micro_usd INTEGER NOT NULL DEFAULT 0,
    tool_calls    INTEGER NOT NULL DEFAULT 0,
    tenant        TEXT    NOT NULL,
    agents        TEXT    NOT NULL, -- {name: hash in hex}
    doc           TEXT    NOT NULL  -- the record without its agents
) STRICT, WITHOUT ROWID;

-- Serves the list of runs of a tenant, newest first.
CREATE INDEX run_by_tenant ON run (tenant, id);

-- What changes about a job, the often compared first; `rest` holds what no query looks at. The CHECKs say OR and not IN,
-- because a list of more than two builds a table of its own with each row that is checked.
CREATE TABLE job (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    run          BLOB    NOT NULL CHECK (length(run) = 16),
    version      INTEGER NOT NULL CHECK (version >= 1),
    state        TEXT    NOT NULL CHECK (
        state = 'blocked' OR state = 'scheduled' OR state = 'queued' OR state = 'running' OR
        state = 'succeeded' OR state = 'failed' OR state = 'cancelled' OR state = 'skipped'),
    queue        TEXT    NOT NULL,
    priority     INTEGER NOT NULL,
    since        INTEGER NOT NULL,
    -- scheduled: when it is due; running: when the lease lapses; queued: when it has waited too long
    wake_at      INTEGER,
    attempt      INTEGER NOT NULL,
    worker       BLOB,
    secret       INTEGER,
    cancelling   INTEGER NOT NULL CHECK (cancelling IN (0, 1)),
    mail_sent    INTEGER NOT NULL,
    mail_applied INTEGER NOT NULL,
    parent       BLOB,
    name         TEXT    NOT NULL,
    rest         TEXT    NOT NULL,
    -- A lease belongs to a running job, and only to one.
    CHECK ((state = 'running') = (worker IS NOT NULL)),
    CHECK ((worker IS NULL) = (secret IS NULL)),
    CHECK (wake_at IS NULL OR state = 'scheduled' OR state = 'queued' OR state = 'running'),
    CHECK (wake_at IS NOT NULL OR (state <> 'scheduled' AND state <> 'running'))
) STRICT, WITHOUT ROWID;

-- Serves the jobs of a run.
CREATE INDEX job_by_run ON job (run, id);
-- Serves the search for a name in a run.
CREATE INDEX job_by_name ON job (run, name, id);
-- Serves the list of jobs in a state over all runs, and a worker's own jobs.
CREATE INDEX job_by_state ON job (state, id);
-- Serves claim. Ended jobs are not in it, nor in the next ones, so that they cost a claim nothing.
CREATE INDEX job_queued ON job (queue, priority DESC, since, id) WHERE state = 'queued';
-- Serves maintenance: what falls due, lapses or has waited too long, soonest first.
CREATE INDEX job_to_wake ON job (state, wake_at) WHERE wake_at IS NOT NULL;
-- Serves the jobs that a job has handed out.
CREATE INDEX job_by_parent ON job (parent, id) WHERE parent IS NOT NULL;

-- What a job was asked to do. Never changes, and may be long: kept apart so that no transition writes it again.
CREATE TABLE job_spec (
    job BLOB NOT NULL PRIMARY KEY CHECK (length(job) = 16),
    doc TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who waits for whom. The unmet edges into a child are its unmet set. `kind` descends: dependencies come first.
CREATE TABLE edge (
    child     BLOB    NOT NULL CHECK (length(child) = 16),
    parent    BLOB    NOT NULL CHECK (length(parent) = 16),
    kind      TEXT    NOT NULL CHECK (kind IN ('dependency', 'await')),
    condition TEXT    NOT NULL CHECK (
        condition = 'success' OR condition = 'failure' OR condition = 'finished'),
    unmet     INTEGER NOT NULL CHECK (unmet IN (0, 1)),
    PRIMARY KEY (child, parent, kind DESC)
) STRICT, WITHOUT ROWID;

-- Serves the dependents of a job.
CREATE INDEX edge_by_parent ON edge (parent, child, kind DESC);
-- Serves the question whether a child still waits.
CREATE INDEX edge_unmet ON edge (child) WHERE unmet = 1;

-- The event log of each run, numbered from 1 without gaps.
CREATE TABLE event (
    run BLOB    NOT NULL CHECK (length(run) = 16),
    seq INTEGER NOT NULL CHECK (seq >= 1),
    at  INTEGER NOT NULL,
    job BLOB,
    doc TEXT    NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

-- The journal of each job, numbered from 0 without gaps.
CREATE TABLE journal (
    job     BLOB    NOT NULL CHECK (length(job) = 16),
    seq     INTEGER NOT NULL CHECK (seq >= 0),
    attempt INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    doc     TEXT    NOT NULL,
    PRIMARY KEY (job, seq)
) STRICT, WITHOUT ROWID;

-- Updates that their job has not read, in the order they were sent.
CREATE TABLE mail (
    place INTEGER PRIMARY KEY,
    job   BLOB NOT NULL CHECK (length(job) = 16),
    id    BLOB NOT NULL CHECK (length(id) = 16),
    doc   TEXT NOT NULL
) STRICT;

-- Serves a job's mailbox.
CREATE INDEX mail_by_job ON mail (job, place);

-- The published files of each run's workspace.
CREATE TABLE file (
    run  BLOB NOT NULL CHECK (length(run) = 16),
    path TEXT NOT NULL,
    doc  TEXT NOT NULL,
    PRIMARY KEY (run, path)
) STRICT, WITHOUT ROWID;

-- What clients may repeat.
CREATE TABLE idempotency_key (
    tenant      TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    run         BLOB NOT NULL CHECK (length(run) = 16),
    job         BLOB,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

-- Ended jobs whose dependents must be looked at.
CREATE TABLE cascade (
    job BLOB NOT NULL PRIMARY KEY CHECK (length(job) = 16)
) STRICT, WITHOUT ROWID;

-- Worker processes.
CREATE TABLE worker (
    id  BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    doc TEXT NOT NULL
) STRICT, WITHOUT ROWID;
