-- Purpose: read who leads maintenance
-- Inputs: none
-- Result: at most one row: holder, until when
-- Atomicity: one statement; several of a call share one read transaction
SELECT holder, until FROM lead WHERE only_one = 1;
