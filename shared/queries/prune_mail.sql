-- Purpose: delete the updates that nobody read of a run
-- Inputs: ?1 run
-- Result: its rows are gone
-- Atomicity: one statement of the writer's transaction; the others of its kind come with it
DELETE FROM mail WHERE job IN (SELECT id FROM job INDEXED BY job_by_run WHERE run = ?1);
