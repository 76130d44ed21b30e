//! What an agent does with jobs that it handed out and does not wait for: look at them, tell them something, stop them.

use legwork_shared::clock::entropy;
use legwork_shared::id::{JobId, UpdateId};
use legwork_shared::job::{Command, Job, JobState, Mail, Transition, UpdateMode, apply};
use legwork_shared::store::JobQuery;
use legwork_shared::time::Timestamp;

use super::write::{Patience, Written};
use super::{Attempt, AttemptError, Report};

/// How many jobs are listed at a time.
const PAGE: usize = 256;

/// What is done with a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steer {
    /// It finds this in its mailbox.
    Tell(String),
    /// It and all that it handed out are cancelled.
    Stop,
}

/// Whether it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steered {
    /// It was.
    Done,
    /// The job had ended before.
    Ended(JobState),
}

impl Attempt {
    /// A job of the run as it stands now.
    ///
    /// # Errors
    /// [`AttemptError::Store`].
    pub async fn look_at(&self, job: JobId) -> Result<Option<Job>, AttemptError> {
        let found = self.host.store.job(job).await?;
        Ok(found.filter(|job| job.run == self.run.id))
    }

    /// Steers a job and writes the report that says so, in one commit: an attempt that is fenced steers nobody.
    ///
    /// # Errors
    /// [`AttemptError::Refused`] for a job that is not of this run, and those of [`Attempt::checkpoint`].
    ///
    /// # Cancel safety
    /// As [`Attempt::checkpoint`].
    pub async fn steer(
        &self,
        target: JobId,
        steer: &Steer,
        report: &(dyn Fn(Steered) -> Report + Send + Sync),
    ) -> Result<Steered, AttemptError> {
        let _writing = self.writing.lock().await;
        let mut patience = Patience::new();
        loop {
            let now = self.host.store.now();
            let update = UpdateId::new(now, entropy());
            let tree = self.tree(target, steer).await?;
            let (steered, transitions) = decide(&tree, steer, update, now);
            let report = report(steered);
            let mut batch = self.report_batch(&self.job(), &report, now)?;
            for transition in transitions {
                let dependents = if transition.ended() {
                    self.host.store.dependents(transition.job.id).await?
                } else {
                    Vec::new()
                };
                batch.transition(transition, &self.run, &dependents);
            }
            if let (Steer::Tell(text), Steered::Done) = (steer, steered) {
                batch.mail.push(Mail {
                    id: update,
                    job: target,
                    text: text.clone(),
                    data: None,
                    mode: UpdateMode::Enqueue,
                    at: now,
                });
            }
            if self.try_write(batch, &mut patience).await? == Written::Yes {
                self.control.applied(&report.applied);
                return Ok(steered);
            }
        }
    }

    /// The job, and before a stop all that it handed out.
    async fn tree(&self, root: JobId, steer: &Steer) -> Result<Vec<Job>, AttemptError> {
        let Some(root) = self.look_at(root).await? else {
            return Err(AttemptError::Refused {
                code: "unknown_job",
                message: format!("{root} is not a job of this run"),
            });
        };
        let mut found = vec![root];
        let mut next = 0;
        while *steer == Steer::Stop && next < found.len() {
            let mut query = JobQuery {
                run: Some(self.run.id),
                parent: Some(found[next].id),
                limit: PAGE,
                ..JobQuery::default()
            };
            loop {
                let page = self.host.store.jobs(&query).await?;
                query.after = page.items.last().map(|job| job.id);
                found.extend(page.items);
                if !page.more {
                    break;
                }
            }
            next += 1;
        }
        Ok(found)
    }
}

/// What becomes of the jobs; the first one is the one that is meant.
fn decide(tree: &[Job], steer: &Steer, update: UpdateId, now: Timestamp) -> (Steered, Vec<Transition>) {
    let command = match steer {
        Steer::Tell(_) => Command::Update {
            id: update,
            mode: UpdateMode::Enqueue,
        },
        Steer::Stop => Command::Cancel {
            by: "parent".to_owned(),
            reason: String::new(),
        },
    };
    let decided: Vec<Option<Transition>> = tree.iter().map(|job| apply(job, &command, now).ok()).collect();
    let steered = match (tree.first(), decided.first()) {
        (Some(job), Some(None)) => Steered::Ended(job.state()),
        (_, Some(Some(_)) | None) | (None, _) => Steered::Done,
    };
    (steered, decided.into_iter().flatten().collect())
}
