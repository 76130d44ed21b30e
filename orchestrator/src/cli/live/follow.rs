//! The loop that waits for changes of a run and shows them.

use std::time::Duration;

use legwork_shared::run::RunState;
use legwork_shared::wire::EventView;
use tokio_util::sync::CancellationToken;

use super::Mirror;
use crate::cli::base::Stop;

/// The shortest time between two looks at the store: ten a second are smooth, and a busy run costs little.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest time between two looks: durations on the screen go on.
const REST: Duration = Duration::from_secs(1);

/// Shows a run while it goes on.
pub trait Viewer {
    /// Shows what happened since the last time, and how the run stands.
    ///
    /// # Errors
    /// [`Stop`] where it cannot be shown.
    fn show(&mut self, mirror: &Mirror, events: &[EventView]) -> Result<(), Stop>;
}

/// How following came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// The run ended so.
    Ended(RunState),
    /// The caller had enough.
    Stopped,
}

/// Shows the run until it has ended or `enough` fires. A store that cannot be reached for a moment is waited for.
///
/// # Errors
/// [`Stop`] of the viewer, or of a store that will not come back.
pub async fn follow(
    mirror: &mut Mirror,
    viewer: &mut dyn Viewer,
    enough: &CancellationToken,
) -> Result<Followed, Stop> {
    let mut changes = mirror.store().changes();
    let mut seen_ended = false;
    loop {
        changes.mark_unchanged();
        let events = match mirror.refresh().await {
            Ok(events) => events,
            Err(error) if error.is_transient() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        viewer.show(mirror, &events)?;
        let state = mirror.view().state;
        if state != RunState::Active {
            // The last events may have come between the two reads of one round, so a quiet round must follow.
            if seen_ended && events.is_empty() {
                return Ok(Followed::Ended(state));
            }
            seen_ended = true;
            continue;
        }
        seen_ended = false;
        if enough.is_cancelled() {
            return Ok(Followed::Stopped);
        }
        let next_look = async {
            tokio::time::sleep(PAUSE).await;
            // The store outlives this loop, so the sender cannot be gone.
            let _ = changes.changed().await;
        };
        tokio::select! {
            () = enough.cancelled() => {}
            _ = tokio::time::timeout(REST, next_look) => {}
        }
    }
}
