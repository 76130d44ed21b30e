-- Purpose: delete the idempotency keys of a run
-- Inputs: ?1 run
-- Result: its rows are gone
-- Atomicity: one statement of the writer's transaction; the others of its kind come with it
DELETE FROM idempotency_key INDEXED BY key_by_run WHERE run = ?1;
