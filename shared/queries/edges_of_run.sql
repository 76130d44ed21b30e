-- Purpose: list the edges of a run
-- Inputs: ?1 run
-- Result: rows: parent, child, kind, condition, by child and parent
-- Atomicity: one statement; several of a call share one read transaction
SELECT edge.parent, edge.child, edge.kind, edge.condition
FROM job INDEXED BY job_by_run CROSS JOIN edge ON edge.child = job.id
WHERE job.run = ?1
ORDER BY job.id, edge.parent, edge.kind DESC;
