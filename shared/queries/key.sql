-- Purpose: read what an idempotency key stands for
-- Inputs: ?1 tenant, ?2 key
-- Result: at most one row: fingerprint, run, job
-- Atomicity: one statement; several of a call share one read transaction
SELECT fingerprint, run, job FROM idempotency_key WHERE tenant = ?1 AND key = ?2;
