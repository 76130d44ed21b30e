-- Purpose: note that a line of a queue has got to a turn
-- Inputs: ?1 queue, ?2 priority, ?3 turn
-- Result: one row changed; it never goes back
-- Atomicity: one statement of the writer's transaction
INSERT INTO turn (queue, priority, run, last) VALUES (?1, ?2, x'', ?3)
ON CONFLICT DO UPDATE SET last = max(last, excluded.last);
