-- Purpose: put an update into a job's mailbox
-- Inputs: ?1 job, ?2 id, ?3 document
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO mail (job, id, doc) VALUES (?1, ?2, ?3);
