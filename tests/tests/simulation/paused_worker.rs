//! A worker that is paused beyond its lease and wakes up, step by step, on each engine.

use std::sync::Arc;

use legwork_orchestrator::maintenance::timers;
use legwork_shared::budget::{Counter, Reservation, Usage};
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{EventKind, Job, JobState, Outcome, Verdict};
use legwork_shared::store::{ClaimRequest, Claimed, JobQuery, Store};
use legwork_tests::engine::{Engine, Opened, START};
use legwork_tests::make;
use legwork_worker::attempt::{AfterSubmit, Attempt, AttemptError, ChildJob, Host, Report, Settled};
use legwork_worker::workspace::{Artifacts, VPath};
use serde_json::json;
use tempfile::TempDir;

use super::onlooker::Sight;

/// One run of one job, and two workers.
struct Scene {
    opened: Opened,
    host: Arc<Host>,
    run: RunId,
    _folder: TempDir,
}

impl Scene {
    async fn on(engine: Engine) -> Self {
        let opened = Opened::on(engine).await.unwrap();
        let folder = TempDir::new().unwrap();
        let artifacts = Artifacts::open(folder.path()).unwrap();
        let host = Arc::new(Host::new(opened.store.clone(), artifacts));
        let mut run = make::run(RunId::nth(START, 1, 7), START);
        run.limits.depth = Some(3);
        let job = make::queued(JobId::nth(START, 1, 3), &run, make::spec("job"), START);
        run.results = vec![job.id];
        opened
            .store
            .commit(make::submission(&run, &[job], &[], START))
            .await
            .unwrap();
        let run = run.id;
        Self {
            opened,
            host,
            run,
            _folder: folder,
        }
    }

    fn store(&self) -> &dyn Store {
        self.opened.store.as_ref()
    }

    /// Worker number `number` takes the job.
    async fn claim(&self, number: u32) -> Claimed {
        let request = ClaimRequest {
            worker: WorkerId::nth(START, number, 0),
            queues: vec!["default".to_owned()],
            slots: 1,
            lease_ms: Host::LEASE_MS,
            entropy: u64::from(number),
        };
        self.store().claim(&request).await.unwrap().remove(0)
    }

    fn attempt(&self, claimed: &Claimed) -> Attempt {
        Attempt::new(&self.host, claimed.clone()).expect("a claimed job runs")
    }

    async fn job(&self) -> Job {
        let query = JobQuery {
            run: Some(self.run),
            limit: 9,
            ..JobQuery::default()
        };
        let mut jobs = self.store().jobs(&query).await.unwrap().items;
        assert_eq!(jobs.len(), 1, "nobody handed out a job");
        jobs.remove(0)
    }

    async fn tokens(&self) -> u64 {
        self.store()
            .run(self.run)
            .await
            .unwrap()
            .unwrap()
            .counter(Counter::Tokens)
    }

    /// Everything that the worker tries when it wakes up. Each write is tried by an attempt that knows of nothing, so that
    /// it is the store which refuses it.
    async fn wake(&self, claimed: &Claimed) {
        let before = Sight::of(self.store(), self.run).await;

        let result = self
            .attempt(claimed)
            .settle(Verdict::Succeeded(make::result("too late")))
            .await;
        assert!(matches!(result, Ok(Settled::Fenced)), "its result: {result:?}");

        let attempt = self.attempt(claimed);
        attempt.workspace().write(&path(), b"too late".to_vec()).await.unwrap();
        let file = attempt.checkpoint(Report::default()).await;
        assert!(matches!(file, Err(AttemptError::Fenced)), "its file: {file:?}");

        let child = ChildJob {
            spec: make::spec("child"),
            needs: Vec::new(),
        };
        let report = Report::default();
        let children = self
            .attempt(claimed)
            .submit_children(vec![child], report, AfterSubmit::Continue)
            .await;
        assert!(matches!(children, Err(AttemptError::Fenced)), "its child: {children:?}");

        let charge = Report {
            entries: vec![json!("a reply that took too long")],
            spent: Usage {
                input_tokens: 500,
                model_calls: 1,
                ..Usage::default()
            },
            ..Report::default()
        };
        let charged = self.attempt(claimed).checkpoint(charge).await;
        assert!(matches!(charged, Err(AttemptError::Fenced)), "its tokens: {charged:?}");

        assert_eq!(Sight::of(self.store(), self.run).await, before, "it left no trace");
    }
}

fn path() -> VPath {
    VPath::parse("notes.md").unwrap()
}

async fn play(engine: Engine) {
    let scene = Scene::on(engine).await;

    // The first worker takes the job, reserves the tokens of a model call, and is paused in the middle of it.
    let first = scene.claim(1).await;
    let ahead = Reservation {
        input_tokens: 60,
        output_tokens: 40,
        cost_micro_usd: 0,
    };
    let report = Report {
        reserve: Some(ahead),
        ..Report::default()
    };
    let working = scene.attempt(&first);
    working.checkpoint(report).await.unwrap();
    let first = Claimed {
        job: working.job(),
        ..first
    };
    assert_eq!(scene.tokens().await, 100);

    // Its lease lapses, and maintenance takes the job back. The call may have been billed: its tokens count as spent.
    let now = scene.opened.clock.advance_ms(Host::LEASE_MS);
    timers::tick(scene.store(), now).await.unwrap();
    let job = scene.job().await;
    assert_eq!(
        (job.state(), job.losses, job.usage.total_tokens()),
        (JobState::Queued, 1, 100)
    );

    // It wakes while nobody has the job, and again while another worker has it.
    scene.wake(&first).await;
    let second = scene.claim(2).await;
    assert_eq!(second.job.attempt, first.job.attempt + 1);
    scene.wake(&first).await;

    // The other one finishes the job, with a file of its own.
    let attempt = scene.attempt(&second);
    attempt.workspace().write(&path(), b"in time".to_vec()).await.unwrap();
    let settled = attempt.settle(Verdict::Succeeded(make::result("in time"))).await;
    assert!(matches!(settled, Ok(Settled::As(JobState::Succeeded))), "{settled:?}");

    // It wakes once more: nothing has changed, nothing was charged twice, and the log tells of one end.
    scene.wake(&first).await;
    let job = scene.job().await;
    let result = make::result("in time");
    assert_eq!(job.phase.outcome(), Some(&Outcome::Succeeded { result }));
    assert_eq!(scene.tokens().await, 100);
    let files = scene.store().files(scene.run, "").await.unwrap();
    assert_eq!(
        files
            .iter()
            .map(|file| (file.path.as_str(), file.size))
            .collect::<Vec<_>>(),
        [("notes.md", 7)]
    );
    let events = scene.store().events(scene.run, 0, usize::MAX).await.unwrap();
    let ends = events.iter().filter(|record| record.event.kind.is_terminal());
    assert_eq!(
        ends.map(|record| &record.event.kind).collect::<Vec<_>>(),
        [&EventKind::Succeeded]
    );
}

#[tokio::test]
async fn nothing_of_a_worker_that_wakes_after_its_lease_counts_in_memory() {
    play(Engine::Memory).await;
}

#[tokio::test]
async fn nothing_of_a_worker_that_wakes_after_its_lease_counts_in_a_file() {
    play(Engine::Sqlite).await;
}

#[tokio::test]
async fn nothing_of_a_worker_that_wakes_after_its_lease_counts_on_a_server() {
    play(Engine::Redis).await;
}
