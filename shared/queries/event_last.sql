-- Purpose: read the number of a run's newest event
-- Inputs: ?1 run
-- Result: one row: number, 0 if there is none
-- Atomicity: one statement of the writer's transaction
SELECT coalesce(max(seq), 0) FROM event WHERE run = ?1;
