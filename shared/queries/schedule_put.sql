-- Purpose: record a schedule, or what is new about it
-- Inputs: ?1 tenant, ?2 name, ?3 version, ?4 document
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO schedule (tenant, name, version, doc) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET version = excluded.version, doc = excluded.doc;
