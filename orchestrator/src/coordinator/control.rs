//! Cancel: it works with no worker anywhere.

use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Command, Job, JobState};
use legwork_shared::store::{JobQuery, StoreError};

use super::{CancelAnswer, Cancelled, Coordinator, PAGE, Scope, Target};
use crate::change::{ChangeError, change_all};
use crate::maintenance::tracker;

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
        Ok(match scope {
            Scope::Job => vec![root],
            Scope::Tree => self.with_descendants(vec![root]).await?,
        })
    }

    /// These jobs and all that they handed out, directly or not.
    pub(super) async fn with_descendants(&self, mut found: Vec<Job>) -> Result<Vec<Job>, StoreError> {
        let mut next = 0;
        while next < found.len() {
            let children = self.children(&found[next]).await?;
            found.extend(children);
            next += 1;
        }
        Ok(found)
    }

    /// The jobs that a job handed out itself.
    pub(super) async fn children(&self, parent: &Job) -> Result<Vec<Job>, StoreError> {
        self.all_jobs(&JobQuery {
            run: Some(parent.run),
            parent: Some(parent.id),
            ..JobQuery::default()
        })
        .await
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
        ChangeError::Deaf(_) => {
            let help = "cancel it, and submit a job that asks what you want to know";
            Fault::new(Code::WrongState, error.to_string(), help)
        }
        ChangeError::Refused(refusal) => Fault::new(Code::WrongState, refusal.to_string(), help),
        ChangeError::Store(error) => error.into(),
    }
}
