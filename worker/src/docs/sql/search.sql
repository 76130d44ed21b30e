-- Purpose:  the sentences that match best. Inputs: FTS5 query, limit. Result: number, score (higher is better).
-- The text counts in full; the context only helps, since it repeats for each sentence of a section.
SELECT rowid, -bm25(sentence, 1.0, 0.3, 1.0) AS score
FROM sentence
WHERE sentence MATCH ?1
ORDER BY score DESC, rowid
LIMIT ?2;
