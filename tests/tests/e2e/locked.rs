//! A store whose file another process holds: who reads does not wait, who writes waits and is then told why.

use legwork_shared::job::JobState;
use legwork_tests::harness::Legwork;
use rusqlite::Connection;

const PLAN: &str = r#"
agents:
  speaker: {runner: {kind: scripted, script: "turns: [{text: done}]"}}
jobs:
  - {id: a, agent: speaker, description: x}
"#;

/// Holds the file as another program does that writes and does not come to an end.
fn hold(legwork: &Legwork) -> Connection {
    let held = Connection::open(legwork.store()).expect("the store");
    held.execute_batch("BEGIN EXCLUSIVE").expect("the lock");
    held
}

#[tokio::test]
async fn d52_a_file_that_is_held_too_long_is_told_in_one_sentence_and_nothing_is_lost() {
    let legwork = Legwork::in_a_file();
    legwork.submit(PLAN).await;
    legwork.write("plan.yaml", PLAN);
    let held = hold(&legwork);
    let writers: [&[&str]; 5] = [
        &["submit", "plan.yaml"],
        &["run", "--plan", "plan.yaml"],
        &["cancel", "last"],
        &["update", "last/a", "Hello."],
        &["worker", "--once"],
    ];
    let refused = writers.map(|command| legwork.run(command));
    for output in futures::future::join_all(refused).await {
        let output = output.expect_code(2);
        assert!(
            output
                .stderr
                .contains("error[LW0401]: the store is not available: another process has held its file for too long"),
            "{output}"
        );
        assert!(
            output.stderr.contains("legwork.db") && output.stderr.contains("  help: "),
            "{output}"
        );
        assert_eq!(output.stdout, "", "{output}");
    }
    drop(held);
    assert_eq!(legwork.runs().await.runs.len(), 1);
    let job = legwork.job("a").await;
    assert_eq!((job.state, job.updates_waiting), (JobState::Queued, 0));
    let _ = legwork.run(&["worker", "--once"]).await.success();
    assert_eq!(legwork.job("a").await.state, JobState::Succeeded);
}

#[tokio::test]
async fn d52_who_reads_a_held_file_does_not_wait_and_who_writes_goes_on_as_soon_as_it_is_free() {
    let legwork = Legwork::in_a_file();
    legwork.submit(PLAN).await;
    let held = hold(&legwork);
    let cancel = legwork.spawn(&["cancel", "last"]);
    let readers: [&[&str]; 4] = [&["status"], &["list"], &["graph"], &["logs", "last/a"]];
    for command in readers {
        let output = legwork.run(command).await.expect_code(0);
        assert_eq!(output.stderr, "", "{output}");
    }
    assert_eq!(legwork.job("a").await.state, JobState::Queued, "it waits for the file");
    held.execute_batch("ROLLBACK").expect("the end");
    let output = cancel.wait().await.expect_code(0);
    assert_eq!(output.stderr, "", "{output}");
    assert_eq!(legwork.job("a").await.state, JobState::Cancelled);
}
