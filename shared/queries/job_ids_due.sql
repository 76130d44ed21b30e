-- Purpose: list the jobs in a state whose moment has come, longest overdue first
-- Inputs: ?1 state, ?2 now, ?3 how many
-- Result: rows: id
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM job INDEXED BY job_to_wake
WHERE state = ?1 AND wake_at <= ?2
ORDER BY wake_at LIMIT ?3;
