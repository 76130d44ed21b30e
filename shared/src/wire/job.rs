//! A job, for programs.

use serde::{Deserialize, Serialize};

use super::Troubles;
use crate::budget::Usage;
use crate::dag::{Condition, Edge, EdgeKind};
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{
    BlockedOn, CancelRequest, Delay, Job, JobError, JobResult, JobState, Outcome, Phase, Progress, Times, Todo,
};
use crate::time::Timestamp;

/// A dependency of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependsOn {
    /// The job that is waited for.
    pub job: JobId,
    /// Its name.
    pub name: String,
    /// The outcome that is needed.
    pub on: Condition,
}

/// A job as it stands at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// Its run.
    pub run: RunId,
    /// Its name, unique in the run.
    pub name: String,
    /// The agent that does it.
    pub agent: String,
    /// Where it stands.
    pub state: JobState,
    /// What it waits for, while it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_on: Option<BlockedOn>,
    /// When it starts or is tried again, while it is scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at_ms: Option<Timestamp>,
    /// Why it is scheduled for later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// What it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<DependsOn>,
    /// The job that handed it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<JobId>,
    /// The queue it is claimed from.
    pub queue: String,
    /// Higher is claimed first.
    pub priority: i32,
    /// Grows with each retry by a person.
    pub generation: u32,
    /// Executions so far.
    pub attempts: u32,
    /// Failed attempts of this generation.
    pub failures: u32,
    /// Leases lost since its last progress.
    pub losses: u32,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// That it was asked to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_requested: Option<CancelRequest>,
    /// Updates that it has not read.
    pub updates_waiting: u32,
    /// How far it is.
    pub progress: Progress,
    /// The agent's own list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Todo>,
    /// What it has spent.
    pub usage: Usage,
    /// What went wrong on the way; absent where its journal was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub troubles: Option<Troubles>,
    /// Where its time went, the current wait or work included.
    pub times: Times,
    /// When it was submitted.
    pub created_at_ms: Timestamp,
    /// When its first attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<Timestamp>,
    /// What a succeeded job found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<JobResult>,
    /// Why a failed job failed, or what the last attempt of an open one met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<JobError>,
    /// Who cancelled a cancelled job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// The failed job because of which a blocked one waits for a person, who retries that or cancels this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_because_of: Option<JobId>,
    /// The job because of which a skipped job never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_because_of: Option<JobId>,
}

impl JobView {
    /// The view of `job` at `now`.
    ///
    /// Of `edges` only those count in which the job is the child; `name_of` knows the jobs of its run.
    #[must_use]
    pub fn new<'a>(job: &Job, edges: &[Edge], name_of: &dyn Fn(JobId) -> Option<&'a str>, now: Timestamp) -> Self {
        let depends_on = edges
            .iter()
            .filter(|edge| edge.child == job.id && edge.kind == EdgeKind::Dependency)
            .map(|edge| DependsOn {
                job: edge.parent,
                name: name_of(edge.parent).unwrap_or_default().to_owned(),
                on: edge.condition,
            });
        let mut view = Self {
            id: job.id,
            run: job.run,
            name: job.spec.name.clone(),
            agent: job.spec.agent.clone(),
            state: job.state(),
            blocked_on: None,
            next_attempt_at_ms: None,
            delay: None,
            depends_on: depends_on.collect(),
            parent: job.spec.parent,
            queue: job.spec.queue.clone(),
            priority: job.spec.priority,
            generation: job.generation,
            attempts: job.attempt,
            failures: job.failures,
            losses: job.losses,
            worker: None,
            cancel_requested: job.cancel.clone(),
            updates_waiting: job.mail_waiting(),
            progress: job.progress.clone(),
            todos: job.todos.clone(),
            usage: job.usage,
            troubles: None,
            times: times_until(job, now),
            created_at_ms: job.created_at,
            started_at_ms: job.started_at,
            ended_at_ms: None,
            result: None,
            error: job.last_error.clone(),
            cancelled_by: None,
            cancel_reason: None,
            held_because_of: None,
            skipped_because_of: None,
        };
        view.add_phase(&job.phase);
        view
    }

    fn add_phase(&mut self, phase: &Phase) {
        match phase {
            Phase::Blocked { on, .. } => self.blocked_on = Some(*on),
            Phase::Scheduled { due, reason, .. } => {
                self.next_attempt_at_ms = Some(*due);
                self.delay = Some(*reason);
            }
            Phase::Queued { .. } => {}
            Phase::Running { lease } => self.worker = Some(lease.worker),
            Phase::Ended { outcome, at } => {
                self.ended_at_ms = Some(*at);
                self.add_outcome(outcome);
            }
        }
    }

    fn add_outcome(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Succeeded { result } => {
                self.result = Some(result.clone());
                self.error = None;
            }
            Outcome::Failed { error } => self.error = Some(error.clone()),
            Outcome::Cancelled { by, reason } => {
                self.cancelled_by = Some(by.clone());
                self.cancel_reason = (!reason.is_empty()).then(|| reason.clone());
            }
            Outcome::Skipped { cause } => self.skipped_because_of = Some(*cause),
        }
    }

    /// The time from its submit to its end, or to `now`.
    #[must_use]
    pub fn wall_ms(&self, now: Timestamp) -> u64 {
        self.ended_at_ms.unwrap_or(now).since_ms(self.created_at_ms)
    }
}

