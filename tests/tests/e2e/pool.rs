//! The pool from outside: who works on a store, and what is kept in it.

use legwork_shared::job::{EventKind, JobState};
use legwork_shared::wire::{Paused, Pruned, RunList, RunStatus, ScheduleList, Upcoming, WorkerHealth, WorkerList};
use legwork_tests::harness::{Legwork, Running, wait_until};
use legwork_tests::model_server::{Gate, ModelServer, Script, Turn, Wire};
use legwork_tests::redis_server::RedisServer;
use rustix::process::Signal;

use crate::team::KEY;

/// A run under a key.
const ONE: &str = r#"
idempotency_key: k
agents:
  speaker: {runner: {kind: scripted, script: "turns: [{text: done}]"}}
jobs: [{id: one, agent: speaker, description: x}]
"#;

async fn workers(legwork: &Legwork) -> WorkerList {
    legwork.json(&["workers"]).await
}

/// A store in a file and one on a server.
fn stores() -> (RedisServer, [Legwork; 2]) {
    let server = RedisServer::start().expect("a server");
    let on_server = Legwork::new().with_store(&server.address("lw"));
    (server, [Legwork::new(), on_server])
}

#[tokio::test]
async fn s53_workers_are_listed_with_their_load_and_two_of_one_name_get_along() {
    let (_server, stores) = stores();
    for legwork in stores {
        let gate = Gate::closed();
        let model = ModelServer::start(Script::always(Turn::text("done").behind(&gate))).await;
        let legwork = legwork.with_model(&model, Wire::OpenAi, KEY);
        legwork.submit("jobs: [{id: one, description: x}]").await;
        let names = [["worker", "--name", "blue", "--slots", "3"]; 2];
        let running = names.map(|args| legwork.spawn(&args));
        wait_until("both are there, and one works", async || {
            let list = workers(&legwork).await.workers;
            let holds: usize = list.iter().map(|worker| worker.running).sum();
            (list.len() == 2 && holds == 1).then_some(())
        })
        .await;
        let list = workers(&legwork).await.workers;
        for worker in &list {
            assert_eq!((worker.name.as_str(), worker.slots), ("blue", 3));
            assert_eq!(worker.health, WorkerHealth::Alive);
            assert_eq!(worker.version, env!("CARGO_PKG_VERSION"));
            assert_eq!(worker.queues, ["default"]);
            let pid = |process: &Running| u32::try_from(process.pid().as_raw_nonzero().get());
            assert!(
                running.iter().any(|process| pid(process) == Ok(worker.pid)),
                "{worker:?}"
            );
            assert!(
                !worker.host.is_empty() && worker.clock_ahead_ms.abs() < 1_000,
                "{worker:?}"
            );
        }
        assert_ne!(list[0].id, list[1].id);
        assert_eq!(list.iter().filter(|worker| worker.leads).count(), 1, "{list:?}");
        let text = legwork.run(&["workers"]).await.success();
        assert!(
            text.starts_with("worker\tname\tstate\tload\t") && text.contains("1/3"),
            "{text}"
        );
        gate.open();
        for process in running {
            process.signal(Signal::TERM);
            let _ = process.wait().await.success();
        }
        assert_eq!(
            workers(&legwork).await.workers,
            [],
            "who ends in order is off the record"
        );
    }
}

async fn ids(legwork: &Legwork) -> Vec<String> {
    let list: RunList = legwork.json(&["list"]).await;
    list.runs.iter().map(|run| run.id.to_string()).collect()
}

