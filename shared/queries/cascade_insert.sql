-- Purpose: ask for a look at an ended job's dependents
-- Inputs: ?1 job
-- Result: none; nothing happens if it is asked for already
-- Atomicity: one statement of the writer's transaction
INSERT INTO cascade (job) VALUES (?1) ON CONFLICT DO NOTHING;
