-- Purpose: read how often a job was changed
-- Inputs: ?1 id
-- Result: at most one row: version
-- Atomicity: one statement of the writer's transaction
SELECT version FROM job WHERE id = ?1;
