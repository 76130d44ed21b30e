-- Purpose: forget a worker
-- Inputs: ?1 id
-- Result: none; no error if nobody knows it
-- Atomicity: one statement of the writer's transaction
DELETE FROM worker WHERE id = ?1;
