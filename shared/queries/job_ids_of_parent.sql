-- Purpose: list the jobs that a job handed out
-- Inputs: ?1 parent, ?2 the id after which to begin, ?3 how many, ?4 states or NULL, ?5 name or NULL, ?6 run or NULL
-- Result: rows: id, in order
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM job INDEXED BY job_by_parent
WHERE parent = ?1
    AND id > ?2
    AND (?4 IS NULL OR instr(?4, state) > 0)
    AND (?5 IS NULL OR name = ?5)
    AND (?6 IS NULL OR run = ?6)
ORDER BY id LIMIT ?3;
