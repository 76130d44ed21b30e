//! Waits that end as soon as they can, and loudly when they cannot.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long anything may take. Long enough for a busy machine; who waits so long waits for what will not come.
pub const DEADLINE: Duration = Duration::from_secs(45);
/// The time between two looks.
const REST: Duration = Duration::from_millis(20);

/// Looks again and again until `look` finds something, and returns that.
///
/// # Panics
/// With `what` when it has not come by [`DEADLINE`].
pub async fn wait_until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain until {what}");
        sleep(REST).await;
    }
}