/// The job's times with the state that it is in counted until `now`.
fn times_until(job: &Job, now: Timestamp) -> Times {
    let current = now.since_ms(job.phase.since());
    let mut times = job.times;
    match job.state() {
        JobState::Blocked => times.blocked_ms += current,
        JobState::Scheduled => times.scheduled_ms += current,
        JobState::Queued => times.queued_ms += current,
        JobState::Running => times.running_ms += current,
        JobState::Succeeded | JobState::Failed | JobState::Cancelled | JobState::Skipped => {}
    }
    times
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::budget::JobLimits;
    use crate::job::JobSpec;

    fn job(phase: Phase) -> Job {
        let spec = JobSpec {
            name: "writer".into(),
            agent: "writer".into(),
            ad_hoc: None,
            description: "write".into(),
            context: None,
            queue: "default".into(),
            priority: 0,
            start_at: None,
            parent: None,
            depth: 0,
            call: None,
            key: None,
            limits: JobLimits::default(),
        };
        let (id, run) = (JobId::new(Timestamp(1), 1), RunId::new(Timestamp(1), 2));
        Job::new(id, run, Arc::new(spec), phase, Timestamp(100))
    }

    #[test]
    fn the_current_wait_counts_until_now() {
        let mut waiting = job(Phase::Queued { since: Timestamp(400) });
        waiting.times.blocked_ms = 300;
        let view = JobView::new(&waiting, &[], &|_| None, Timestamp(1_000));
        let expected = Times {
            blocked_ms: 300,
            queued_ms: 600,
            ..Times::default()
        };
        assert_eq!((view.times, view.wall_ms(Timestamp(1_000))), (expected, 900));
    }

    #[test]
    fn the_last_error_of_a_job_that_succeeded_is_history() {
        let outcome = Outcome::Succeeded {
            result: JobResult::default(),
        };
        let mut done = job(Phase::Ended {
            outcome,
            at: Timestamp(700),
        });
        done.last_error = Some(JobError::retryable("overloaded", "busy"));
        let view = JobView::new(&done, &[], &|_| None, Timestamp(1_000));
        assert_eq!(
            (view.error, view.result, view.ended_at_ms),
            (None, Some(JobResult::default()), Some(Timestamp(700)))
        );
    }

    #[test]
    fn dependencies_carry_names_and_conditions() {
        let child = job(Phase::Queued { since: Timestamp(1) });
        let parent = JobId::nth(Timestamp(1), 9, 1);
        let edge = |kind, child| Edge {
            parent,
            child,
            condition: Condition::Failure,
            kind,
        };
        let edges = [
            edge(EdgeKind::Dependency, child.id),
            edge(EdgeKind::Await, child.id),
            edge(EdgeKind::Dependency, parent),
        ];
        let view = JobView::new(&child, &edges, &|id| (id == parent).then_some("reader"), Timestamp(1));
        let expected = DependsOn {
            job: parent,
            name: "reader".into(),
            on: Condition::Failure,
        };
        assert_eq!(view.depends_on, [expected]);
    }
}
