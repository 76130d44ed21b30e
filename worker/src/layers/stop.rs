//! When an attempt must end although its runner has not: a cancel, a lost lease, a drain that takes too long.

use std::time::Duration;

use legwork_shared::job::Verdict;
use tokio_util::sync::CancellationToken;

use super::{Around, Inner};
use crate::attempt::Control;
use crate::pump::{Work, give_back};

/// How long a runner that was dropped may take to be gone. Only one that blocks its thread takes longer; its slot is
/// freed all the same, and its writes are fenced.
const DROP_TIME: Duration = Duration::from_secs(1);

/// Drops runners that do not stop by themselves.
#[derive(Debug, Clone)]
pub struct Stop {
    /// How long a runner has to stop after it was asked to.
    pub grace: Duration,
    /// Fires when the drain has lasted long enough.
    pub drained: CancellationToken,
}

impl Around for Stop {
    async fn around(self, work: Work, mut inner: Inner) -> Verdict {
        let control = work.attempt.control();
        let verdict = tokio::select! {
            biased;
            verdict = &mut inner => return verdict,
            // Nothing of a fenced attempt is written, so any verdict does.
            () = control.lost().cancelled() => Verdict::Cancelled,
            () = self.out_of_grace(control) => Verdict::Cancelled,
            () = self.drained.cancelled() => give_back(),
        };
        control.dismiss();
        // What it says now comes too late to be looked at; that it has ended is what counts.
        let _ = tokio::time::timeout(DROP_TIME, inner).await;
        verdict
    }
}

impl Stop {
    async fn out_of_grace(&self, control: &Control) {
        control.stopping().cancelled().await;
        tokio::time::sleep(self.grace).await;
    }
}