#[tokio::test]
async fn d55_ended_runs_are_deleted_by_number_and_age_and_open_ones_stay() {
    let (_server, stores) = stores();
    for legwork in stores {
        let first = legwork.submit(ONE).await;
        let second = legwork.submit(&ONE.replace("key: k", "key: l")).await;
        let _ = legwork.run(&["worker", "--once"]).await.success();
        let open = legwork.submit(&ONE.replace("key: k", "key: m")).await;

        let refused = legwork.run(&["prune"]).await.expect_code(2);
        assert!(refused.stderr.contains("error[LW0105]"), "{refused}");
        let pruned: Pruned = legwork.json(&["prune", "--older-than", "1h"]).await;
        assert_eq!(pruned.runs, [], "they are younger");
        let look: Pruned = legwork.json(&["prune", "--keep", "1", "--dry-run"]).await;
        let found: Vec<String> = look.runs.iter().map(|run| run.id.to_string()).collect();
        assert_eq!((found.as_slice(), look.dry_run), ([first.clone()].as_slice(), true));
        assert_eq!(
            ids(&legwork).await,
            [open.clone(), second.clone(), first.clone()],
            "nothing is gone"
        );

        let text = legwork.run(&["prune", "--keep", "1"]).await.success();
        assert!(text.starts_with(&first), "{text}");
        let gone = legwork.run(&["status", &first]).await.expect_code(2);
        assert!(gone.stderr.contains("error[LW0601]"), "{gone}");
        assert_eq!(
            legwork.submit(&ONE.replace("key: k", "key: l")).await,
            second,
            "its key is kept"
        );
        assert_ne!(legwork.submit(ONE).await, first, "its key went with it");
        let pruned: Pruned = legwork.json(&["prune", "--older-than", "0s"]).await;
        assert_eq!((pruned.runs.len(), pruned.dry_run), (1, false));
        assert_eq!(ids(&legwork).await.len(), 2);
    }
}

#[tokio::test]
async fn d55_a_worker_prunes_by_itself_where_the_configuration_says_so() {
    let (_server, stores) = stores();
    for legwork in stores {
        for _ in 0..3 {
            legwork.submit(&ONE.replace("idempotency_key: k", "")).await;
        }
        let _ = legwork.run(&["worker", "--once"]).await.success();
        let newest = ids(&legwork).await.remove(0);
        let legwork = legwork.with_env("LEGWORK_PRUNE_KEEP", "1");
        let worker = legwork.spawn(&["worker"]);
        wait_until("the older ones are gone", async || {
            (ids(&legwork).await == [newest.clone()]).then_some(())
        })
        .await;
        worker.signal(Signal::TERM);
        let _ = worker.wait().await.success();
    }
}

#[tokio::test]
async fn s53_a_paused_run_and_a_paused_queue_wait_until_they_are_resumed() {
    let (_server, stores) = stores();
    for legwork in stores {
        let held = legwork.submit(&ONE.replace("idempotency_key: k", "title: held")).await;
        let paused: Paused = legwork.json(&["pause", &held]).await;
        assert!(paused.paused && paused.changed && paused.queue.is_none(), "{paused:?}");
        let again = legwork.run(&["pause", &held]).await.success();
        assert!(again.ends_with("is paused since before\n"), "{again}");
        let night = ONE
            .replace("idempotency_key: k", "title: at night")
            .replace("description: x", "description: x, queue: night");
        let at_night = legwork.submit(&night).await;
        let _ = legwork.run(&["pause", "--queue", "night"]).await.success();
        let free = legwork.submit(&ONE.replace("idempotency_key: k", "title: free")).await;
        let worker = legwork.spawn(&["worker", "--queue", "default", "--queue", "night"]);
        let status = async |run: &str| legwork.json::<RunStatus>(&["status", run]).await;
        wait_until("the free one has ended", async || {
            (status(&free).await.run.open == 0).then_some(())
        })
        .await;
        for (run, queue) in [(&held, None), (&at_night, Some("night"))] {
            let status = status(run).await;
            assert_eq!(status.jobs[0].state, JobState::Queued);
            assert_eq!(status.run.pauses.len(), 1);
            assert_eq!(status.run.pauses[0].queue.as_deref(), queue);
        }
        let text = legwork.run(&["status", &at_night]).await.success();
        assert!(text.contains("the queue night is paused by command line"), "{text}");
        let list = legwork.run(&["list"]).await.success();
        assert_eq!(list.matches("active, paused").count(), 1, "{list}");

        let goes_on = legwork.run(&["resume", &held]).await.success();
        assert!(goes_on.ends_with("goes on\n"), "{goes_on}");
        let resumed: Paused = legwork.json(&["resume", "--queue", "night"]).await;
        assert!(!resumed.paused && resumed.changed, "{resumed:?}");
        for run in [&held, &at_night] {
            wait_until("it has ended", async || (status(run).await.run.open == 0).then_some(())).await;
            assert_eq!(status(run).await.run.pauses, []);
        }
        worker.signal(Signal::TERM);
        let _ = worker.wait().await.success();

        let events = legwork
            .run(&["--json", "watch", &held])
            .await
            .json_lines::<legwork_shared::wire::EventView>();
        let count = |kind: fn(&EventKind) -> bool| events.iter().filter(|event| kind(&event.kind)).count();
        assert_eq!(count(|kind| matches!(kind, EventKind::Paused { .. })), 1);
        assert_eq!(count(|kind| matches!(kind, EventKind::Resumed { .. })), 1);
        let refused = legwork.run(&["pause", &held]).await.expect_code(2);
        assert!(refused.stderr.contains("error[LW0603]"), "{refused}");
        let refused = legwork.run(&["pause"]).await.expect_code(2);
        assert!(refused.stderr.contains("required"), "{refused}");
    }
}

