-- Purpose: the third format: queues and runs can be paused.
-- Inputs: a database of the second format.
-- Result: a table and a column more; the index of queued jobs leaves out those that are held back.
-- Atomicity: one transaction, together with the step of `user_version`.

-- What is paused: a queue by its name, or a run.
CREATE TABLE pause (
    queue TEXT UNIQUE,
    run   BLOB UNIQUE CHECK (length(run) = 16),
    doc   TEXT NOT NULL,
    CHECK ((queue IS NULL) <> (run IS NULL))
) STRICT;

-- Whether a queued job is of a paused run and was put aside, so that no claim walks over it again.
ALTER TABLE job ADD COLUMN aside INTEGER NOT NULL DEFAULT 0 CHECK (aside = 0 OR aside = 1 AND state = 'queued');

DROP INDEX job_queued;
-- Serves claim. Ended jobs are not in it, nor those put aside, so that they cost a claim nothing.
CREATE INDEX job_queued ON job (queue, priority DESC, since, id) WHERE state = 'queued' AND aside = 0;
