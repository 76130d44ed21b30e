-- Purpose: the fourth format: in a queue, the runs take turns.
-- Inputs: a database of the third format.
-- Result: a column and a table more; the index of queued jobs is in the order of turns. What is queued already keeps its order.
-- Atomicity: one transaction, together with the step of `user_version`.

-- When the job is next in its queue, if it is queued: see `store::turn`.
ALTER TABLE job ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;

DROP INDEX job_queued;
-- Serves claim. Ended jobs are not in it, nor those put aside, so that they cost a claim nothing.
CREATE INDEX job_queued ON job (queue, priority DESC, turn, id) WHERE state = 'queued' AND aside = 0;

-- The last turn of each run with queued jobs, by queue and priority; and, under the empty run, where that line has got to.
CREATE TABLE turn (
    queue    TEXT    NOT NULL,
    priority INTEGER NOT NULL,
    run      BLOB    NOT NULL CHECK (length(run) = 16 OR length(run) = 0),
    last     INTEGER NOT NULL,
    PRIMARY KEY (queue, priority, run)
) STRICT, WITHOUT ROWID;

-- Serves the forgetting of turns that are over.
CREATE INDEX turn_by_last ON turn (queue, priority, last);
