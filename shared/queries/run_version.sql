-- Purpose: read how often a run was changed
-- Inputs: ?1 id
-- Result: at most one row: version
-- Atomicity: one statement; several of a call share one read transaction
SELECT version FROM run WHERE id = ?1;
