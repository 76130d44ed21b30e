-- Purpose: record a new run; its counters are zero
-- Inputs: ?1 id, ?2 version, ?3 tenant, ?4 agents, ?5 document
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO run (id, version, tenant, agents, doc) VALUES (?1, ?2, ?3, ?4, ?5);
