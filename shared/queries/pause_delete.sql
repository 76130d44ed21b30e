-- Purpose: forget a pause
-- Inputs: ?1 queue or NULL, ?2 run or NULL
-- Result: one row changed; none if it was not paused
-- Atomicity: one statement of the writer's transaction
DELETE FROM pause WHERE queue = ?1 OR run = ?2;
