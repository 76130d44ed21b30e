-- Purpose: read a published file's record
-- Inputs: ?1 run, ?2 path
-- Result: at most one row: document
-- Atomicity: one statement; several of a call share one read transaction
SELECT doc FROM file WHERE run = ?1 AND path = ?2;
