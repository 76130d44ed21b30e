-- Purpose: forget a schedule
-- Inputs: ?1 tenant, ?2 name
-- Result: one row changed; none if there was none
-- Atomicity: one statement of the writer's transaction
DELETE FROM schedule WHERE tenant = ?1 AND name = ?2;
