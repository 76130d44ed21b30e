-- Purpose: record what a new job is asked to do
-- Inputs: ?1 job, ?2 document
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO job_spec (job, doc) VALUES (?1, ?2);
