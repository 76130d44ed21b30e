-- Purpose: list what is paused
-- Inputs: none
-- Result: rows: queue or NULL, run or NULL, document; queues before runs
-- Atomicity: one statement; several of a call share one read transaction
SELECT queue, run, doc FROM pause;
