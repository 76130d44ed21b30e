-- Purpose:  adds one sentence. Inputs: number, words, context, pairs.
INSERT INTO sentence (rowid, words, context, pairs) VALUES (?1, ?2, ?3, ?4);
