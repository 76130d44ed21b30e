-- Purpose: say whether a child still waits for a parent
-- Inputs: ?1 child
-- Result: one row: 0 or 1
-- Atomicity: one statement of the writer's transaction
SELECT EXISTS (SELECT 1 FROM edge INDEXED BY edge_unmet WHERE child = ?1 AND unmet = 1);
