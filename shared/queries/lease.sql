-- Purpose: read the lease of a job and what its worker should look at
-- Inputs: ?1 job
-- Result: at most one row
-- Atomicity: one statement of the writer's transaction
SELECT version, attempt, secret, wake_at, cancelling, mail_sent, mail_applied FROM job WHERE id = ?1;
