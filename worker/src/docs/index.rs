//! The full-text index over a corpus: ranked sentences for research, ranked passages for tools.

use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::query;
use super::words::{Token, bigrams, is_cjk, tokens};
use super::{Corpus, Document, Lines, Sentence};
use crate::tool::search_docs::{DocHit, DocSearch, DocSearchError};
use crate::workspace::SOURCES_FOLDER;

/// How long a passage may become when neighbours of the matching sentence are added.
const PASSAGE_BYTES_MAX: usize = 900;

/// How many sentences are ranked for each passage asked for, as several may fall into one passage.
const SENTENCES_PER_PASSAGE: usize = 4;

/// The largest number of passages that one search gives.
pub const HITS_MAX: usize = 100;

/// The index itself failed; that is a fault of the program or of memory, not of the query.
#[derive(Debug, Error)]
#[error("the search index failed: {0}")]
pub struct IndexError(#[from] rusqlite::Error);

/// A passage that matches a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The document's path below its folder, with `/`.
    pub path: String,
    /// The first line of the passage.
    pub line_start: u32,
    /// The last line of the passage.
    pub line_end: u32,
    /// The passage on one line.
    pub text: String,
    /// How well it matches; only the order has a meaning.
    pub score: f64,
}

/// The number of a sentence in the whole corpus, in the order of documents and lines.
pub type SentenceId = u32;

/// A corpus with its index. It is built once and then only read.
#[derive(Debug)]
pub struct DocIndex {
    corpus: Corpus,
    /// The number of the first sentence of each document, ascending.
    starts: Vec<SentenceId>,
    database: Mutex<Connection>,
}

impl DocIndex {
    /// Indexes a corpus.
    ///
    /// # Errors
    /// [`IndexError`] if the database refuses, as when memory is exhausted.
    pub fn build(corpus: Corpus) -> Result<Self, IndexError> {
        let mut database = Connection::open_in_memory()?;
        database.execute_batch(include_str!("sql/schema.sql"))?;
        let mut starts = Vec::with_capacity(corpus.documents.len());
        let mut next: SentenceId = 0;
        let transaction = database.transaction()?;
        {
            let mut insert = transaction.prepare(include_str!("sql/insert.sql"))?;
            for document in &corpus.documents {
                starts.push(next);
                for sentence in &document.sentences {
                    let context = context(document, sentence);
                    insert.execute(params![
                        next,
                        spaced(&sentence.text),
                        spaced(&context),
                        pairs(&sentence.text)
                    ])?;
                    next += 1;
                }
            }
        }
        transaction.commit()?;
        Ok(Self {
            corpus,
            starts,
            database: Mutex::new(database),
        })
    }

