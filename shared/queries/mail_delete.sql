-- Purpose: take a read update out of a job's mailbox
-- Inputs: ?1 job, ?2 id
-- Result: its rows are gone; no error if there is none
-- Atomicity: one statement of the writer's transaction
DELETE FROM mail WHERE job = ?1 AND id = ?2;
