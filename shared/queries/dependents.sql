-- Purpose: list the edges in which a job is the parent
-- Inputs: ?1 parent
-- Result: rows: parent, child, kind, condition, by child
-- Atomicity: one statement; several of a call share one read transaction
SELECT parent, child, kind, condition FROM edge INDEXED BY edge_by_parent
WHERE parent = ?1
ORDER BY child, kind DESC;
