//! An attempt: one execution of a job, and everything that its runner may read and write.
//!
//! Each write carries the attempt's lease token. When the lease is lost, every write is refused with
//! [`AttemptError::Fenced`] and changes nothing: no result, no journal entry, no file, no child, no charge.

mod checkpoint;
mod children;
mod control;
mod error;
mod host;
mod inputs;
mod output;
mod report;
mod settle;
mod steer;
mod workspace;
mod write;

use std::sync::{Arc, Mutex};

use legwork_shared::agent::AgentSpec;
use legwork_shared::batch::JournalEntry;
use legwork_shared::job::{FailReason, Job, JobError, LeaseToken, Mail};
use legwork_shared::run::Run;
use legwork_shared::store::Claimed;
use legwork_shared::time::Timestamp;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

pub use children::{AfterSubmit, Child, ChildJob, Need};
pub use control::Control;
pub use error::AttemptError;
pub use host::Host;
pub use inputs::{Input, Inputs};
pub use output::INLINE_BYTES_MAX;
pub use report::{Report, Signals};
pub use settle::Settled;
pub use steer::{Steer, Steered};
pub use workspace::StoreWorkspace;

use crate::workspace::{SourceError, Sources, Workspace};
use write::Record;

/// How many journal entries are read at a time: a page stays small even where each entry holds a large reply.
const JOURNAL_PAGE: usize = 64;

/// One execution of a job.
pub struct Attempt {
    host: Arc<Host>,
    run: Arc<Run>,
    token: LeaseToken,
    record: Mutex<Record>,
    /// Held over each write, so that the writes of an attempt follow one another.
    writing: tokio::sync::Mutex<()>,
    control: Arc<Control>,
    workspace: Arc<StoreWorkspace>,
    sources: OnceCell<Arc<Sources>>,
}

impl Attempt {
    /// The attempt at a job that was claimed; `None` if the job is not running, which no claim returns.
    #[must_use]
    pub fn new(host: &Arc<Host>, claimed: Claimed) -> Option<Self> {
        let lease = *claimed.job.phase.lease()?;
        let workspace = StoreWorkspace::new(Arc::clone(host), claimed.run.id, claimed.job.id);
        Some(Self {
            host: Arc::clone(host),
            run: claimed.run,
            token: lease.token,
            record: Mutex::new(Record {
                job: claimed.job,
                dependents: Some(claimed.dependents),
            }),
            writing: tokio::sync::Mutex::new(()),
            control: Arc::new(Control::new(lease.until)),
            workspace: Arc::new(workspace),
            sources: OnceCell::new(),
        })
    }

    /// The job as this attempt knows it: the newest version that it has seen or written.
    #[must_use]
    pub fn job(&self) -> Job {
        self.record().job
    }

    /// The job's run, as it was at the claim.
    #[must_use]
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The agent that does the job.
    ///
    /// # Errors
    /// A fatal error where neither the job nor its run knows the agent.
    pub fn agent(&self) -> Result<Arc<AgentSpec>, JobError> {
        let spec = self.job().spec;
        let agent = spec.ad_hoc.as_ref().or_else(|| self.run.agents.get(&spec.agent));
        agent.cloned().ok_or_else(|| {
            let message = format!(
                "the run has no agent `{}`; submit it again with one of that name",
                spec.agent
            );
            JobError::fatal(FailReason::Error, "unknown_agent", message)
        })
    }

    /// The proof of this attempt.
    #[must_use]
    pub fn token(&self) -> LeaseToken {
        self.token
    }

    /// The journal from place `from` on.
    ///
    /// # Errors
    /// [`AttemptError::Store`].
    pub async fn journal(&self, from: u32) -> Result<Vec<JournalEntry>, AttemptError> {
        let mut entries: Vec<JournalEntry> = Vec::new();
        loop {
            let next = entries.last().map_or(from, |entry| entry.seq + 1);
            let page = self.host.store.journal(self.token.job, next, JOURNAL_PAGE).await?;
            if page.is_empty() {
                return Ok(entries);
            }
            entries.extend(page);
        }
    }

    /// The updates that the agent has not read, in the order they were sent.
    ///
    /// # Errors
    /// [`AttemptError::Store`].
    pub async fn mail(&self) -> Result<Vec<Mail>, AttemptError> {
        Ok(self.host.store.mail(self.token.job).await?)
    }

    /// The moment by the store's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.host.store.now()
    }

    /// Fires when the runner should stop: the job was cancelled, its time is up, or its lease is lost.
    #[must_use]
    pub fn cancelled(&self) -> CancellationToken {
        self.control.stopping().clone()
    }

    /// Waits until an update with mode interrupt stands unread in the mailbox; a report that applies it ends that.
    ///
    /// # Cancel safety
    /// Safe: it only waits.
    pub async fn interrupted(&self) {
        self.control.interrupted().await;
    }

    /// Waits until the mailbox should be looked at; one waits at a time.
    ///
    /// # Cancel safety
    /// Safe: it only waits.
    pub async fn mailed(&self) {
        self.control.mailed().await;
    }

    /// The run's files. Writes are published by the next report or by the result, and never by a fenced attempt.
    #[must_use]
    pub fn workspace(&self) -> Arc<dyn Workspace> {
        Arc::<StoreWorkspace>::clone(&self.workspace)
    }

    /// The read-only folders that the run was given.
    ///
    /// # Errors
    /// [`SourceError`] where a folder cannot be opened on this machine.
    pub async fn sources(&self) -> Result<Arc<Sources>, SourceError> {
        let opened = self.sources.get_or_try_init(|| self.host.sources(&self.run)).await?;
        Ok(Arc::clone(opened))
    }

    /// The signals of this attempt, for the layers around its runner.
    #[must_use]
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }
}

#[cfg(test)]
mod tests;
