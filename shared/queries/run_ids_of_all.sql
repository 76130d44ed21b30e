-- Purpose: list the runs of all tenants, newest first
-- Inputs: ?1 an id that is newer than all wanted ones, ?2 how many
-- Result: rows: id
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM run WHERE id < ?1 ORDER BY id DESC LIMIT ?2;
