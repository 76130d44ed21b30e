-- Purpose: list the jobs of a run
-- Inputs: ?1 run, ?2 the id after which to begin, ?3 how many, ?4 states or NULL
-- Result: rows: id, in order
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM job INDEXED BY job_by_run
WHERE run = ?1
    AND id > ?2
    AND (?4 IS NULL OR instr(?4, state) > 0)
ORDER BY id LIMIT ?3;
