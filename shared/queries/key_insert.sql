-- Purpose: take an idempotency key
-- Inputs: ?1 tenant, ?2 key, ?3 fingerprint, ?4 run, ?5 job
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO idempotency_key (tenant, key, fingerprint, run, job) VALUES (?1, ?2, ?3, ?4, ?5);
