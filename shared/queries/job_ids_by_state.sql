-- Purpose: list the jobs in a state, over all runs
-- Inputs: ?1 state, ?2 the id after which to begin, ?3 how many, ?4 name or NULL
-- Result: rows: id, in order
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM job INDEXED BY job_by_state
WHERE state = ?1
    AND id > ?2
    AND (?4 IS NULL OR name = ?4)
ORDER BY id LIMIT ?3;
