-- Purpose: read where a job stands
-- Inputs: ?1 id
-- Result: at most one row: state
-- Atomicity: one statement; several of a call share one read transaction
SELECT state FROM job WHERE id = ?1;