    /// The corpus behind the index.
    #[must_use]
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// How many sentences, headings, rows and stretches of code there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.corpus
            .documents
            .iter()
            .map(|document| document.sentences.len())
            .sum()
    }

    /// Whether there is nothing to search.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A sentence and its document.
    ///
    /// # Panics
    /// If the id is not of this index.
    #[must_use]
    pub fn sentence(&self, id: SentenceId) -> (&Document, &Sentence) {
        let (document, at) = self.place(id);
        let document = &self.corpus.documents[document];
        (document, &document.sentences[at])
    }

    /// The number of the document, and of the sentence within it.
    fn place(&self, id: SentenceId) -> (usize, usize) {
        // A document without sentences shares its start with the next one; the last of them has the sentence.
        let document = self.starts.partition_point(|start| *start <= id) - 1;
        (document, (id - self.starts[document]) as usize)
    }

    /// The sentences that match an FTS5 query from [`query`], best first, with their scores.
    ///
    /// # Errors
    /// [`IndexError`] if the database refuses.
    pub fn ranked(&self, query: &str, limit: usize) -> Result<Vec<(SentenceId, f64)>, IndexError> {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let mut search = database.prepare_cached(include_str!("sql/search.sql"))?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = search.query_map(params![query, limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The passages that match what a person or a model typed, best first; at most [`HITS_MAX`].
    ///
    /// # Errors
    /// [`IndexError`] if the database refuses; no text of a query leads to one.
    pub fn search(&self, text: &str, limit: usize) -> Result<Vec<Hit>, IndexError> {
        let limit = limit.min(HITS_MAX);
        let Some(query) = query::any_of(text) else {
            return Ok(vec![]);
        };
        let mut hits: Vec<Hit> = Vec::new();
        for (id, score) in self.ranked(&query, limit * SENTENCES_PER_PASSAGE)? {
            let (document, _) = self.sentence(id);
            let (lines, text) = self.passage(id);
            let overlaps =
                |hit: &Hit| hit.path == document.path && hit.line_start <= lines.last && lines.first <= hit.line_end;
            if hits.len() < limit && !hits.iter().any(overlaps) {
                let (line_start, line_end) = (lines.first, lines.last);
                hits.push(Hit {
                    path: document.path.clone(),
                    line_start,
                    line_end,
                    text,
                    score,
                });
            }
        }
        Ok(hits)
    }

    /// The sentence with its neighbours in the same block, the later ones first.
    fn passage(&self, id: SentenceId) -> (Lines, String) {
        let (document, sentence) = self.sentence(id);
        let (_, at) = self.place(id);
        let (mut from, mut to) = (at, at + 1);
        let mut bytes = sentence.text.len();
        let mut fits = |at: Option<usize>| {
            let next = at
                .and_then(|at| document.sentences.get(at))
                .filter(|next| next.block == sentence.block)?;
            bytes += next.text.len() + 1;
            (bytes <= PASSAGE_BYTES_MAX).then_some(())
        };
        while fits(Some(to)).is_some() {
            to += 1;
        }
        while fits(from.checked_sub(1)).is_some() {
            from -= 1;
        }
        let sentences = &document.sentences[from..to];
        let lines = Lines {
            first: sentences[0].lines.first,
            last: sentences[sentences.len() - 1].lines.last,
        };
        let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
        (lines, texts.join(" "))
    }
}

impl DocSearch for DocIndex {
    fn search(&self, query: &str, limit: usize) -> Result<Vec<DocHit>, DocSearchError> {
        let hits = Self::search(self, query, limit).map_err(|error| DocSearchError(error.to_string()))?;
        let visible = |hit: Hit| DocHit {
            path: format!("{SOURCES_FOLDER}/{}", hit.path),
            line_start: hit.line_start,
            line_end: hit.line_end,
            text: hit.text,
            score: hit.score,
        };
        Ok(hits.into_iter().map(visible).collect())
    }
}

/// The path, title and headings around a sentence.
#[must_use]
pub fn context(document: &Document, sentence: &Sentence) -> String {
    let mut context = format!("{} {}", document.path, document.title);
    for heading in document.headings(sentence) {
        context.push(' ');
        context.push_str(heading);
    }
    context
}

/// The text with a space for each ideograph: those are found by their pairs.
fn spaced(text: &str) -> String {
    text.chars().map(|c| if is_cjk(c) { ' ' } else { c }).collect()
}

fn pairs(text: &str) -> String {
    let mut pairs = String::new();
    for token in tokens(text) {
        if let Token::Run(run) = token {
            for pair in bigrams(run) {
                pairs.push_str(pair);
                pairs.push(' ');
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(files: &[(&str, &str)]) -> DocIndex {
        let read = |(path, text): &(&str, &str)| Document::read(path, text.as_bytes()).expect("text");
        DocIndex::build(Corpus {
            documents: files.iter().map(read).collect(),
            left_out: vec![],
        })
        .expect("index")
    }

    fn found(index: &DocIndex, query: &str) -> Vec<String> {
        let hits = index.search(query, 10).expect("search");
        hits.into_iter()
            .map(|hit| format!("{}:{}-{}", hit.path, hit.line_start, hit.line_end))
            .collect()
    }

    #[test]
    fn a_search_finds_words_in_other_forms_and_gives_the_passage_around_them() {
        let index = index(&[
            (
                "a.md",
                "# A\n\nGraphs are fast. They keep\nvectors in memory.\n\nNothing here.\n",
            ),
            ("empty.md", ""),
            ("b.md", "A vector.\n"),
            ("c.md", "Other words.\n\nMore words.\n\nLast words.\n"),
        ]);
        assert_eq!(found(&index, "vectors"), ["b.md:1-1", "a.md:3-4"]);
        assert_eq!(found(&index, "graph"), ["a.md:3-4"]);
    }

    #[test]
    fn agents_get_passages_under_the_path_at_which_they_can_read_them() {
        let index = index(&[("n/a.md", "Graphs are fast.\n")]);
        let hits = DocSearch::search(&index, "graph", 5).unwrap();
        let shown: Vec<_> = hits
            .iter()
            .map(|hit| (hit.path.as_str(), hit.line_start, hit.text.as_str()))
            .collect();
        assert_eq!(shown, [("sources/n/a.md", 1, "Graphs are fast.")]);
    }

    #[test]
    fn a_chinese_search_needs_no_spaces() {
        let index = index(&[
            ("中.md", "# 索引\n\n向量数据库占用内存多。\n\n今天天气好。\n"),
            ("b.md", "内存很便宜。\n"),
        ]);
        assert_eq!(found(&index, "数据库的内存"), ["中.md:3-3", "b.md:1-1"]);
    }

    #[test]
    fn any_input_is_a_valid_query() {
        let index = index(&[("a.md", "Some text.\n")]);
        for query in [
            "",
            "\"",
            "a AND",
            "NEAR(",
            "text*",
            "col:x",
            "🙂",
            "( OR )",
            "'; DROP TABLE sentence;--",
            "\0",
        ] {
            assert!(index.search(query, 5).is_ok(), "{query}");
        }
        assert_eq!(found(&index, "text* OR \""), ["a.md:1-1"]);
    }

    #[test]
    fn an_empty_corpus_is_searched_without_a_result() {
        let index = index(&[]);
        assert!(index.is_empty());
        assert_eq!(found(&index, "text"), [""; 0]);
    }

    #[test]
    fn a_search_gives_at_most_as_many_passages_as_asked_for() {
        let index = index(&[("a.md", &"One word.\n\n".repeat(300))]);
        assert_eq!(index.search("word", 3).expect("search").len(), 3);
        assert_eq!(index.search("word", 1_000).expect("search").len(), HITS_MAX);
    }
}
