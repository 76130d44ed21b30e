-- Purpose: write a run's counters
-- Inputs: ?1 id, ?2 to ?9 the counters in the order of `Counter::ALL`
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
UPDATE run
SET open = ?2, jobs = ?3, retries = ?4, input_tokens = ?5, output_tokens = ?6, tokens = ?7, cost_micro_usd = ?8,
    tool_calls = ?9
WHERE id = ?1;
