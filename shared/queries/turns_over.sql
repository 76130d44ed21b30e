-- Purpose: forget the last turns that are over
-- Inputs: ?1 queue, ?2 priority, ?3 the turn that the line has got to
-- Result: their rows are gone
-- Atomicity: one statement of the writer's transaction
DELETE FROM turn INDEXED BY turn_by_last WHERE queue = ?1 AND priority = ?2 AND last <= ?3 AND run <> x'';
