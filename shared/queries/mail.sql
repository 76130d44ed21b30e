-- Purpose: read a job's mailbox
-- Inputs: ?1 job
-- Result: rows: document, in the order they were sent
-- Atomicity: one statement; several of a call share one read transaction
SELECT doc FROM mail WHERE job = ?1 ORDER BY place;
