-- Purpose: read a run's counters
-- Inputs: ?1 id
-- Result: at most one row: the counters in the order of `Counter::ALL`
-- Atomicity: one statement; several of a call share one read transaction
SELECT open, jobs, retries, input_tokens, output_tokens, tokens, cost_micro_usd, tool_calls
FROM run WHERE id = ?1;
