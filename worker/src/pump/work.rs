//! A claimed job on its way through the worker.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::leases::LeaseGuard;
use crate::attempt::Attempt;

/// An attempt with what it holds: its place among the renewed leases, and its slot.
///
/// Both are given back when the last clone is dropped: after the verdict is written, not before.
#[derive(Clone)]
pub struct Work {
    /// The attempt.
    pub attempt: Arc<Attempt>,
    _hold: Arc<Hold>,
}

/// Dropped in this order: a slot that is free again has no lease behind it.
struct Hold {
    _lease: LeaseGuard,
    _slot: OwnedSemaphorePermit,
}

impl Work {
    /// The attempt, holding `lease` and `slot`.
    pub fn new(attempt: Arc<Attempt>, lease: LeaseGuard, slot: OwnedSemaphorePermit) -> Self {
        let hold = Hold {
            _lease: lease,
            _slot: slot,
        };
        Self {
            attempt,
            _hold: Arc::new(hold),
        }
    }
}
