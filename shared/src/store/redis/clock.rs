//! The server's clock, as a process knows it: it asks now and then and counts on by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::link::Link;
use crate::clock::{Clock, ticks_us};
use crate::store::StoreError;
use crate::store::document::corrupt;
use crate::time::Timestamp;

/// How often the server is asked: clocks of machines drift apart by some 50 µs in this time.
const PERIOD: Duration = Duration::from_secs(5);
/// A question that took longer says too little about the moment of the answer, in microseconds.
const ROUND_TRIP_MAX_US: u64 = 200_000;

/// The server's clock. This machine's own, and whoever sets it, has no say.
#[derive(Default)]
pub(super) struct ServerClock {
    /// How far the server's clock is ahead of this process' ticks, in microseconds.
    ahead_us: AtomicI64,
}

impl Clock for ServerClock {
    fn now(&self) -> Timestamp {
        let now_us = self
            .ahead_us
            .load(Ordering::Relaxed)
            .saturating_add_unsigned(ticks_us());
        Timestamp(u64::try_from(now_us / 1_000).unwrap_or(0))
    }
}

impl ServerClock {
    /// Asks the server, once it answers fast enough, and then again and again.
    pub async fn start(link: &Arc<Link>) -> Result<Arc<Self>, StoreError> {
        let clock = Arc::new(Self::default());
        // The first answer is taken however long it took: a rough clock is better than none.
        clock.ask(link, u64::MAX).await?;
        let (kept, link) = (clock.clone(), link.clone());
        let runtime = link.runtime().clone();
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(PERIOD).await;
                // An outage is told of elsewhere; until it ends, the clock counts on.
                let _ = kept.ask(&link, ROUND_TRIP_MAX_US).await;
            }
        });
        Ok(clock)
    }

    async fn ask(&self, link: &Arc<Link>, round_trip_max_us: u64) -> Result<(), StoreError> {
        let asked = ticks_us();
        let answer = link.command(&redis::cmd("TIME")).await?;
        let answered = ticks_us();
        let (seconds, micros): (i64, i64) =
            redis::from_redis_value(answer).map_err(|error| corrupt("the server's time", error))?;
        if answered - asked <= round_trip_max_us {
            let middle = asked.midpoint(answered);
            let now_us = seconds * 1_000_000 + micros;
            self.ahead_us
                .store(now_us.saturating_sub_unsigned(middle), Ordering::Relaxed);
        }
        Ok(())
    }
}
