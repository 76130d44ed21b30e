-- Purpose: write the last turn of a run in a line of a queue
-- Inputs: ?1 queue, ?2 priority, ?3 run, ?4 turn
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO turn (queue, priority, run, last) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET last = excluded.last;
