-- Purpose: record a pause
-- Inputs: ?1 queue or NULL, ?2 run or NULL, ?3 document
-- Result: one row changed; none if it is paused already
-- Atomicity: one statement of the writer's transaction
INSERT INTO pause (queue, run, doc) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING;
