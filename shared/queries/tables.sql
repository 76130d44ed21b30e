-- Purpose: tell an empty database from another program's
-- Inputs: none
-- Result: one row: the number of tables and indexes
-- Atomicity: one statement; several of a call share one read transaction
SELECT count(*) FROM sqlite_schema;
