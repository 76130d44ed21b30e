//! The same random history on every engine: after each step their answers and all their records are the same.
//!
//! `LEGWORK_DIFFERENTIAL_SEEDS` asks for more histories and `LEGWORK_DIFFERENTIAL_STEPS` for longer ones;
//! `LEGWORK_DIFFERENTIAL_SEED` replays the one of a failure.

mod batches;
mod history;

use std::sync::Arc;

use legwork_shared::batch::Batch;
use legwork_shared::clock::SimClock;
use legwork_shared::id::{RunId, WorkerId};
use legwork_shared::job::LeaseToken;
use legwork_shared::run::{Pausable, Pause};
use legwork_shared::store::memory::MemoryStore;
use legwork_shared::store::{ClaimRequest, Claimed, Commit, Due, Extension, JobQuery, RunQuery, Store, StoreError};
use legwork_shared::time::Timestamp;
use legwork_tests::engine::{Engine, Opened};

use crate::world::snapshot;
use history::{History, Told};

/// Enough for each kind of step to meet each state; some seconds.
const STEPS: u64 = 400;
const SEEDS: u64 = 3;

/// The reference and the engine that has to agree with it, on one clock.
struct Pair {
    reference: Arc<dyn Store>,
    engine: Arc<dyn Store>,
    clock: Arc<SimClock>,
    /// What the engine stands on, which ends with the pair.
    ground: Opened,
}

impl Pair {
    async fn with(engine: Engine) -> Self {
        Self::on(Opened::on(engine).await.unwrap())
    }

    fn on(ground: Opened) -> Self {
        Self {
            reference: Arc::new(MemoryStore::new(ground.clock.clone())),
            engine: ground.store.clone(),
            clock: ground.clock.clone(),
            ground,
        }
    }

    /// The next pair on the same ground, as empty as the first.
    async fn another(mut self, name: &str) -> Self {
        self.ground.another(name).await.unwrap();
        Self::on(self.ground)
    }

    fn now(&self) -> Timestamp {
        self.reference.now()
    }

    async fn commit(&self, batch: Batch) -> Result<Commit, StoreError> {
        let answer = self.reference.commit(batch.clone()).await;
        assert_eq!(self.engine.commit(batch).await, answer);
        answer
    }

    async fn claim(&self, request: &ClaimRequest) -> Vec<Claimed> {
        let answer = self.reference.claim(request).await;
        assert_eq!(self.engine.claim(request).await, answer);
        answer.unwrap()
    }

    async fn extend(&self, tokens: &[LeaseToken], until: Timestamp) -> Vec<Extension> {
        let answer = self.reference.extend(tokens, until).await;
        assert_eq!(self.engine.extend(tokens, until).await, answer);
        answer.unwrap()
    }

    async fn lead(&self, who: WorkerId, until: Timestamp) {
        let answer = self.reference.lead(who, until).await;
        assert_eq!(self.engine.lead(who, until).await, answer);
        assert_eq!(self.engine.leader().await, self.reference.leader().await);
    }

    async fn pause(&self, pause: &Pause) {
        let answer = self.reference.pause(pause).await;
        assert_eq!(self.engine.pause(pause).await, answer);
        assert_eq!(self.engine.pauses().await, self.reference.pauses().await);
    }

    async fn resume(&self, of: &Pausable) {
        let answer = self.reference.resume(of, "another").await;
        assert_eq!(self.engine.resume(of, "another").await, answer);
        assert_eq!(self.engine.pauses().await, self.reference.pauses().await);
    }

    async fn prune(&self, run: RunId, last: u64) -> Result<(), StoreError> {
        let answer = self.reference.prune(run, last).await;
        assert_eq!(self.engine.prune(run, last).await, answer);
        answer
    }

    /// What maintenance has to look at, in the order of ids: an engine may begin with the longest overdue.
    async fn due(&self) -> Due {
        let mut found = Vec::new();
        for store in [&self.reference, &self.engine] {
            let mut due = store.due(self.now(), usize::MAX - 1).await.unwrap();
            for list in [&mut due.scheduled, &mut due.expired, &mut due.overdue] {
                list.sort_unstable_by_key(|job| job.id);
            }
            found.push(due);
        }
        assert_eq!(found[1], found[0]);
        found.remove(0)
    }

    /// Compares all that is kept of a run, and what concerns all runs.
    async fn compare(&self, runs: &[RunId], workers: &[WorkerId]) {
        for run in runs {
            let expected = snapshot(&*self.reference, *run).await;
            assert_eq!(snapshot(&*self.engine, *run).await, expected);
            let newest = self.reference.last_event(*run).await;
            assert_eq!(self.engine.last_event(*run).await, newest);
            for job in expected.jobs {
                let dependents = self.reference.dependents(job.id).await;
                assert_eq!(self.engine.dependents(job.id).await, dependents);
                let dependencies = self.reference.dependencies(job.id).await;
                assert_eq!(self.engine.dependencies(job.id).await, dependencies);
            }
        }
        for worker in workers {
            assert_eq!(self.engine.held(*worker).await, self.reference.held(*worker).await);
        }
        self.due().await;
    }

    /// Compares the lists over all runs.
    async fn compare_lists(&self) {
        for state in legwork_shared::job::JobState::ALL {
            let query = JobQuery {
                states: vec![state],
                limit: 1_000_000,
                ..JobQuery::default()
            };
            assert_eq!(self.engine.jobs(&query).await, self.reference.jobs(&query).await);
        }
        for tenant in [Some("default".to_owned()), None] {
            let query = RunQuery {
                tenant,
                before: None,
                limit: 1_000_000,
            };
            assert_eq!(self.engine.runs(&query).await, self.reference.runs(&query).await);
        }
        assert_eq!(self.engine.workers().await, self.reference.workers().await);
    }
}

fn number_from(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable} should be a number")),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_keeps_the_same_records_as_the_reference() {
    compare_histories(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_keeps_the_same_records_as_the_reference() {
    compare_histories(Engine::Redis).await;
}

async fn compare_histories(engine: Engine) {
    let steps = number_from("LEGWORK_DIFFERENTIAL_STEPS").unwrap_or(STEPS);
    let seeds = match number_from("LEGWORK_DIFFERENTIAL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number_from("LEGWORK_DIFFERENTIAL_SEEDS").unwrap_or(SEEDS),
    };
    let count = seeds.end - seeds.start;
    let (mut pair, mut told) = (Pair::with(engine).await, Told::default());
    for seed in seeds {
        // Shown with a failure, to be replayed.
        eprintln!("LEGWORK_DIFFERENTIAL_SEED={seed} LEGWORK_DIFFERENTIAL_STEPS={steps}");
        pair = pair.another(&format!("seed-{seed}")).await;
        let mut history = History::of(pair, seed);
        for _ in 0..steps {
            history.step().await;
        }
        let of_this: Told;
        (pair, of_this) = history.end().await;
        told.add(&of_this);
    }
    told.must_be_rich();
    println!(
        "{} commands in {count} histories on {engine:?}: {told:?}",
        count * steps
    );
}
