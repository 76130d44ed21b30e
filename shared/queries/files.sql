-- Purpose: list a run's published files from a path on
-- Inputs: ?1 run, ?2 path
-- Result: rows: path, document, by path
-- Atomicity: one statement; several of a call share one read transaction
SELECT path, doc FROM file WHERE run = ?1 AND path >= ?2 ORDER BY path;
