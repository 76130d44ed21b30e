-- Purpose: append to a run's log
-- Inputs: ?1 run, ?2 number, ?3 moment, ?4 job, ?5 document
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO event (run, seq, at, job, doc) VALUES (?1, ?2, ?3, ?4, ?5);
