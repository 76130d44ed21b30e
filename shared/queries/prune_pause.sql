-- Purpose: delete the pause of a run
-- Inputs: ?1 run
-- Result: its row is gone, if there was one
-- Atomicity: one statement of the writer's transaction; the others of its kind come with it
DELETE FROM pause WHERE run = ?1;
