//! A run with a job in every state, for tests of what is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use legwork_shared::budget::{Counter, JobLimits, RunLimits, Usage};
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{
    BlockedOn, Delay, FailReason, Job, JobError, JobResult, JobSpec, Lease, LeaseToken, Outcome, Phase, Progress, Todo,
    TodoStatus,
};
use legwork_shared::run::{OnFailure, Run, RunState, RunView};
use legwork_shared::time::Timestamp;
use legwork_shared::wire::{JobView, RunStatus, RunSummary};

/// When the run was submitted.
pub const START: Timestamp = Timestamp(1_796_068_212_000);
/// The moment of the samples: 72 seconds later.
pub const NOW: Timestamp = Timestamp(1_796_068_284_000);

/// The `n`th job's id.
pub fn id(n: u32) -> JobId {
    JobId::nth(START, n, 7)
}

fn job(n: u32, name: &str, parent: Option<u32>, phase: Phase) -> Job {
    let agent = name.rsplit('/').next().unwrap_or(name).to_owned();
    let spec = JobSpec {
        name: name.into(),
        agent,
        ad_hoc: None,
        description: "What are the pros and cons?".into(),
        context: None,
        queue: "default".into(),
        priority: 0,
        start_at: None,
        parent: parent.map(id),
        depth: u32::from(parent.is_some()),
        call: None,
        key: None,
        limits: JobLimits::default(),
    };
    Job::new(id(n), RunId::new(START, 7), Arc::new(spec), phase, START)
}

fn ended(outcome: Outcome) -> Phase {
    Phase::Ended {
        outcome,
        at: START + 40_000,
    }
}

/// Since when the open jobs are in their states.
const SINCE: Timestamp = Timestamp(START.0 + 42_000);

fn jobs() -> Vec<Job> {
    let blocked = |on| Phase::Blocked { on, since: SINCE };
    let mut coordinator = job(0, "coordinator", None, blocked(BlockedOn::Children));
    coordinator.attempt = 1;
    let error = JobError::fatal(FailReason::Timeout, "timeout", "it ran longer than 30 s\x1b[2J");
    let by = Outcome::Cancelled {
        by: "command line".into(),
        reason: "not needed".into(),
    };
    vec![
        coordinator,
        succeeded(),
        running(),
        scheduled(),
        job(4, "next", None, Phase::Queued { since: SINCE }),
        job(5, "writer", None, blocked(BlockedOn::Dependencies)),
        job(6, "broken", None, ended(Outcome::Failed { error })),
        job(7, "dropped", None, ended(by)),
        job(8, "follower", None, ended(Outcome::Skipped { cause: id(6) })),
    ]
}

fn succeeded() -> Job {
    let result = JobResult {
        text: "Found it.".into(),
        ..JobResult::default()
    };
    let mut reader = job(1, "coordinator/reader", Some(0), ended(Outcome::Succeeded { result }));
    reader.attempt = 2;
    reader.times.running_ms = 34_000;
    reader.usage = Usage {
        input_tokens: 7_000,
        output_tokens: 1_100,
        cost_micro_usd: 41_000,
        model_calls: 3,
        tool_calls: 9,
    };
    reader
}

fn running() -> Job {
    let token = LeaseToken {
        job: id(2),
        attempt: 1,
        secret: 1,
    };
    let lease = Lease {
        token,
        worker: WorkerId::new(START, 1),
        since: SINCE,
        until: NOW,
    };
    let mut critic = job(2, "coordinator/critic", Some(0), Phase::Running { lease });
    critic.attempt = 1;
    critic.mail_sent = 1;
    critic.progress = Progress {
        step: 3,
        last_tool: Some("read_file".into()),
        note: None,
    };
    critic.usage.input_tokens = 1_234;
    let todo = |content: &str, status, active_form: Option<&str>| Todo {
        content: content.into(),
        status,
        active_form: active_form.map(str::to_owned),
    };
    critic.todos = vec![
        todo("List", TodoStatus::Completed, None),
        todo("Weigh", TodoStatus::InProgress, Some("Weighing")),
    ];
    critic
}

fn scheduled() -> Job {
    let phase = Phase::Scheduled {
        due: NOW + 12_000,
        reason: Delay::Retry,
        since: SINCE,
    };
    let mut late = job(3, "late", None, phase);
    late.last_error = Some(JobError::retryable("overloaded", "the provider is overloaded"));
    late
}

/// The run with its jobs as stored.
pub fn records() -> (RunView, Vec<Job>, Vec<Edge>) {
    let run = Run {
        id: RunId::new(START, 7),
        tenant: "default".into(),
        version: 1,
        title: "What are the pros and cons?".into(),
        agents: BTreeMap::new(),
        limits: RunLimits {
            tokens: Some(200_000),
            ..RunLimits::default()
        },
        model: Some("openai:a-model".into()),
        sources: vec!["/data/papers".into()],
        on_failure: OnFailure::Skip,
        results: vec![id(5)],
        created_at: START,
    };
    let counters = [
        (Counter::Open, 5),
        (Counter::Jobs, 9),
        (Counter::InputTokens, 8_234),
        (Counter::OutputTokens, 1_100),
        (Counter::Cost, 41_000),
        (Counter::ToolCalls, 9),
    ];
    let view = RunView {
        run: Arc::new(run),
        state: RunState::Active,
        counters: counters.into(),
    };
    let edge = |parent, child, condition| Edge {
        parent: id(parent),
        child: id(child),
        condition,
        kind: EdgeKind::Dependency,
    };
    let edges = vec![
        edge(0, 5, Condition::Success),
        edge(4, 5, Condition::Finished),
        edge(6, 8, Condition::Success),
    ];
    (view, jobs(), edges)
}

/// The run as it is shown.
pub fn status() -> RunStatus {
    let (view, jobs, edges) = records();
    let names: BTreeMap<JobId, &str> = jobs.iter().map(|job| (job.id, job.spec.name.as_str())).collect();
    let name_of = |id: JobId| names.get(&id).copied();
    let views = jobs
        .iter()
        .map(|job| JobView::new(job, &edges, &name_of, NOW))
        .collect();
    RunStatus::new(RunSummary::from(&view), views, NOW)
}
