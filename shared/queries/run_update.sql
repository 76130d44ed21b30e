-- Purpose: replace a run's record; its counters stay
-- Inputs: ?1 id, ?2 version, ?3 tenant, ?4 agents, ?5 document
-- Result: one row changed, if the run is there
-- Atomicity: one statement of the writer's transaction
UPDATE run SET version = ?2, tenant = ?3, agents = ?4, doc = ?5 WHERE id = ?1;
