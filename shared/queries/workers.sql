-- Purpose: list the workers
-- Inputs: none
-- Result: rows: document, by id
-- Atomicity: one statement; several of a call share one read transaction
SELECT doc FROM worker ORDER BY id;
