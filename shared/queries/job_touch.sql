-- Purpose: give a job the next version and change nothing else
-- Inputs: ?1 id
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
UPDATE job SET version = version + 1 WHERE id = ?1;
