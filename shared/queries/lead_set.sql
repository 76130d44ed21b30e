-- Purpose: write who leads maintenance
-- Inputs: ?1 holder, ?2 until when
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO lead (only_one, holder, until) VALUES (1, ?1, ?2)
ON CONFLICT DO UPDATE SET holder = excluded.holder, until = excluded.until;
