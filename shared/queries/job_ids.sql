-- Purpose: list all jobs
-- Inputs: ?1 the id after which to begin, ?2 how many, ?3 name or NULL
-- Result: rows: id, in order
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM job
WHERE id > ?1
    AND (?3 IS NULL OR name = ?3)
ORDER BY id LIMIT ?2;
