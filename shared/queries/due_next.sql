-- Purpose: find the next moment at which a job in a state has to be looked at
-- Inputs: ?1 state, ?2 now
-- Result: at most one row: moment
-- Atomicity: one statement; several of a call share one read transaction
SELECT wake_at FROM job INDEXED BY job_to_wake
WHERE state = ?1 AND wake_at > ?2
ORDER BY wake_at LIMIT 1;
