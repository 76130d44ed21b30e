-- Purpose: read a run's newest event
-- Inputs: ?1 run
-- Result: at most one row: number, moment, job, document
-- Atomicity: one statement; several of a call share one read transaction
SELECT seq, at, job, doc FROM event WHERE run = ?1 ORDER BY seq DESC LIMIT 1;
