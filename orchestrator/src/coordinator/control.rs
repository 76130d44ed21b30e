//! Cancel and update: both work with no worker anywhere.

use legwork_shared::clock;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::{JobId, RunId, UpdateId};
use legwork_shared::job::{Command, Job, JobState, Mail, UpdateMode};
use legwork_shared::store::{JobQuery, StoreError};
use serde_json::Value;

use super::{CancelAnswer, Cancelled, Coordinator, PAGE, Scope, Target};
use crate::change::{ChangeError, change, change_all};
use crate::maintenance::tracker;

/// The longest update, in bytes: it becomes a message of a conversation.
const UPDATE_BYTES_MAX: usize = 256 * 1024;

impl Coordinator {
    /// Ends what has not started, and asks what runs to stop. The answer says which is which.
    ///
    /// # Errors
    /// [`Fault`] if the store cannot be used.
    pub async fn cancel(&self, target: Target, scope: Scope, by: &str, reason: &str) -> Result<Vec<Cancelled>, Fault> {
        let jobs = match target {
            Target::Run(run) => self.open_jobs(run).await?,
            Target::Job(job) => self.tree(job, scope).await?,
        };
        let mut answers = Vec::with_capacity(jobs.len());
        let command = |_: &Job| {
            Some(Command::Cancel {
                by: by.to_owned(),
                reason: reason.to_owned(),
            })
        };
        for part in jobs.chunks(PAGE) {
            let changed = change_all(self.store.as_ref(), part, command).await?;
            for job in part {
                let now = match changed.iter().find(|changed| changed.id == job.id) {
                    Some(changed) => changed.clone(),
                    None => self.store.job(job.id).await?.unwrap_or_else(|| job.clone()),
                };
                let answer = match now.state() {
                    JobState::Running => CancelAnswer::Requested,
                    JobState::Cancelled if !job.state().is_terminal() => CancelAnswer::Cancelled,
                    ended => CancelAnswer::Ended(ended),
                };
                answers.push(Cancelled {
                    job: job.id,
                    name: job.spec.name.clone(),
                    answer,
                });
            }
        }
        tracker::settle_all(self.store.as_ref()).await?;
        Ok(answers)
    }

    /// Puts an update into a job's mailbox. The agent reads it at its next step, and the event log says at which.
    ///
    /// # Errors
    /// [`Code::EmptyPrompt`], [`Code::LongPrompt`], or [`Code::WrongState`] if the job has ended.
    pub async fn update(
        &self,
        job: JobId,
        text: &str,
        data: Option<Value>,
        mode: UpdateMode,
    ) -> Result<UpdateId, Fault> {
        if text.trim().is_empty() && data.is_none() {
            return Err(Fault::new(
                Code::EmptyPrompt,
                "the update is empty",
                "say what the agent should know",
            ));
        }
        if text.len() > UPDATE_BYTES_MAX {
            let message = format!(
                "the update has {} bytes, at most {UPDATE_BYTES_MAX} are accepted",
                text.len()
            );
            return Err(Fault::new(
                Code::LongPrompt,
                message,
                "put the long part into a file of the sources",
            ));
        }
        let id = UpdateId::new(self.store.now(), clock::entropy());
        let command = Command::Update { id, mode };
        let mail = |at| Mail {
            id,
            job,
            text: text.to_owned(),
            data: data.clone(),
            mode,
            at,
        };
        let put = |batch: &mut legwork_shared::batch::Batch, _: &_| batch.mail.push(mail(batch.at));
        match change(self.store.as_ref(), job, &command, put).await {
            Ok(_) => Ok(id),
            Err(error) => Err(explain(error, "submit a follow-up job to the run, or retry the job")),
        }
    }

    /// The jobs of a run that have not ended.
    async fn open_jobs(&self, run: RunId) -> Result<Vec<Job>, StoreError> {
        let states = JobState::ALL.into_iter().filter(|state| !state.is_terminal()).collect();
        self.all_jobs(&JobQuery {
            run: Some(run),
            states,
            ..JobQuery::default()
        })
        .await
    }

    /// The job, and with [`Scope::Tree`] all that it handed out.
    async fn tree(&self, root: JobId, scope: Scope) -> Result<Vec<Job>, Fault> {
        let root = self
            .store
            .job(root)
            .await?
            .ok_or_else(|| super::find::unknown(&root.to_string()))?;
        let mut found = vec![root];
        let mut next = 0;
        while scope == Scope::Tree && next < found.len() {
            let query = JobQuery {
                run: Some(found[next].run),
                parent: Some(found[next].id),
                ..JobQuery::default()
            };
            found.extend(self.all_jobs(&query).await?);
            next += 1;
        }
        Ok(found)
    }

    async fn all_jobs(&self, query: &JobQuery) -> Result<Vec<Job>, StoreError> {
        let mut jobs: Vec<Job> = Vec::new();
        loop {
            let after = jobs.last().map(|job| job.id);
            let page = self
                .store
                .jobs(&JobQuery {
                    after,
                    limit: PAGE,
                    ..query.clone()
                })
                .await?;
            jobs.extend(page.items);
            if !page.more {
                return Ok(jobs);
            }
        }
    }
}

/// A fault for a job that was not changed.
pub(super) fn explain(error: ChangeError, help: &str) -> Fault {
    match error {
        ChangeError::Unknown(id) => super::find::unknown(&id.to_string()),
        ChangeError::Refused(refusal) => Fault::new(Code::WrongState, refusal.to_string(), help),
        ChangeError::Store(error) => error.into(),
    }
}
