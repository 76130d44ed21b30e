//! Accepting work: a new run, or more jobs for one there is.

use legwork_shared::batch::KeyClaim;
use legwork_shared::clock;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::Job;
use legwork_shared::plan::Plan;
use legwork_shared::store::{Commit, JobQuery, StoreError};
use legwork_shared::submit::{Agents, extend_run, fingerprint, new_run};

use super::{Coordinator, PAGE, Submitted};

/// How often an addition is decided again when the run was changed at the same moment.
const ROUNDS_MAX: usize = 32;

impl Coordinator {
    /// Accepts `plan` as a new run. Once it returns, the run survives a crash of every process.
    ///
    /// With an idempotency key, the same plan gives the same run, however often it is sent.
    ///
    /// # Errors
    /// The first [`Fault`] found; nothing was stored.
    pub async fn submit(&self, plan: &Plan, agents: &dyn AgentsSync) -> Result<Submitted, Fault> {
        let now = self.store.now();
        let mut submission = new_run(plan, agents.as_agents(), &self.tenant, now, clock::entropy())?;
        submission.batch.key = plan.idempotency_key.as_ref().map(|key| KeyClaim {
            tenant: self.tenant.clone(),
            key: key.clone(),
            fingerprint: fingerprint(plan),
            run: submission.run,
            job: None,
        });
        match self.store.commit(submission.batch).await? {
            Commit::Done => Ok(Submitted {
                run: submission.run,
                jobs: submission.jobs,
                replayed: false,
            }),
            Commit::Replayed(claim) => {
                let jobs = self.planned_jobs(claim.run).await?;
                let jobs = jobs.into_iter().map(|job| (job.spec.name.clone(), job.id)).collect();
                Ok(Submitted {
                    run: claim.run,
                    jobs,
                    replayed: true,
                })
            }
        }
    }

    /// Adds the jobs of `plan` to a run, finished or not. They may depend on jobs that are there.
    ///
    /// # Errors
    /// The first [`Fault`] found; nothing was stored.
    pub async fn add(&self, run: RunId, plan: &Plan, agents: &dyn AgentsSync) -> Result<Submitted, Fault> {
        for _ in 0..ROUNDS_MAX {
            let view = self.store.run(run).await?.filter(|view| view.run.tenant == self.tenant);
            let view = view.ok_or_else(|| super::find::unknown(&run.to_string()))?;
            let existing = self.planned_jobs(run).await?;
            let (now, entropy) = (self.store.now(), clock::entropy());
            let submission = extend_run(plan, agents.as_agents(), &view.run, &existing, now, entropy)?;
            let replayed = submission.batch.insert.is_empty();
            if replayed {
                return Ok(Submitted {
                    run,
                    jobs: submission.jobs,
                    replayed,
                });
            }
            match self.store.commit(submission.batch).await {
                Ok(_) => {
                    return Ok(Submitted {
                        run,
                        jobs: submission.jobs,
                        replayed,
                    });
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Fault::new(
            Code::StoreBusy,
            format!("{run} is being changed all the time"),
            "try again in a moment",
        ))
    }

    /// The jobs of the run's plan, without those that its agents handed out.
    async fn planned_jobs(&self, run: RunId) -> Result<Vec<Job>, StoreError> {
        let mut jobs = Vec::new();
        let mut after: Option<JobId> = None;
        loop {
            let query = JobQuery {
                run: Some(run),
                after,
                limit: PAGE,
                ..JobQuery::default()
            };
            let page = self.store.jobs(&query).await?;
            after = page.items.last().map(|job| job.id);
            jobs.extend(page.items.into_iter().filter(|job| job.spec.parent.is_none()));
            if !page.more {
                return Ok(jobs);
            }
        }
    }
}

/// Agents that may be looked at while a future waits.
pub trait AgentsSync: Agents + Send + Sync {
    /// As plain [`Agents`].
    fn as_agents(&self) -> &dyn Agents;
}

impl<T: Agents + Send + Sync> AgentsSync for T {
    fn as_agents(&self) -> &dyn Agents {
        self
    }
}
