-- Purpose: read how often a schedule was changed
-- Inputs: ?1 tenant, ?2 name
-- Result: at most one row: version
-- Atomicity: one statement of the writer's transaction
SELECT version FROM schedule WHERE tenant = ?1 AND name = ?2;
