-- Purpose: list the schedules of all tenants
-- Inputs: none
-- Result: rows: document, by tenant and name
-- Atomicity: one statement; several of a call share one read transaction
SELECT doc FROM schedule ORDER BY tenant, name;
