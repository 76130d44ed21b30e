-- Purpose: let the jobs be claimed again that were put aside with their run
-- Inputs: ?1 run
-- Result: the number of rows changed
-- Atomicity: one statement of the writer's transaction
UPDATE job INDEXED BY job_by_run SET aside = 0 WHERE run = ?1 AND aside = 1;
