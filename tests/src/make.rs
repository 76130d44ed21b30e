//! Short ways to make runs and jobs and to move them, for tests and programs that work on a store.

use std::collections::BTreeMap;
use std::sync::Arc;

use legwork_shared::agent::AgentSpec;
use legwork_shared::batch::{Batch, NewEvent, RunCharge};
use legwork_shared::budget::{Counter, JobLimits, RunLimits};
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{
    self, BlockedOn, Charge, Command, EventKind, Job, JobResult, JobSpec, LeaseToken, Phase, Refusal, Verdict,
};
use legwork_shared::run::{DEFAULT_TENANT, OnFailure, Run};
use legwork_shared::store::Claimed;
use legwork_shared::time::Timestamp;

/// A run without limits, of one agent.
#[must_use]
pub fn run(id: RunId, now: Timestamp) -> Run {
    let agent = AgentSpec {
        name: "writer".to_owned(),
        prompt: "Write.".to_owned(),
        ..AgentSpec::default()
    };
    Run {
        id,
        tenant: DEFAULT_TENANT.to_owned(),
        version: 1,
        title: "a run".to_owned(),
        agents: BTreeMap::from([("writer".to_owned(), Arc::new(agent))]),
        limits: RunLimits::default(),
        model: None,
        sources: Vec::new(),
        on_failure: OnFailure::Skip,
        results: Vec::new(),
        created_at: now,
    }
}

/// What a job of that name is asked to do, to be changed at will.
#[must_use]
pub fn spec(name: &str) -> JobSpec {
    JobSpec {
        name: name.to_owned(),
        agent: "writer".to_owned(),
        ad_hoc: None,
        description: format!("Do {name}."),
        context: None,
        queue: "default".to_owned(),
        priority: 0,
        start_at: None,
        parent: None,
        depth: 0,
        call: None,
        key: None,
        limits: JobLimits::default(),
    }
}

/// A job that may be claimed.
#[must_use]
pub fn queued(id: JobId, run: &Run, spec: JobSpec, now: Timestamp) -> Job {
    Job::new(id, run.id, Arc::new(spec), Phase::Queued { since: now }, now)
}

/// A job that waits for its dependencies.
#[must_use]
pub fn blocked(id: JobId, run: &Run, spec: JobSpec, now: Timestamp) -> Job {
    let (on, since) = (BlockedOn::Dependencies, now);
    Job::new(id, run.id, Arc::new(spec), Phase::Blocked { on, since }, now)
}

/// `child` needs the success of `parent`.
#[must_use]
pub fn needs(child: &Job, parent: &Job) -> Edge {
    Edge {
        parent: parent.id,
        child: child.id,
        condition: Condition::Success,
        kind: EdgeKind::Dependency,
    }
}

/// The batch that submits a run.
#[must_use]
pub fn submission(run: &Run, jobs: &[Job], edges: &[Edge], now: Timestamp) -> Batch {
    let mut batch = Batch::at(now);
    batch.runs.push(run.clone());
    batch.events.push(event(run.id, None, EventKind::Submitted));
    add_jobs(&mut batch, run, jobs, edges);
    batch
}

/// Adds new jobs with their edges, counters and events to a batch.
pub fn add_jobs(batch: &mut Batch, run: &Run, jobs: &[Job], edges: &[Edge]) {
    let count = i64::try_from(jobs.len()).unwrap_or(i64::MAX);
    for counter in [Counter::Open, Counter::Jobs] {
        batch.charges.push(charge(run, counter, count));
    }
    for job in jobs {
        let kind = match &job.phase {
            Phase::Blocked { on, .. } => EventKind::Blocked { on: *on },
            Phase::Scheduled { due, reason, .. } => EventKind::Scheduled {
                due: *due,
                reason: *reason,
            },
            Phase::Queued { .. } | Phase::Running { .. } | Phase::Ended { .. } => EventKind::Queued,
        };
        batch.events.push(event(run.id, Some(job.id), kind));
    }
    batch.insert.extend_from_slice(jobs);
    batch.edges.extend(edges.iter().map(|edge| (*edge, true)));
}

/// A charge on a run; only the number of jobs must fit its bound.
#[must_use]
pub fn charge(run: &Run, counter: Counter, add: i64) -> RunCharge {
    let must_fit = counter == Counter::Jobs;
    RunCharge {
        run: run.id,
        charge: Charge { counter, add, must_fit },
        bound: run.limits.bound(counter),
    }
}

/// An event of a run.
#[must_use]
pub fn event(run: RunId, job: Option<JobId>, kind: EventKind) -> NewEvent {
    NewEvent { run, job, kind }
}

/// A result of that text.
#[must_use]
pub fn result(text: &str) -> JobResult {
    JobResult {
        text: text.to_owned(),
        ..JobResult::default()
    }
}

/// The proof that a claimed job is held.
///
/// # Panics
/// If the job does not run.
#[must_use]
pub fn token(job: &Job) -> LeaseToken {
    job.phase.lease().expect("a claimed job runs").token
}

/// The batch of a command to a claimed job.
///
/// # Errors
/// The command does not apply.
pub fn change(claimed: &Claimed, command: &Command, now: Timestamp) -> Result<Batch, Refusal> {
    let transition = job::apply(&claimed.job, command, now)?;
    let mut batch = Batch::at(now);
    batch.transition(transition, &claimed.run, &claimed.dependents);
    Ok(batch)
}

/// The batch that ends a claimed job with a result.
///
/// # Errors
/// The job does not run any more.
pub fn success(claimed: &Claimed, text: &str, now: Timestamp) -> Result<Batch, Refusal> {
    let (token, verdict) = (token(&claimed.job), Verdict::Succeeded(result(text)));
    change(claimed, &Command::Settle { token, verdict }, now)
}
