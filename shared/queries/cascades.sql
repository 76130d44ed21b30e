-- Purpose: list the ended jobs whose dependents must be looked at
-- Inputs: ?1 how many
-- Result: rows: job, by id
-- Atomicity: one statement; several of a call share one read transaction
SELECT job FROM cascade ORDER BY job LIMIT ?1;
