//! Workers that are asked to end while they are at work: nothing is lost, nothing is done twice, and nobody waits for a
//! lease to lapse.

use std::sync::Arc;

use legwork_shared::store::Store;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};
use legwork_tests::checker::{Accepted, History, MarkLog, check};
use legwork_tests::harness::{Legwork, Running, wait_until};
use legwork_tests::redis_server::RedisServer;
use rustix::process::Signal;

/// Diamonds in the run.
const DIAMONDS: usize = 12;

/// A program that writes down what it does, and takes its time.
const PROGRAM: &str = r#"
read -r start
about=$(printf '%s' "$start" | sed -E 's/.*"job":\{"id":"([^"]*)".*"attempt":([0-9]+)\}.*/\1 \2/')
job=${about% *} attempt=${about#* }
note() { printf '{"job":"%s","attempt":%s,"pid":%s,%s}\n' "$job" "$attempt" $$ "$1" >>"$MARKS"; }
note '"deed":"started"'
sleep 0.2
note "\"deed\":\"answers\",\"text\":\"attempt $attempt\""
printf '{"type":"result","text":"attempt %s"}\n' "$attempt"
"#;

fn plan(legwork: &Legwork) -> String {
    let (program, marks) = (legwork.path("mark.sh"), legwork.path("marks.jsonl"));
    let (program, marks) = (program.display(), marks.display());
    let mut plan = format!(
        "agents:\n  marker: {{runner: {{kind: process, command: [sh, '{program}'], env: {{MARKS: '{marks}'}}}}}}\njobs:\n"
    );
    for number in 0..DIAMONDS {
        for (name, needs) in [("a", &[][..]), ("b", &[]), ("c", &["a", "b"]), ("d", &["c"])] {
            let needs: Vec<String> = needs.iter().map(|need| format!("{need}-{number}")).collect();
            plan.push_str(&format!(
                "  - {{id: {name}-{number}, agent: marker, description: x, depends_on: {needs:?}}}\n"
            ));
        }
    }
    plan
}

/// Waits until so many runners have begun.
async fn begun(legwork: &Legwork, count: usize) {
    let marks = legwork.path("marks.jsonl");
    wait_until("enough runners have begun", async || {
        let text = std::fs::read_to_string(&marks).unwrap_or_default();
        (text.matches("started").count() >= count).then_some(())
    })
    .await;
}

async fn worker(legwork: &Legwork) -> Running {
    let mut worker = legwork.spawn(&["worker", "--slots", "4"]);
    worker.wait_for_talk("taking jobs").await;
    worker
}

/// The store at the place that the programs were given.
async fn open(legwork: &Legwork) -> Arc<dyn Store> {
    let store = legwork.store();
    if !legwork.is_in_a_file() {
        let address = store.to_str().expect("an address");
        let opened = RedisStore::open(address, RedisOptions::default()).await;
        return Arc::new(opened.expect("the server"));
    }
    Arc::new(SqliteStore::open(store, SqliteOptions::default()).expect("the file"))
}

async fn restart_under_load(legwork: &Legwork) {
    legwork.write("mark.sh", PROGRAM);
    let run = legwork.submit(&plan(legwork)).await;
    let mut workers = vec![worker(legwork).await, worker(legwork).await];
    for round in 1..=workers.len() {
        begun(legwork, 8 * round).await;
        let next = worker(legwork).await;
        let before = workers.remove(0);
        before.signal(Signal::TERM);
        let _ = before.wait().await.expect_code(0);
        workers.push(next);
    }
    let _ = legwork.run(&["watch", &run]).await.success();
    for worker in workers {
        worker.signal(Signal::TERM);
        let _ = worker.wait().await.expect_code(0);
    }
    let status = legwork.status().await;
    let accepted = Accepted {
        run: run.parse().expect("an id"),
        jobs: status.jobs.iter().map(|job| job.id).collect(),
    };
    let marks = MarkLog::read(&legwork.path("marks.jsonl")).expect("the deeds");
    let store = open(legwork).await;
    let history = History::of(store.as_ref(), vec![accepted], marks)
        .await
        .expect("the history");
    let report = check(&history);
    println!("{}", report.counts);
    assert_eq!(report.complaints, []);
    let counts = report.counts;
    assert_eq!(counts.ends, [("succeeded", 4 * DIAMONDS)].into());
    assert_eq!((counts.repeated, counts.fenced), (0, 0));
}

#[tokio::test]
async fn s53_a_worker_that_is_asked_to_end_finishes_what_it_has_begun_and_others_go_on() {
    restart_under_load(&Legwork::new()).await;
}

#[tokio::test]
async fn s53_a_worker_that_is_asked_to_end_finishes_what_it_has_begun_and_others_go_on_with_a_server() {
    let server = RedisServer::start().expect("a server");
    restart_under_load(&Legwork::new().with_store(&server.address("lw"))).await;
}
