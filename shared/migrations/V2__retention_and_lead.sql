-- Purpose: the second format: ended runs can be deleted, and one process at a time leads maintenance.
-- Inputs: a database of the first format.
-- Result: an index and a table more; nothing that is kept is changed.
-- Atomicity: one transaction, together with the step of `user_version`.

-- Serves the deletion of a run with the keys that stand for it.
CREATE INDEX key_by_run ON idempotency_key (run);

-- Who leads maintenance, and until when; one row at most.
CREATE TABLE lead (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    holder   BLOB    NOT NULL CHECK (length(holder) = 16),
    until    INTEGER NOT NULL
) STRICT;
