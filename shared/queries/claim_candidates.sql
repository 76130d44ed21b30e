-- Purpose: find the jobs of a queue to be claimed next
-- Inputs: ?1 queue, ?2 how many
-- Result: rows: priority, turn, since, id, run, in the order in which they are claimed
-- Atomicity: one statement of the writer's transaction
SELECT priority, turn, since, id, run FROM job INDEXED BY job_queued
WHERE queue = ?1 AND state = 'queued' AND aside = 0
ORDER BY priority DESC, turn, id LIMIT ?2;
