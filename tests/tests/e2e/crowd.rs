//! Many processes on one file: nothing is lost, nothing is doubled, and nobody is told that it is locked.

use std::collections::{BTreeMap, BTreeSet};

use legwork_shared::job::EventKind;
use legwork_shared::run::RunState;
use legwork_shared::wire::{EventView, RunList};
use legwork_tests::harness::{Legwork, wait_until};
use rustix::process::Signal;

const WORKERS: usize = 4;
/// Runs that are submitted while the workers work, four jobs each.
const RUNS: usize = 25;

const PLAN: &str = r#"
agents:
  speaker: {runner: {kind: scripted, script: "turns: [{text: done}]"}}
jobs:
  - {id: a, agent: speaker, description: x}
  - {id: b, agent: speaker, description: x, depends_on: [a]}
  - {id: c, agent: speaker, description: x, depends_on: [a]}
  - {id: d, agent: speaker, description: x, depends_on: [b, c]}
"#;

#[tokio::test]
async fn d52_many_processes_share_one_file_and_each_job_runs_once() {
    let legwork = Legwork::new();
    let workers: Vec<_> = (0..WORKERS).map(|_| legwork.spawn(&["worker"])).collect();
    let mut submitted = BTreeSet::new();
    for _ in 0..RUNS {
        assert!(submitted.insert(legwork.submit(PLAN).await), "an id came twice");
    }
    let list = wait_until("every run has ended", async || {
        let list: RunList = legwork.json(&["list", "--limit", "100"]).await;
        list.runs
            .iter()
            .all(|run| run.state != RunState::Active)
            .then_some(list)
    })
    .await;
    let ended: BTreeSet<String> = list.runs.iter().map(|run| run.id.to_string()).collect();
    assert_eq!(ended, submitted);

    for worker in &workers {
        worker.signal(Signal::TERM);
    }
    for worker in workers {
        let output = worker.wait().await.expect_code(0);
        let complaint = output.stderr.to_lowercase();
        assert!(
            !complaint.contains("locked") && !complaint.contains("error"),
            "{output}"
        );
    }
    for run in list.runs {
        assert_eq!(run.state, RunState::Succeeded);
        let id = run.id.to_string();
        let events: Vec<EventView> = legwork.run(&["--json", "watch", &id]).await.expect_code(0).json_lines();
        let mut seen: BTreeMap<(&str, bool), usize> = BTreeMap::new();
        for event in &events {
            let name = event.name.as_deref().unwrap_or_default();
            match event.kind {
                EventKind::Started { .. } => *seen.entry((name, false)).or_default() += 1,
                EventKind::Succeeded => *seen.entry((name, true)).or_default() += 1,
                _ => {}
            }
        }
        let once = ["a", "b", "c", "d"]
            .into_iter()
            .flat_map(|name| [((name, false), 1), ((name, true), 1)]);
        assert_eq!(seen, once.collect());
    }
}

#[tokio::test]
async fn s53_the_same_plan_under_one_key_is_one_run_however_often_it_is_submitted() {
    let legwork = Legwork::new();
    legwork.write("plan.yaml", PLAN);
    let submits = (0..8).map(|_| legwork.run(&["submit", "plan.yaml", "--key", "nightly"]));
    let answers = futures::future::join_all(submits).await;
    let ids: BTreeSet<String> = answers
        .into_iter()
        .map(legwork_tests::harness::Output::success)
        .collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(legwork.runs().await.runs.len(), 1);
    legwork.write("other.yaml", PLAN.replace("description: x", "description: other"));
    let output = legwork
        .run(&["submit", "other.yaml", "--key", "nightly"])
        .await
        .expect_code(2);
    assert!(output.stderr.contains("error[LW0604]"), "{output}");
}
