-- Purpose: delete the records of published files of a run
-- Inputs: ?1 run
-- Result: its rows are gone
-- Atomicity: one statement of the writer's transaction; the others of its kind come with it
DELETE FROM file WHERE run = ?1;