#[tokio::test]
async fn s50_a_schedule_is_added_previewed_listed_and_removed() {
    let (_server, stores) = stores();
    for legwork in stores {
        legwork.write("plan.yaml", ONE);
        let refused = legwork
            .run(&["schedule", "add", "often", "plan.yaml", "--cron", "* * *"])
            .await
            .expect_code(2);
        assert!(refused.stderr.contains("error[LW0105]"), "{refused}");
        let spring = [
            "schedule",
            "next",
            "--cron",
            "30 2 * * *",
            "--zone",
            "Europe/Berlin",
            "--count",
            "3",
        ];
        let upcoming: Upcoming = legwork.json(&spring).await;
        assert!(upcoming.next.len() == 3 && upcoming.next.is_sorted_by_key(|moment| moment.at_ms));
        assert!(
            upcoming.next.iter().all(|moment| moment.local.contains(" CE")),
            "{upcoming:?}"
        );

        let yearly = [
            "schedule",
            "add",
            "yearly",
            "plan.yaml",
            "--cron",
            "0 0 1 1 *",
            "--zone",
            "Asia/Tokyo",
        ];
        let added = legwork.run(&yearly).await.success();
        assert!(added.contains("-01-01 00:00 JST"), "{added}");
        let taken = legwork.run(&yearly).await.expect_code(2);
        assert!(taken.stderr.contains("error[LW0201]"), "{taken}");
        let _ = legwork
            .run(&["schedule", "add", "often", "plan.yaml", "--cron", "* * * * *"])
            .await
            .success();
        let list: ScheduleList = legwork.json(&["schedule", "list"]).await;
        let names: Vec<&str> = list.schedules.iter().map(|schedule| schedule.name.as_str()).collect();
        assert_eq!(names, ["often", "yearly"]);
        let text = legwork.run(&["schedule", "list"]).await.success();
        assert!(text.starts_with("schedule\tcron\tzone\tnext\t"), "{text}");

        let removed = legwork.run(&["schedule", "remove", "yearly"]).await.success();
        assert!(removed.contains("is forgotten"), "{removed}");
        let unknown = legwork.run(&["schedule", "next", "yearly"]).await.expect_code(2);
        assert!(unknown.stderr.contains("error[LW0601]"), "{unknown}");
        let next = legwork.run(&["schedule", "next", "often"]).await.success();
        assert_eq!(next.lines().count(), 5);
    }
}
