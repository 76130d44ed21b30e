//! Pause and resume: what is queued waits, and what runs goes on.

use legwork_shared::fault::{Code, Fault};
use legwork_shared::run::{Pausable, Pause, RunState};

use super::Coordinator;

impl Coordinator {
    /// Holds the jobs of a queue or a run back until [`Coordinator::resume`]. Attempts under way go on. Returns whether it was
    /// not paused before.
    ///
    /// # Errors
    /// [`Code::UnknownId`] for a run that is not there, [`Code::WrongState`] for one that has ended.
    pub async fn pause(&self, of: Pausable, by: &str) -> Result<bool, Fault> {
        if let Pausable::Run(run) = of {
            let view = self.store.run(run).await?;
            let view = view.ok_or_else(|| super::find::unknown(&run.to_string()))?;
            if view.state != RunState::Active {
                let message = format!("{run} has {} and has nothing left to pause", view.state);
                let help = "only runs with open jobs can be paused; see `legwork list`";
                return Err(Fault::new(Code::WrongState, message, help));
            }
        }
        let pause = Pause {
            of,
            by: by.to_owned(),
            at: self.store.now(),
        };
        Ok(self.store.pause(&pause).await?)
    }

    /// Ends a pause. Returns whether there was one.
    ///
    /// # Errors
    /// [`Fault`] if the store cannot be used.
    pub async fn resume(&self, of: &Pausable, by: &str) -> Result<bool, Fault> {
        Ok(self.store.resume(of, by).await?)
    }
}
