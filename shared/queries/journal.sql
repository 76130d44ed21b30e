-- Purpose: read a part of a job's journal
-- Inputs: ?1 job, ?2 the place at which to begin, ?3 how many
-- Result: rows: place, attempt, moment, document
-- Atomicity: one statement; several of a call share one read transaction
SELECT seq, attempt, at, doc FROM journal WHERE job = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3;
