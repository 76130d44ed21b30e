//! The read-only folders that a run was given, shown to its agents under `sources/`.

/// The sources of a run.
#[derive(Debug, Default)]
pub struct Sources {}

/// Why a source cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {}

impl Sources {
    /// No sources.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }
}
