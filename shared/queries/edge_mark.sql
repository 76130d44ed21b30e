-- Purpose: say whether a parent is still waited for; saying it twice counts once
-- Inputs: ?1 child, ?2 parent, ?3 kind, ?4 unmet
-- Result: one row changed, if the edge is there and stood otherwise
-- Atomicity: one statement of the writer's transaction
UPDATE edge SET unmet = ?4 WHERE child = ?1 AND parent = ?2 AND kind = ?3 AND unmet <> ?4;
