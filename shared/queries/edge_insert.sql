-- Purpose: record that a child waits for a parent, or that it does again
-- Inputs: ?1 child, ?2 parent, ?3 kind, ?4 condition, ?5 unmet
-- Result: one row changed; a known edge keeps its condition
-- Atomicity: one statement of the writer's transaction
INSERT INTO edge (child, parent, kind, condition, unmet) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO UPDATE SET unmet = excluded.unmet;
