-- Purpose: read a part of a run's log
-- Inputs: ?1 run, ?2 the number after which to begin, ?3 how many
-- Result: rows: number, moment, job, document
-- Atomicity: one statement; several of a call share one read transaction
SELECT seq, at, job, doc FROM event WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3;
