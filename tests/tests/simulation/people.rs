//! The people of the simulation and what looks after the store: they do what the product does, through its own code.

use std::sync::Arc;

use legwork_orchestrator::coordinator::{Coordinator, Scope, Target};
use legwork_orchestrator::maintenance::timers;
use legwork_shared::batch::Batch;
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Job, UpdateMode};
use legwork_shared::run::Run;
use legwork_shared::store::{JobQuery, Store};
use legwork_shared::time::Timestamp;
use legwork_tests::chance::Chance;
use legwork_tests::make;

use super::faulty::Faulty;
use super::worker::DEPTH_MAX;

const CONDITIONS: [Condition; 4] = [
    Condition::Success,
    Condition::Success,
    Condition::Failure,
    Condition::Finished,
];

/// A run of a few jobs, each of which may need any of those before it.
pub fn submission(number: u32, chance: &mut Chance, now: Timestamp) -> (Run, Batch) {
    let mut run = make::run(RunId::nth(now, number, 7), now);
    run.limits.tokens = chance.once_in(2).then_some(150);
    run.limits.retries = chance.once_in(2).then(|| chance.below(3));
    run.limits.jobs = Some(12);
    run.limits.depth = Some(DEPTH_MAX);
    let (mut jobs, mut edges): (Vec<Job>, Vec<Edge>) = (Vec::new(), Vec::new());
    for place in 0..3 + chance.small(4) {
        let mut spec = make::spec(&format!("job-{place}"));
        spec.limits.attempts = Some(1 + chance.small(3));
        spec.limits.losses = Some(1 + chance.small(3));
        spec.limits.queue_timeout_ms = chance.once_in(6).then_some(120_000);
        spec.start_at = chance.once_in(8).then(|| now + chance.below(90_000));
        spec.priority = i32::try_from(chance.below(2)).unwrap();
        let id = JobId::nth(now, number * 100 + place, 3);
        let before = edges.len();
        for parent in &jobs {
            if chance.once_in(2) {
                edges.push(Edge {
                    parent: parent.id,
                    child: id,
                    condition: *chance.pick(&CONDITIONS).unwrap(),
                    kind: EdgeKind::Dependency,
                });
            }
        }
        let is_free = edges.len() == before && spec.start_at.is_none();
        let make = if is_free { make::queued } else { make::blocked };
        jobs.push(make(id, &run, spec, now));
    }
    run.results = jobs.last().map(|job| job.id).into_iter().collect();
    let batch = make::submission(&run, &jobs, &edges, now);
    (run, batch)
}

/// A person cancels, retries or tells something.
pub async fn meddle(store: Arc<Faulty>, runs: Vec<RunId>) {
    let fate = store.fate.clone();
    let below = |end| usize::try_from(fate.below(end as u64)).unwrap();
    let run = runs[below(runs.len())];
    let query = JobQuery {
        run: Some(run),
        limit: usize::MAX - 1,
        ..JobQuery::default()
    };
    let Ok(page) = store.jobs(&query).await else { return };
    let coordinator = Coordinator::new(store, "default");
    let job = &page.items[below(page.items.len())];
    // Whatever the answer is: a refusal is one, and so is a store that is away.
    match below(10) {
        0 => {
            let _ = coordinator.cancel(Target::Run(run), Scope::Tree, "a person", "").await;
        }
        1 | 2 => {
            let scope = if below(2) == 0 { Scope::Job } else { Scope::Tree };
            let _ = coordinator.cancel(Target::Job(job.id), scope, "a person", "").await;
        }
        3..=6 => {
            let ended: Vec<&Job> = page.items.iter().filter(|job| job.state().is_terminal()).collect();
            if !ended.is_empty() {
                let _ = coordinator.retry(ended[below(ended.len())].id, "a person").await;
            }
        }
        7 => {
            let _ = coordinator
                .update(job.id, "stop that", None, UpdateMode::Interrupt)
                .await;
        }
        _ => {
            let _ = coordinator
                .update(job.id, "and be quick", None, UpdateMode::Enqueue)
                .await;
        }
    }
}

/// Maintenance looks once.
pub async fn maintain(store: Arc<Faulty>) {
    let now = store.now();
    // What was not done stays due.
    let _ = timers::tick(store.as_ref(), now).await;
}
