-- Purpose: list the running jobs of a worker; few jobs run at a time
-- Inputs: ?1 worker
-- Result: rows: id, in order
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM job INDEXED BY job_by_state WHERE state = 'running' AND worker = ?1 ORDER BY id;
