-- Purpose: keep an agent's specification once, however many runs use it
-- Inputs: ?1 SHA-256 of the document, ?2 document
-- Result: none; nothing happens if it is there
-- Atomicity: one statement of the writer's transaction
INSERT INTO agent (hash, doc) VALUES (?1, ?2) ON CONFLICT DO NOTHING;
