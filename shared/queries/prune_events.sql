-- Purpose: delete the log of a run
-- Inputs: ?1 run
-- Result: its rows are gone
-- Atomicity: one statement of the writer's transaction; the others of its kind come with it
DELETE FROM event WHERE run = ?1;
