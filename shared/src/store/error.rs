//! What can go wrong with a store, by what the caller does next.

use crate::budget::Counter;

/// Why a store did not do what it was asked. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody else changed a record first: load it again and decide again.
    #[error("{what} was changed by somebody else in the meantime")]
    Conflict {
        /// The record.
        what: String,
    },
    /// A counter of the run has no room for the charge: do without, or end the job.
    #[error("the run may use {bound} {counter}, {used} are used or reserved, and {wanted} more are wanted")]
    Exhausted {
        /// Which counter.
        counter: Counter,
        /// Its bound.
        bound: u64,
        /// What it stands at.
        used: u64,
        /// What was wanted.
        wanted: u64,
    },
    /// The key stands for another payload: use a new key, or send the first payload.
    #[error("the idempotency key `{key}` was already used with another payload")]
    KeyConflict {
        /// The key.
        key: String,
    },
    /// The store cannot be reached or is busy: try again later, nothing was written.
    #[error("the store is not available: {message}")]
    Unavailable {
        /// What stands in the way.
        message: String,
    },
    /// There is no room: make some, then try again; nothing that was accepted is lost.
    #[error("there is no room left for the store: {message}")]
    Full {
        /// Where.
        message: String,
    },
    /// The store may be read but not written.
    #[error("the store is read-only: {message}")]
    ReadOnly {
        /// Why.
        message: String,
    },
    /// The store was written by a newer version: use that.
    #[error("the store has format {found}, and this version knows formats up to {known}; use a newer legwork")]
    Newer {
        /// The store's format.
        found: u32,
        /// The newest format we know.
        known: u32,
    },
    /// The store is not one to keep work in, or cannot be used as it is addressed: set it up as the message says.
    #[error("the store is not fit for use: {message}")]
    Unfit {
        /// What is wrong with it.
        message: String,
    },
    /// The store is damaged: restore it.
    #[error("the store is damaged: {message}")]
    Corrupt {
        /// What does not fit.
        message: String,
    },
}

impl StoreError {
    /// Whether the same call may succeed a moment later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Full { .. } => true,
            Self::Conflict { .. }
            | Self::Exhausted { .. }
            | Self::KeyConflict { .. }
            | Self::ReadOnly { .. }
            | Self::Newer { .. }
            | Self::Unfit { .. }
            | Self::Corrupt { .. } => false,
        }
    }
}
