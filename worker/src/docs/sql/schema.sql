-- Purpose:   the full-text index of one corpus, in memory. The texts stay outside (content=''): a row is a number.
-- words:     the sentence without ideographs; porter makes the forms of an English word one.
-- context:   path, title and headings around the sentence.
-- pairs:     pairs of neighbouring ideographs, since unicode61 does not cut text without spaces into words.
CREATE VIRTUAL TABLE sentence USING fts5(
    words, context, pairs,
    content = '',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
