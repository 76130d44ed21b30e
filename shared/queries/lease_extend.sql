-- Purpose: let a lease hold longer; the job's version stays
-- Inputs: ?1 job, ?2 until when
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
UPDATE job SET wake_at = ?2 WHERE id = ?1;
