//! What the tests of attempts, runners and the pump share: a store in memory, a clock that is moved, and runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use legwork_shared::agent::{AgentSpec, RunnerSpec};
use legwork_shared::batch::Batch;
use legwork_shared::budget::{JobLimits, RunLimits};
use legwork_shared::clock::{SimClock, entropy};
use legwork_shared::id::{JobId, RunId, UpdateId, WorkerId};
use legwork_shared::job::{Command, Job, JobResult, JobState, Mail, UpdateMode, Verdict, apply};
use legwork_shared::plan::{Need, Plan, PlannedJob};
use legwork_shared::store::memory::MemoryStore;
use legwork_shared::store::{ClaimRequest, Store};
use legwork_shared::submit::{DEFAULT_QUEUE, new_run};
use legwork_shared::time::Timestamp;

use crate::attempt::{Attempt, Host};
use crate::runner::{Runner, Runners};
use crate::workspace::Artifacts;
use crate::{Worker, WorkerBuilder};

/// The name of the agent and of the runner of all jobs in tests.
pub const TEST: &str = "test";
/// A test that waits this long for an event has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A store with all that a worker needs.
pub struct Bench {
    pub store: Arc<MemoryStore>,
    pub clock: Arc<SimClock>,
    pub host: Arc<Host>,
    _folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let clock = Arc::new(SimClock::at(Timestamp(1_700_000_000_000)));
        let store = Arc::new(MemoryStore::new(Arc::<SimClock>::clone(&clock)));
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(folder.path().join("artifacts")).unwrap();
        let host = Arc::new(Host::new(Arc::<MemoryStore>::clone(&store), artifacts));
        Self {
            store,
            clock,
            host,
            _folder: folder,
        }
    }

    /// A worker whose only runner is `runner`.
    pub fn worker(&self, runner: impl Runner) -> WorkerBuilder {
        Worker::builder(Arc::<MemoryStore>::clone(&self.store), self.host.artifacts.clone())
            .runners(Runners::new().with(TEST, runner))
    }

    /// Submits a plan.
    pub async fn submit(&self, plan: &Plan) -> RunId {
        let submission = new_run(plan, &BTreeMap::new(), "default", self.store.now(), entropy()).unwrap();
        self.store.commit(submission.batch).await.unwrap();
        submission.run
    }

    /// The job of that name.
    pub async fn job(&self, name: &str) -> Job {
        let query = legwork_shared::store::JobQuery {
            name: Some(name.to_owned()),
            limit: 1,
            ..Default::default()
        };
        self.store.jobs(&query).await.unwrap().items.pop().unwrap()
    }

    /// Waits until the job of that name is in `state`.
    pub async fn until(&self, name: &str, state: JobState) -> Job {
        let mut changes = self.store.changes();
        let reached = async {
            loop {
                changes.mark_unchanged();
                let job = self.job(name).await;
                if job.state() == state {
                    return job;
                }
                changes.changed().await.unwrap();
            }
        };
        let reached = tokio::time::timeout(PATIENCE, reached).await;
        reached.unwrap_or_else(|_| panic!("{name} did not become {state}"))
    }

    /// Claims the next job under a lease of its own.
    pub async fn claim(&self) -> Attempt {
        let request = ClaimRequest {
            worker: WorkerId::new(self.store.now(), entropy()),
            queues: vec![DEFAULT_QUEUE.to_owned()],
            slots: 1,
            lease_ms: self.host.lease_ms,
            entropy: 7,
        };
        let claimed = self.store.claim(&request).await.unwrap().pop().unwrap();
        Attempt::new(&self.host, claimed).unwrap()
    }

    /// Applies a command as somebody outside would.
    pub async fn command(&self, id: JobId, command: &Command) -> Job {
        self.command_with(id, command, |_| {}).await
    }

    /// Sends an update.
    pub async fn update(&self, id: JobId, mode: UpdateMode) -> UpdateId {
        let update = UpdateId::new(self.store.now(), entropy());
        let mail = Mail {
            id: update,
            job: id,
            text: "look at 2026 too".to_owned(),
            data: None,
            mode,
            at: self.store.now(),
        };
        let command = Command::Update { id: update, mode };
        self.command_with(id, &command, |batch| batch.mail.push(mail.clone()))
            .await;
        update
    }

    async fn command_with(&self, id: JobId, command: &Command, extra: impl Fn(&mut Batch)) -> Job {
        let job = self.store.job(id).await.unwrap().unwrap();
        let run = self.store.run(job.run).await.unwrap().unwrap().run;
        let dependents = self.store.dependents(id).await.unwrap();
        let mut batch = Batch::at(self.store.now());
        let transition = apply(&job, command, self.store.now()).unwrap();
        let next = transition.job.clone();
        batch.transition(transition, &run, &dependents);
        extra(&mut batch);
        self.store.commit(batch).await.unwrap();
        next
    }
}

/// A command that asks a job to stop.
pub fn cancel() -> Command {
    Command::Cancel {
        by: "test".to_owned(),
        reason: String::new(),
    }
}

/// A plan of jobs, each with the names of those it depends on.
pub fn plan(jobs: &[(&str, &[&str])]) -> Plan {
    let job = |(name, needs): &(&str, &[&str])| PlannedJob {
        id: (*name).to_owned(),
        agent: Some(TEST.to_owned()),
        description: format!("do {name}"),
        depends_on: needs.iter().map(|need| Need::Name((*need).to_owned())).collect(),
        ..PlannedJob::default()
    };
    let agent = AgentSpec {
        runner: RunnerSpec::Custom { name: TEST.to_owned() },
        ..AgentSpec::default()
    };
    Plan {
        agents: BTreeMap::from([(TEST.to_owned(), agent)]),
        jobs: jobs.iter().map(job).collect(),
        ..Plan::default()
    }
}

/// A plan of one job named `job`, with limits.
pub fn limited(limits: JobLimits, run: RunLimits) -> Plan {
    let mut plan = plan(&[("job", &[])]);
    plan.jobs[0].limits = limits;
    plan.limits = run;
    plan
}

/// A success with that text.
pub fn success(text: &str) -> Verdict {
    Verdict::Succeeded(JobResult {
        text: text.to_owned(),
        ..JobResult::default()
    })
}

/// A runner made of a function.
pub fn runner<F>(run: F) -> impl Runner
where
    F: for<'a> Fn(&'a Attempt) -> BoxFuture<'a, Verdict> + Send + Sync + 'static,
{
    struct Function<F>(F);

    #[async_trait]
    impl<F> Runner for Function<F>
    where
        F: for<'a> Fn(&'a Attempt) -> BoxFuture<'a, Verdict> + Send + Sync + 'static,
    {
        async fn run(&self, attempt: &Attempt) -> Verdict {
            (self.0)(attempt).await
        }
    }

    Function(run)
}
