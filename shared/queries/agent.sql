-- Purpose: read an agent's specification
-- Inputs: ?1 SHA-256 of the document
-- Result: at most one row: document
-- Atomicity: one statement; several of a call share one read transaction
SELECT doc FROM agent WHERE hash = ?1;
