-- Purpose: put the queued jobs of a paused run aside
-- Inputs: ?1 run
-- Result: the number of rows changed
-- Atomicity: one statement of the writer's transaction
UPDATE job INDEXED BY job_by_run SET aside = 1 WHERE run = ?1 AND state = 'queued' AND aside = 0;
