//! Retry by a person: a new generation of a job, and of what its failure had skipped.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use legwork_shared::batch::Batch;
use legwork_shared::dag::{Edge, EdgeKind, Readiness, Standing, readiness, standing};
use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::JobId;
use legwork_shared::job::{self, BlockedOn, Command, Job, JobState, Outcome, Phase};
use legwork_shared::store::StoreError;

use super::Coordinator;
use super::control::explain;
use super::sight::Sight;
use crate::change::ChangeError;

/// How often the decision is taken again when a job was changed at the same moment.
const ROUNDS_MAX: usize = 32;

impl Coordinator {
    /// Runs a failed, cancelled or skipped job again, and brings back what its failure had skipped. Succeeded jobs keep
    /// their results. Returns all jobs that are open again, the named one first.
    ///
    /// # Errors
    /// [`Code::WrongState`] if the job has not ended, has succeeded, or needs a parent that did not end as needed.
    pub async fn retry(&self, job: JobId, by: &str) -> Result<Vec<JobId>, Fault> {
        for _ in 0..ROUNDS_MAX {
            let batch = self.revive(job, by).await?;
            let revived = batch.put.iter().map(|job| job.id).collect();
            match self.store.commit(batch).await {
                Ok(_) => return Ok(revived),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Fault::new(
            Code::StoreBusy,
            format!("{job} is being changed all the time"),
            "try again in a moment",
        ))
    }

    /// The batch that opens `root` and its skipped descendants again.
    async fn revive(&self, root: JobId, by: &str) -> Result<Batch, Fault> {
        let store = self.store.as_ref();
        let mut sight = Sight::of(store);
        let job = sight
            .job(root)
            .await?
            .ok_or_else(|| super::find::unknown(&root.to_string()))?;
        let view = store
            .run(job.run)
            .await?
            .ok_or_else(|| super::find::unknown(&job.run.to_string()))?;
        let mut batch = Batch::at(store.now());
        let mut revived: BTreeSet<JobId> = BTreeSet::new();
        let mut parents: Vec<(Edge, Job)> = Vec::new();
        let mut unchanged: BTreeMap<JobId, u64> = BTreeMap::new();
        let mut open: VecDeque<Job> = VecDeque::from([job]);
        while let Some(job) = open.pop_front() {
            if revived.contains(&job.id) {
                continue;
            }
            let unmet = match self.standing(&job, &revived, &mut sight, &mut parents).await? {
                Readiness::Ready => false,
                Readiness::Waiting => true,
                Readiness::Never(parent) if job.id == root => {
                    let message = format!("{root} needs {parent}, which did not end as needed");
                    return Err(Fault::new(Code::WrongState, message, format!("retry {parent} first")));
                }
                // Another parent of it failed as well: it stays skipped.
                Readiness::Never(_) => continue,
            };
            let command = Command::Retry {
                by: by.to_owned(),
                unmet,
            };
            let help = "only failed, cancelled and skipped jobs can be retried";
            let transition =
                job::apply(&job, &command, batch.at).map_err(|e| explain(ChangeError::Refused(e), help))?;
            batch.transition(transition, &view.run, &[]);
            revived.insert(job.id);
            for edge in store.dependents(job.id).await? {
                let Some(child) = sight.job(edge.child).await? else {
                    continue;
                };
                match waits(&edge, &child) {
                    Waits::ToBeRevived => {
                        batch.reopen.push(edge);
                        open.push_back(child);
                    }
                    Waits::Now => {
                        batch.reopen.push(edge);
                        unchanged.insert(child.id, child.version);
                    }
                    Waits::NoMore => {}
                }
            }
        }
        batch.reopen.retain(|edge| revived.contains(&edge.parent));
        hold_to(&mut batch, &revived, parents, unchanged);
        Ok(batch)
    }

    /// Whether a job could run if those in `revived` were open again. Notes the `parents` on which the answer rests.
    async fn standing(
        &self,
        job: &Job,
        revived: &BTreeSet<JobId>,
        sight: &mut Sight<'_>,
        parents: &mut Vec<(Edge, Job)>,
    ) -> Result<Readiness, StoreError> {
        let edges = self.store.dependencies(job.id).await?;
        let mut states: BTreeMap<JobId, JobState> = BTreeMap::new();
        for edge in edges.iter().filter(|edge| edge.kind == EdgeKind::Dependency) {
            let state = match sight.job(edge.parent).await? {
                Some(_) if revived.contains(&edge.parent) => JobState::Queued,
                Some(parent) => {
                    let state = parent.state();
                    parents.push((*edge, parent));
                    state
                }
                None => JobState::Failed,
            };
            states.insert(edge.parent, state);
        }
        Ok(readiness(edges.iter().filter_map(|edge| {
            Some((edge.parent, edge.condition, *states.get(&edge.parent)?))
        })))
    }
}

/// Whether a job waits for one that is opened again.
enum Waits {
    /// It was skipped, and may have a chance again.
    ToBeRevived,
    Now,
    /// It has used the outcome that there was, or ended without it.
    NoMore,
}

fn waits(edge: &Edge, child: &Job) -> Waits {
    match (&child.phase, edge.kind) {
        (
            Phase::Ended {
                outcome: Outcome::Skipped { .. },
                ..
            },
            _,
        ) => Waits::ToBeRevived,
        (
            Phase::Blocked {
                on: BlockedOn::Dependencies,
                ..
            },
            EdgeKind::Dependency,
        )
        | (
            Phase::Blocked {
                on: BlockedOn::Children,
                ..
            },
            EdgeKind::Await,
        ) => Waits::Now,
        (
            Phase::Blocked { .. }
            | Phase::Scheduled { .. }
            | Phase::Queued { .. }
            | Phase::Running { .. }
            | Phase::Ended { .. },
            EdgeKind::Dependency | EdgeKind::Await,
        ) => Waits::NoMore,
    }
}

/// Makes the batch valid only while the `parents` and the `unchanged` jobs stand as they were read: otherwise a job might
/// wait for ever, or not at all. Revived jobs wait for parents that are open: an earlier end of those was counted down,
/// and they were opened again before these jobs.
fn hold_to(
    batch: &mut Batch,
    revived: &BTreeSet<JobId>,
    parents: Vec<(Edge, Job)>,
    mut unchanged: BTreeMap<JobId, u64>,
) {
    for (edge, parent) in parents {
        if revived.contains(&parent.id) {
            continue;
        }
        if revived.contains(&edge.child) && standing(edge.condition, parent.state()) == Standing::Open {
            batch.reopen.push(edge);
        }
        if parent.state() != JobState::Succeeded {
            unchanged.insert(parent.id, parent.version);
        }
    }
    batch.touch.extend(unchanged);
}
