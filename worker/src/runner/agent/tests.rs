//! The loop against the real store.
