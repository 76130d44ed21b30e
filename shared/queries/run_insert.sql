-- Purpose: record a new run
-- Inputs: ?1 id, ?2 version, ?3 tenant, ?4 agents, ?5 document, ?6 to ?13 the counters in the order of `Counter::ALL`
-- Result: one row changed
-- Atomicity: one statement of the writer's transaction
INSERT INTO run (
    id, version, tenant, agents, doc,
    open, jobs, retries, input_tokens, output_tokens, tokens, cost_micro_usd, tool_calls)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);
