-- Purpose: list the runs of a tenant, newest first
-- Inputs: ?1 tenant, ?2 an id that is newer than all wanted ones, ?3 how many
-- Result: rows: id
-- Atomicity: one statement; several of a call share one read transaction
SELECT id FROM run INDEXED BY run_by_tenant
WHERE tenant = ?1 AND id < ?2
ORDER BY id DESC LIMIT ?3;
