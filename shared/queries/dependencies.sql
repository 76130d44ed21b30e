-- Purpose: list the edges in which a job is the child
-- Inputs: ?1 child
-- Result: rows: parent, child, kind, condition, by parent
-- Atomicity: one statement; several of a call share one read transaction
SELECT parent, child, kind, condition FROM edge WHERE child = ?1 ORDER BY parent, kind DESC;
