-- Purpose: find the jobs of a queue to be claimed next
-- Inputs: ?1 queue, ?2 how many
-- Result: rows: priority, since, id, in the order in which they are claimed
-- Atomicity: one statement of the writer's transaction
SELECT priority, since, id FROM job INDEXED BY job_queued
WHERE queue = ?1 AND state = 'queued'
ORDER BY priority DESC, since, id LIMIT ?2;
