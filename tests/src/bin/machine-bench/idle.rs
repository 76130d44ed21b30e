//! A worker without work.

use std::time::Duration;

use anyhow::Result;
use legwork_tests::harness::Legwork;

use super::Figure;
use super::processes::{cpu_seconds, memory_mb};

/// How long it is watched: a hundredth of a second is what the system counts in.
const WATCHED: Duration = Duration::from_secs(20);
/// The promise: less than this share of a core, in percent.
const CORE_PERCENT: f64 = 1.0;

/// The processor time and the memory of `legwork worker` on an empty store.
pub async fn measure() -> Result<Vec<Figure>> {
    let legwork = Legwork::new();
    let mut worker = legwork.spawn(&["worker"]);
    worker.wait_for_talk("taking jobs").await;
    let before = cpu_seconds(worker.pid())?;
    tokio::time::sleep(WATCHED).await;
    let used = cpu_seconds(worker.pid())? - before;
    Ok(vec![
        Figure::bounded(
            "an idle worker, of a core",
            100.0 * used / WATCHED.as_secs_f64(),
            CORE_PERCENT,
            "%",
        ),
        Figure::told("an idle worker, memory", memory_mb(worker.pid())?, "MB"),
    ])
}
