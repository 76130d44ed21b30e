//! Plans: the shipped examples, and what happens after a failure.

use legwork_shared::job::{EventKind, JobState};
use legwork_shared::wire::EventView;
use legwork_tests::harness::{Legwork, repository, wait_until};
use rustix::process::Signal;

/// A plan whose first job fails in its first attempt; the others need it, one after the other.
const BREAKS_ONCE: &str = r#"
agents:
  shaky: {runner: {kind: scripted, script: "turns: [{text: done, fail: {times: 1, fatal: true, message: no luck}}]"}}
  steady: {runner: {kind: scripted, script: "turns: [{text: 'read: {last_user}'}]"}}
jobs:
  - {id: first, agent: shaky, description: Try it.}
  - {id: second, agent: steady, description: Go on., depends_on: [first]}
  - {id: third, agent: steady, description: Finish., depends_on: [second]}
"#;

async fn states(legwork: &Legwork) -> Vec<(String, JobState)> {
    let jobs = legwork.status().await.jobs.into_iter();
    jobs.map(|job| (job.name, job.state)).collect()
}

fn named(states: &[(&str, JobState)]) -> Vec<(String, JobState)> {
    states
        .iter()
        .map(|(name, state)| ((*name).to_owned(), *state))
        .collect()
}

#[tokio::test]
async fn s26_every_example_plan_runs_to_its_end() {
    let folder = repository().join("ops/examples/plans");
    let mut plans: Vec<_> = std::fs::read_dir(folder)
        .expect("the examples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    plans.sort();
    assert!(plans.len() >= 7, "{plans:?}");
    for plan in plans {
        let legwork = Legwork::new();
        let plan = plan.display().to_string();
        let report = legwork.run(&["run", "--plan", &plan]).await.success();
        assert!(!report.trim().is_empty(), "{plan} has no report");
    }
}

#[tokio::test]
async fn s22_a_stand_in_takes_over_after_a_failure_and_is_skipped_after_a_success() {
    let plan = repository().join("ops/examples/plans/recovery.yaml");
    let text = std::fs::read_to_string(plan).expect("the example");
    let legwork = Legwork::new();
    legwork.write("failing.yaml", &text);
    let report = legwork.run(&["run", "--plan", "failing.yaml"]).await.success();
    assert!(report.contains("From the cached copy"), "{report}");
    let (failed, done) = (JobState::Failed, JobState::Succeeded);
    let expected = [("archive", failed), ("cache", done), ("report", done)];
    assert_eq!(states(&legwork).await, named(&expected));

    legwork.write(
        "answering.yaml",
        text.replace(
            "fail: {times: 99, fatal: true, message: \"the archive is not reachable\"}",
            "text: \"The archive answers.\"",
        ),
    );
    let report = legwork.run(&["run", "--plan", "answering.yaml"]).await.success();
    assert!(report.contains("The archive answers."), "{report}");
    let expected = [("archive", done), ("cache", JobState::Skipped), ("report", done)];
    assert_eq!(states(&legwork).await, named(&expected));
}

#[tokio::test]
async fn s23_s52_a_failure_skips_what_needs_it_and_a_retry_brings_it_all_back() {
    let legwork = Legwork::new();
    legwork.write("plan.yaml", BREAKS_ONCE);
    let output = legwork.run(&["run", "--plan", "plan.yaml"]).await.expect_code(1);
    assert!(output.stderr.contains("no luck"), "{output}");
    let expected = [
        ("first", JobState::Failed),
        ("second", JobState::Skipped),
        ("third", JobState::Skipped),
    ];
    assert_eq!(states(&legwork).await, named(&expected));
    let (first, second) = (legwork.job("first").await, legwork.job("second").await);
    assert_eq!(second.skipped_because_of, Some(first.id));

    let failed = legwork.run(&["list", "--jobs", "--state", "failed"]).await.success();
    assert_eq!(
        failed.lines().filter(|line| line.contains("first")).count(),
        1,
        "{failed}"
    );
    let _ = legwork.run(&["retry", "last/first"]).await.success();
    let report = legwork.run(&["resume"]).await.success();
    assert!(report.contains("done"), "{report}");
    let expected = ["first", "second", "third"].map(|name| (name, JobState::Succeeded));
    assert_eq!(states(&legwork).await, named(&expected));
    assert_eq!(legwork.job("first").await.generation, first.generation + 1);
}

#[tokio::test]
async fn s23_where_the_run_says_so_a_failure_holds_what_needs_it_until_a_person_retries() {
    let legwork = Legwork::new();
    legwork.submit(&format!("on_failure: hold\n{BREAKS_ONCE}")).await;
    let worker = legwork.spawn(&["worker"]);
    let first = wait_until("the first has failed", async || {
        let first = legwork.job("first").await;
        let second = legwork.job("second").await;
        (first.state == JobState::Failed && second.held_because_of == Some(first.id)).then_some(first)
    })
    .await;
    let expected = [
        ("first", JobState::Failed),
        ("second", JobState::Blocked),
        ("third", JobState::Blocked),
    ];
    assert_eq!(states(&legwork).await, named(&expected));
    let status = legwork.run(&["status"]).await.success();
    assert!(status.contains("held: retry first or cancel this"), "{status}");
    let _ = legwork.run(&["retry", "last/first"]).await.success();
    let expected = ["first", "second", "third"].map(|name| (name, JobState::Succeeded));
    wait_until("all have succeeded", async || {
        (states(&legwork).await == named(&expected)).then_some(())
    })
    .await;
    worker.signal(Signal::TERM);
    let _ = worker.wait().await.success();
    let held = |event: &EventView| matches!(event.kind, EventKind::Held { cause } if cause == first.id);
    assert_eq!(legwork.events().await.iter().filter(|event| held(event)).count(), 1);
}
