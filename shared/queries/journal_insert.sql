-- Purpose: append to a job's journal
-- Inputs: ?1 job, ?2 place, ?3 attempt, ?4 moment, ?5 document
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO journal (job, seq, attempt, at, doc) VALUES (?1, ?2, ?3, ?4, ?5);
