-- Purpose: the fifth format: plans that are submitted again and again.
-- Inputs: a database of the fourth format.
-- Result: a table more.
-- Atomicity: one transaction, together with the step of `user_version`.

-- A schedule by its tenant and name.
CREATE TABLE schedule (
    tenant  TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    doc     TEXT    NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
