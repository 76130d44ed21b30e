//! A world of one process for tests: a reference store, a clock that is moved by hand, and work done by saying so.

use std::collections::BTreeMap;
use std::sync::Arc;

use legwork_shared::agent::AgentSpec;
use legwork_shared::batch::Batch;
use legwork_shared::clock::SimClock;
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{self, BlockedOn, Command, FailReason, Job, JobError, JobResult, JobState, Phase, Verdict};
use legwork_shared::plan;
use legwork_shared::store::memory::MemoryStore;
use legwork_shared::store::{ClaimRequest, Claimed, JobQuery, Store};
use legwork_shared::time::Timestamp;

use crate::coordinator::{Coordinator, Submitted};

/// Where the clock of a world stands at first.
pub const START: Timestamp = Timestamp(1_000_000);

/// One store, its clock and its coordinator.
pub struct World {
    pub clock: Arc<SimClock>,
    pub store: Arc<dyn Store>,
    pub coordinator: Coordinator,
    pub worker: WorkerId,
}

impl World {
    pub fn new() -> Self {
        let clock = Arc::new(SimClock::at(START));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(clock.clone()));
        let coordinator = Coordinator::new(store.clone(), "default");
        Self {
            clock,
            store,
            coordinator,
            worker: WorkerId::new(START, 5),
        }
    }

    /// Submits a plan that is known to be good.
    pub async fn submit(&self, yaml: &str) -> Submitted {
        let plan = plan::parse(yaml, "plan.yaml").expect("a plan");
        self.coordinator.submit(&plan, &agents()).await.expect("accepted")
    }

    /// Takes whatever may run.
    pub async fn claim(&self) -> Vec<Claimed> {
        let queues = vec!["default".to_owned()];
        let request = ClaimRequest {
            worker: self.worker,
            queues,
            slots: 1_000,
            lease_ms: 30_000,
            entropy: 9,
        };
        self.store.claim(&request).await.expect("claimed")
    }

    /// Ends an attempt.
    pub async fn settle(&self, claimed: &Claimed, verdict: Verdict) {
        let job = self.store.job(claimed.job.id).await.expect("read").expect("there");
        let token = job.phase.lease().expect("running").token;
        let mut batch = Batch::at(self.store.now());
        let transition = job::apply(&job, &Command::Settle { token, verdict }, batch.at).expect("applies");
        let dependents = self.store.dependents(job.id).await.expect("read");
        batch.transition(transition, &claimed.run, &dependents);
        self.store.commit(batch).await.expect("committed");
    }

    /// Lets a claimed job hand out a child and sleep until that has ended. Returns the child's name.
    pub async fn sleep_on_a_child(&self, claimed: &Claimed) -> String {
        let now = self.store.now();
        let (token, verdict) = (
            claimed.job.phase.lease().expect("running").token,
            Verdict::Waiting(BlockedOn::Children),
        );
        let transition = job::apply(&claimed.job, &Command::Settle { token, verdict }, now).expect("applies");
        let mut spec = claimed.job.spec.as_ref().clone();
        spec.name.push_str("/child");
        let (name, id) = (spec.name.clone(), JobId::nth(now, 900, 1));
        let phase = Phase::Queued { since: now };
        let mut batch = Batch::at(now);
        batch.transition(transition, &claimed.run, &[]);
        batch
            .insert
            .push(Job::new(id, claimed.job.run, Arc::new(spec), phase, now));
        let edge = Edge {
            parent: id,
            child: claimed.job.id,
            condition: Condition::Finished,
            kind: EdgeKind::Await,
        };
        batch.edges.push((edge, true));
        self.store.commit(batch).await.expect("committed");
        name
    }

    /// Runs everything to its end: a job succeeds unless `fails` says otherwise. Returns the names in order of start.
    pub async fn work(&self, fails: impl Fn(&str) -> bool) -> Vec<String> {
        let mut started = Vec::new();
        loop {
            let claimed = self.claim().await;
            if claimed.is_empty() {
                return started;
            }
            for claimed in claimed {
                let name = claimed.job.spec.name.clone();
                let error = || JobError::fatal(FailReason::Error, "test", "it failed");
                let verdict = if fails(&name) {
                    Verdict::Failed(error())
                } else {
                    Verdict::Succeeded(JobResult {
                        text: format!("result of {name}"),
                        ..JobResult::default()
                    })
                };
                self.settle(&claimed, verdict).await;
                started.push(name);
                crate::maintenance::tracker::settle_all(self.store.as_ref())
                    .await
                    .expect("tracked");
            }
        }
    }

    pub async fn job(&self, run: RunId, name: &str) -> Job {
        let query = JobQuery {
            run: Some(run),
            name: Some(name.to_owned()),
            limit: 1,
            ..JobQuery::default()
        };
        self.store.jobs(&query).await.expect("read").items.remove(0)
    }

    /// The state of each job of a run by name.
    pub async fn states(&self, run: RunId) -> BTreeMap<String, JobState> {
        let query = JobQuery {
            run: Some(run),
            limit: 100_000,
            ..JobQuery::default()
        };
        let jobs = self.store.jobs(&query).await.expect("read").items;
        jobs.iter().map(|job| (job.spec.name.clone(), job.state())).collect()
    }
}

/// A plan in which each of `names` needs the one before.
pub fn chain(length: usize) -> String {
    use std::fmt::Write as _;
    let mut yaml = "jobs:\n".to_owned();
    for n in 0..length {
        let needs = n
            .checked_sub(1)
            .map(|before| format!(", depends_on: [n{before}]"))
            .unwrap_or_default();
        writeln!(yaml, "- {{id: n{n}, description: x{needs}}}").expect("a string");
    }
    yaml
}

/// The id of a job of a submission.
pub fn id_of(submitted: &Submitted, name: &str) -> JobId {
    submitted
        .jobs
        .iter()
        .find(|(known, _)| known == name)
        .expect("submitted")
        .1
}

/// One agent that does anything.
pub fn agents() -> BTreeMap<String, Arc<AgentSpec>> {
    let name = legwork_shared::submit::DEFAULT_AGENT.to_owned();
    BTreeMap::from([(
        name.clone(),
        Arc::new(AgentSpec {
            name,
            ..AgentSpec::default()
        }),
    )])
}
