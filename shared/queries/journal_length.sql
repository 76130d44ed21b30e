-- Purpose: read the length of a job's journal
-- Inputs: ?1 job
-- Result: one row: length
-- Atomicity: one statement of the writer's transaction
SELECT coalesce(max(seq) + 1, 0) FROM journal WHERE job = ?1;
