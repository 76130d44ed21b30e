//! Update: tells a job something, whether it runs, waits, or has not begun.

use legwork_shared::batch::Batch;
use legwork_shared::clock;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::{JobId, UpdateId};
use legwork_shared::job::{BlockedOn, Command, Job, Mail, Phase, UpdateMode, apply};
use legwork_shared::store::StoreError;
use serde_json::Value;

use super::Coordinator;
use super::control::explain;
use crate::change::{self, ChangeError};
use crate::maintenance::tracker;

/// The longest update, in bytes: it becomes a message of a conversation.
const UPDATE_BYTES_MAX: usize = 256 * 1024;
/// Who cancels the jobs that an interrupted parent waits for.
const BY: &str = "interrupt";

impl Coordinator {
    /// Puts an update into a job's mailbox. The agent reads it at its next step, and the event log says at which.
    ///
    /// One that interrupts a job which sleeps on jobs it handed out cancels those first, in the same commit: the job
    /// wakes when they have ended, and goes on with what they had. Jobs that it does not wait for run on.
    ///
    /// # Errors
    /// [`Code::EmptyPrompt`], [`Code::LongPrompt`], or [`Code::WrongState`] if the job has ended or reads no updates.
    pub async fn update(
        &self,
        job: JobId,
        text: &str,
        data: Option<Value>,
        mode: UpdateMode,
    ) -> Result<UpdateId, Fault> {
        check_text(text, data.as_ref())?;
        let mail = Mail {
            id: UpdateId::new(self.store.now(), clock::entropy()),
            job,
            text: text.to_owned(),
            data,
            mode,
            at: self.store.now(),
        };
        for _ in 0..change::ROUNDS_MAX {
            match self.try_update(&mail).await {
                Ok(()) => {
                    if mode == UpdateMode::Interrupt {
                        // What needed the cancelled jobs is skipped now, and not at somebody's next look.
                        tracker::settle_all(self.store.as_ref()).await?;
                    }
                    return Ok(mail.id);
                }
                Err(ChangeError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(explain(error, "submit a follow-up job to the run, or retry the job")),
            }
        }
        let what = job.to_string();
        Err(StoreError::Conflict { what }.into())
    }

    /// Decides on the records as they stand, and commits.
    async fn try_update(&self, mail: &Mail) -> Result<(), ChangeError> {
        let store = self.store.as_ref();
        let job = store.job(mail.job).await?.ok_or(ChangeError::Unknown(mail.job))?;
        let view = store.run(job.run).await?.ok_or(ChangeError::Unknown(mail.job))?;
        let agent = job
            .spec
            .ad_hoc
            .as_ref()
            .or_else(|| view.run.agents.get(&job.spec.agent));
        if agent.is_some_and(|agent| !agent.runner.reads_updates()) {
            return Err(ChangeError::Deaf(mail.job));
        }
        let mut batch = Batch::at(store.now());
        let (id, mode) = (mail.id, mail.mode);
        let told = apply(&job, &Command::Update { id, mode }, batch.at)?;
        batch.mail.push(Mail {
            at: batch.at,
            ..mail.clone()
        });
        batch.transition(told, &view.run, &[]);
        if mail.mode == UpdateMode::Interrupt {
            let cancel = Command::Cancel {
                by: BY.to_owned(),
                reason: format!("{} was told something else", job.spec.name),
            };
            for child in self.awaited(&job).await? {
                if let Ok(stopped) = apply(&child, &cancel, batch.at) {
                    change::add(store, &mut batch, stopped).await?;
                }
            }
        }
        store.commit(batch).await?;
        Ok(())
    }

    /// The jobs that `job` sleeps on, with all that those handed out; none if it does not sleep.
    async fn awaited(&self, job: &Job) -> Result<Vec<Job>, StoreError> {
        let sleeps = matches!(
            job.phase,
            Phase::Blocked {
                on: BlockedOn::Children,
                ..
            }
        );
        if !sleeps {
            return Ok(Vec::new());
        }
        let mut children = self.children(job).await?;
        children.retain(|child| child.spec.call.is_some() && !child.state().is_terminal());
        self.with_descendants(children).await
    }
}

#[cfg(test)]
mod tests;

fn check_text(text: &str, data: Option<&Value>) -> Result<(), Fault> {
    if text.trim().is_empty() && data.is_none() {
        let help = "say what the agent should know";
        return Err(Fault::new(Code::EmptyPrompt, "the update is empty", help));
    }
    if text.len() > UPDATE_BYTES_MAX {
        let message = format!(
            "the update has {} bytes, at most {UPDATE_BYTES_MAX} are accepted",
            text.len()
        );
        let help = "put the long part into a file of the sources";
        return Err(Fault::new(Code::LongPrompt, message, help));
    }
    Ok(())
}
