-- Purpose: record a worker, or what is new about it
-- Inputs: ?1 id, ?2 document
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO worker (id, doc) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET doc = excluded.doc;
