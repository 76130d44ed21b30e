-- Purpose: read where a line of a queue has got to, and the last turn of a run in it
-- Inputs: ?1 queue, ?2 priority, ?3 run
-- Result: rows: run, or an empty blob for the line itself; turn
-- Atomicity: one statement of the writer's transaction
SELECT run, last FROM turn WHERE queue = ?1 AND priority = ?2 AND run IN (x'', ?3);
