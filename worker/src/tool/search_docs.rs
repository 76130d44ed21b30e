//! `search_docs`: full-text search over the run's documents.

/// Search over a set of documents.
pub trait DocSearch: Send + Sync {
    /// Returns the best `limit` passages for `query`, best first; blocks while it searches.
    fn search(&self, query: &str, limit: usize) -> Vec<DocHit>;
}

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
