//! The only place that reads a clock or draws randomness.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::time::Timestamp;

/// A source of the current moment. Engines own one; everything else is told the time.
pub trait Clock: Send + Sync + 'static {
    /// The current moment.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that stands still until it is told to move, for tests and simulation.
#[derive(Debug, Default)]
pub struct SimClock(AtomicU64);

impl SimClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.0))
    }

    /// Moves the clock forward by `ms` milliseconds and returns the new moment.
    pub fn advance_ms(&self, ms: u64) -> Timestamp {
        Timestamp(self.0.fetch_add(ms, Ordering::SeqCst) + ms)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// Microseconds since some moment in this process' life. They never go back, whatever happens to the machine's clock.
#[must_use]
pub fn ticks_us() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Sixteen random bytes from the operating system, as a number.
#[must_use]
pub fn entropy() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}
