-- Purpose: read a run's record
-- Inputs: ?1 id
-- Result: at most one row: version, agents, document
-- Atomicity: one statement; several of a call share one read transaction
SELECT version, agents, doc FROM run WHERE id = ?1;
