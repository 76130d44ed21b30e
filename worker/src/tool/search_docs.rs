//! `search_docs`: full-text search over the run's documents.

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use legwork_shared::agent::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolContext, ToolError, ToolErrorCode, arguments};

/// Longest query: more words make a search slower, not better.
const QUERY_CHARS_MAX: usize = 400;
/// Passages shown if the call does not say.
const LIMIT_DEFAULT: usize = 8;
/// Most passages of one call.
const LIMIT_MAX: usize = 20;
/// How much of one passage is shown, so that all of them fit into a reply.
const PASSAGE_BYTES_MAX: usize = 2_500;

/// Search over a set of documents.
pub trait DocSearch: Send + Sync {
    /// Returns the best `limit` passages for `query`, best first; blocks while it searches.
    ///
    /// # Errors
    /// [`DocSearchError`] if the index does not answer; no query by itself is an error.
    fn search(&self, query: &str, limit: usize) -> Result<Vec<DocHit>, DocSearchError>;
}

/// Why a search has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the index of documents does not answer: {0}")]
pub struct DocSearchError(pub String);

/// A passage that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct DocHit {
    /// The document's path in the virtual file system.
    pub path: String,
    /// Its first line, counted from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// Its text.
    pub text: String,
    /// How well it fits: higher is better.
    pub score: f64,
}

/// Searches the run's documents.
pub struct SearchDocs;

#[derive(Deserialize)]
struct Args {
    query: String,
    #[serde(default = "limit_default")]
    limit: usize,
}

fn limit_default() -> usize {
    LIMIT_DEFAULT
}

#[async_trait]
impl Tool for SearchDocs {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search_docs".to_owned(),
            description:
                "Finds the passages of the given documents (`sources/`) that fit a query best, with file and lines. \
                          Use the words that the documents would use; for an exact text use `grep`."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "minLength": 1, "maxLength": QUERY_CHARS_MAX},
                    "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "description": "How many passages; 8 if absent"}
                },
                "required": ["query"],
                "additionalProperties": false
            }),
            effect: Effect::None,
        }
    }

    async fn call(&self, args: Value, ctx: &ToolContext) -> Result<String, ToolError> {
        let Args { query, limit } = arguments::take(args)?;
        let Some(docs) = ctx.docs.as_ref().map(Arc::clone) else {
            let message = "this run was given no documents to search: go on without them";
            return Err(ToolError::new(ToolErrorCode::NotFound, message));
        };
        let searched = tokio::task::spawn_blocking(move || docs.search(&query, limit));
        let hits = searched.await.map_err(|_| ToolError::broken())?;
        let hits = hits.map_err(|error| ToolError::new(ToolErrorCode::Failed, error.to_string()))?;
        Ok(report(&hits[..hits.len().min(limit)]))
    }
}

fn report(hits: &[DocHit]) -> String {
    if hits.is_empty() {
        return "[no passage fits: try other words]".to_owned();
    }
    let mut text = String::new();
    for hit in hits {
        let end = hit.text.floor_char_boundary(PASSAGE_BYTES_MAX);
        let cut = if end < hit.text.len() {
            "… [cut: read on with `read_file`]"
        } else {
            ""
        };
        let passage = hit.text[..end].trim_end();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}:{}-{} (score {:.2})\n{passage}{cut}\n",
            hit.path, hit.line_start, hit.line_end, hit.score
        );
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::super::files::testing::Tools;
    use super::*;

    struct Fixed(Result<Vec<DocHit>, DocSearchError>);

    impl DocSearch for Fixed {
        fn search(&self, query: &str, _limit: usize) -> Result<Vec<DocHit>, DocSearchError> {
            assert_eq!(query, "lease");
            self.0.clone()
        }
    }

    fn hit(path: &str, text: &str) -> DocHit {
        DocHit {
            path: path.to_owned(),
            line_start: 3,
            line_end: 5,
            text: text.to_owned(),
            score: 1.5,
        }
    }

    fn over(hits: Vec<DocHit>) -> Tools {
        answering(Ok(hits))
    }

    fn answering(answer: Result<Vec<DocHit>, DocSearchError>) -> Tools {
        let mut tools = Tools::new(&[]);
        tools.ctx.docs = Some(Arc::new(Fixed(answer)));
        tools
    }

    #[tokio::test]
    async fn s33_passages_are_shown_with_file_and_lines_best_first() {
        let tools = over(vec![hit("sources/a.md", "A lease\nends.\n"), hit("sources/b.md", "x")]);
        assert_eq!(
            tools.ok("search_docs", json!({"query": "lease"})).await,
            "sources/a.md:3-5 (score 1.50)\nA lease\nends.\n\nsources/b.md:3-5 (score 1.50)\nx"
        );
    }

    #[tokio::test]
    async fn nothing_found_and_nothing_to_search_are_told_apart() {
        assert_eq!(
            over(vec![]).ok("search_docs", json!({"query": "lease"})).await,
            "[no passage fits: try other words]"
        );
        assert_eq!(
            Tools::new(&[]).error("search_docs", json!({"query": "lease"})).await,
            "not_found: this run was given no documents to search: go on without them"
        );
    }

    #[tokio::test]
    async fn twenty_long_passages_fit_into_one_reply_even_if_the_search_returns_more() {
        let tools = over(vec![hit("sources/a.md", &"é".repeat(100_000)); 50]);
        let reply = tools.ok("search_docs", json!({"query": "lease", "limit": 20})).await;
        assert_eq!(reply.matches("sources/a.md:3-5").count(), 20);
        assert_eq!(reply.matches("… [cut: read on with `read_file`]").count(), 20);
        assert!(reply.len() <= tools.ctx.limits.reply_bytes_max);
    }

    #[tokio::test]
    async fn queries_and_limits_beyond_their_bounds_are_refused() {
        let tools = over(vec![]);
        for args in [
            json!({"query": ""}),
            json!({"query": "x".repeat(401)}),
            json!({"query": "lease", "limit": 21}),
        ] {
            assert!(
                tools
                    .error("search_docs", args)
                    .await
                    .starts_with("invalid_arguments: at /")
            );
        }
    }

    #[tokio::test]
    async fn an_index_that_does_not_answer_is_an_error_reply() {
        let tools = answering(Err(DocSearchError("disk I/O error".to_owned())));
        assert_eq!(
            tools.error("search_docs", json!({"query": "lease"})).await,
            "failed: the index of documents does not answer: disk I/O error"
        );
    }
}
