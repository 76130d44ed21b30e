-- Purpose: take back the wish for a look at an ended job's dependents
-- Inputs: ?1 job
-- Result: none; no error if nobody wished it
-- Atomicity: one statement of the writer's transaction
DELETE FROM cascade WHERE job = ?1;
