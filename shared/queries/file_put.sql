-- Purpose: publish a file of a run's workspace; the last writer wins
-- Inputs: ?1 run, ?2 path, ?3 document
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO file (run, path, doc) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET doc = excluded.doc;
