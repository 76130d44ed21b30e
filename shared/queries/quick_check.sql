-- Purpose: look for damage in the file
-- Inputs: how many problems to tell of at most
-- Result: rows: a problem in words; one row `ok` if there is none
-- Atomicity: one statement; several of a call share one read transaction
SELECT quick_check FROM pragma_quick_check LIMIT ?1;
