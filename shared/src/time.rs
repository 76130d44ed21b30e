//! Time as the core counts it: whole milliseconds since the Unix epoch, always passed in.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since the Unix epoch (UTC).
///
/// Decisions take the moment as an argument; only [`crate::clock`] reads a real clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The milliseconds from `earlier` to this moment; zero if `earlier` is later.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// How far this moment is ahead of `other`, in milliseconds; negative where it is behind.
    #[must_use]
    pub fn ahead_ms(self, other: Self) -> i64 {
        let (ahead, behind) = (self.since_ms(other), other.since_ms(self));
        i64::try_from(ahead).unwrap_or(i64::MAX).saturating_sub_unsigned(behind)
    }
}

impl Add<u64> for Timestamp {
    type Output = Self;

    /// The moment `ms` milliseconds later, at most the end of time.
    fn add(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

impl Sub<u64> for Timestamp {
    type Output = Self;

    /// The moment `ms` milliseconds earlier, at least the epoch.
    fn sub(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }
}
