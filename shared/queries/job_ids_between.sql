-- Purpose: find jobs by the beginning of their id
-- Inputs: ?1 lowest id, ?2 highest id, ?3 how many
-- Result: rows: id, in order
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM job WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3;
