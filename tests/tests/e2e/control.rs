//! Control of running work: cancel, update, and work that waits for its worker.

use legwork_shared::job::{EventKind, JobState};
use legwork_shared::run::RunState;
use legwork_shared::wire::{Cancelled, EventView, Updated};
use legwork_tests::harness::{Legwork, wait_until};
use legwork_tests::model_server::{Gate, ModelServer, Outcome, Script, Turn};
use rustix::process::Signal;

use crate::team::{KEY, WIRES, place};

const TWO: &str = r#"
agents:
  speaker: {runner: {kind: scripted, script: "turns: [{text: done}]"}}
jobs:
  - {id: one, agent: speaker, description: x}
  - {id: two, agent: speaker, description: x}
"#;

#[tokio::test]
async fn d07_what_is_cancelled_without_a_worker_is_never_begun() {
    let legwork = Legwork::new();
    legwork.submit(TWO).await;
    assert_eq!(legwork.job("one").await.state, JobState::Queued);
    let answer: Cancelled = legwork
        .json(&["cancel", "last/one", "--reason", "changed my mind"])
        .await;
    let answers: Vec<_> = answer
        .jobs
        .iter()
        .map(|job| (job.name.as_str(), job.answer.as_str()))
        .collect();
    assert_eq!(answers, [("one", "cancelled")]);
    assert_eq!(legwork.job("one").await.state, JobState::Cancelled);

    let _ = legwork.run(&["worker", "--once"]).await.success();
    let (one, two) = (legwork.job("one").await, legwork.job("two").await);
    assert_eq!((one.state, one.attempts), (JobState::Cancelled, 0));
    assert_eq!(one.cancel_reason.as_deref(), Some("changed my mind"));
    assert_eq!((two.state, two.attempts), (JobState::Succeeded, 1));
}

#[tokio::test]
async fn s45_queued_work_waits_for_a_worker_and_is_watched_from_another_process() {
    let legwork = Legwork::new();
    let run = legwork.submit(TWO).await;
    let mut watch = legwork.spawn(&["--json", "watch", &run]);
    watch.wait_for_line(|line| line.contains(r#""event":"queued""#)).await;
    let worker = legwork.spawn(&["worker", "--name", "late"]);
    let watched = watch.wait().await.expect_code(0);
    let events: Vec<EventView> = watched.json_lines();
    let ends = events.iter().filter(|event| event.kind == EventKind::Succeeded).count();
    assert_eq!(ends, 2, "{watched}");

    let result = legwork.run(&["result", &format!("{run}/two")]).await.success();
    assert_eq!(result.trim(), "done");
    worker.signal(Signal::TERM);
    let _ = worker.wait().await.success();
}

#[tokio::test]
async fn s45_an_update_reaches_a_working_agent_at_its_next_step_and_the_log_says_at_which() {
    for wire in WIRES {
        let gate = Gate::closed();
        let held = gate.clone();
        let script = Script::by(move |asked| match asked.turn {
            1 => Turn::text("A first answer.").behind(&held),
            _ => Turn::text(format!("Heard: {}", asked.last())),
        });
        let server = ModelServer::start(script.strict()).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        let run = legwork.spawn(&["run", "Tell me.", "--agent", "researcher"]);
        server.wait_until(|requests| !requests.is_empty()).await;
        let sent: Updated = legwork
            .json(&["update", "last/researcher", "Mention the price too."])
            .await;
        assert_eq!(legwork.job("researcher").await.updates_waiting, 1);
        gate.open();
        let report = run.wait().await.success();
        assert!(
            report.starts_with("Heard: ") && report.contains("Mention the price too."),
            "{report}"
        );
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        assert!(!requests[0].body.to_string().contains("price"));

        let events = legwork.events().await;
        let applied = place(
            &events,
            "researcher",
            |kind| matches!(kind, EventKind::UpdateApplied { update, step: 1 } if *update == sent.update),
        );
        let first_step = place(&events, "researcher", |kind| {
            matches!(kind, EventKind::Stepped { step: 1, .. })
        });
        let end = place(&events, "researcher", |kind| *kind == EventKind::Succeeded);
        assert!(first_step <= applied && applied < end, "{events:#?}");
        let late = legwork
            .run(&["update", "last/researcher", "Too late."])
            .await
            .expect_code(2);
        assert!(late.stderr.contains("error[LW0603]"), "{late}");
    }
}

#[tokio::test]
async fn s45_an_interrupting_update_aborts_the_call_in_flight() {
    for wire in WIRES {
        let script = Script::by(move |asked| {
            if asked.messages.iter().any(|said| said.text.contains("Stop and think.")) {
                Turn::text("Thought.")
            } else {
                // This answer never comes.
                Turn::text("A first answer.").behind(&Gate::closed())
            }
        });
        let server = ModelServer::start(script.strict()).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        let run = legwork.spawn(&["run", "Tell me.", "--agent", "researcher"]);
        server.wait_until(|requests| !requests.is_empty()).await;
        let _ = legwork
            .run(&["update", "last/researcher", "Stop and think.", "--interrupt"])
            .await
            .success();
        assert_eq!(run.wait().await.success(), "Thought.\n");
        let requests = server.requests();
        assert_eq!((requests.len(), requests[0].outcome), (2, Outcome::ClientLeft));
    }
}

#[tokio::test]
async fn d08_a_cancel_ends_a_working_agent_and_its_call_and_nothing_follows() {
    for wire in WIRES {
        let script = Script::by(|_| Turn::text("never").behind(&Gate::closed()));
        let server = ModelServer::start(script).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        legwork.write(
            "plan.yaml",
            "jobs:\n  - {id: a, agent: researcher, description: x}\n  - {id: b, agent: writer, description: y, depends_on: [a]}\n",
        );
        let run = legwork.spawn(&["run", "--plan", "plan.yaml"]);
        server.wait_until(|requests| !requests.is_empty()).await;
        let _ = legwork.run(&["cancel", "last"]).await.success();
        let _ = run.wait().await.expect_code(3);
        let requests = server
            .wait_until(|requests| requests[0].outcome != Outcome::InFlight)
            .await;
        assert_eq!((requests.len(), requests[0].outcome), (1, Outcome::ClientLeft));
        let status = legwork.status().await;
        assert_eq!(status.run.state, RunState::Cancelled);
        assert!(
            status.jobs.iter().all(|job| job.state == JobState::Cancelled),
            "{status:#?}"
        );
    }
}

/// A program that starts another in a session of its own, writes down the ids of both, and stays.
const FAMILY: &str = r#"
agents:
  family:
    runner:
      kind: process
      command:
        - sh
        - -c
        - |
          setsid sleep 1000 &
          echo "$$ $!" > family.new
          mv family.new family
          sleep 1000
jobs:
  - {id: stay, agent: family, description: x}
"#;

#[tokio::test]
async fn d08_a_cancel_ends_a_program_with_all_that_it_started() {
    let legwork = Legwork::new();
    legwork.submit(FAMILY).await;
    let worker = legwork.spawn(&["worker", "--once"]);
    let family = wait_until("the program has started another", async || {
        std::fs::read_to_string(legwork.path("family")).ok()
    })
    .await;
    let runs = |id: &str| std::path::Path::new("/proc").join(id).exists();
    let ids: Vec<&str> = family.split_whitespace().collect();
    assert!(ids.len() == 2 && ids.iter().all(|id| runs(id)), "{ids:?}");

    let _ = legwork.run(&["cancel", "last"]).await.success();
    let _ = worker.wait().await.success();
    assert_eq!(legwork.job("stay").await.state, JobState::Cancelled);
    let left = wait_until("the system has collected both", async || {
        ids.iter().all(|id| !runs(id)).then_some(())
    });
    left.await;
}

#[tokio::test]
async fn a_worker_that_is_told_to_stop_gives_back_what_it_has_not_ended() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Script::by(move |_| Turn::text("Answered.").behind(&held));
    let server = ModelServer::start(script).await;
    let legwork = Legwork::new().with_model(&server, WIRES[0], KEY);
    let _ = legwork
        .run(&["submit", "--agent", "researcher", "Tell me."])
        .await
        .success();
    let worker = legwork.spawn(&["worker", "--drain-timeout", "1ms"]);
    server.wait_until(|requests| !requests.is_empty()).await;
    worker.signal(Signal::TERM);
    let _ = worker.wait().await.success();
    wait_until("the job is given back", async || {
        let state = legwork.job("researcher").await.state;
        (state == JobState::Queued || state == JobState::Scheduled).then_some(())
    })
    .await;
    gate.open();
    let _ = legwork.run(&["worker", "--once"]).await.success();
    let job = legwork.job("researcher").await;
    assert_eq!((job.state, job.failures), (JobState::Succeeded, 0));
}

#[tokio::test]
async fn ctrl_c_stops_a_run_which_a_resume_then_ends() {
    let gate = Gate::closed();
    let held = gate.clone();
    let script = Script::by(move |asked| match asked.turn {
        1 => Turn::calls([("calculate", r#"{"expression": "6 * 7"}"#)]),
        _ => Turn::text(format!("It is {}.", asked.last())).behind(&held),
    });
    let server = ModelServer::start(script.strict()).await;
    let legwork = Legwork::new().with_model(&server, WIRES[0], KEY);
    let mut run = legwork.spawn(&["run", "Six times seven?", "--agent", "researcher"]);
    server.wait_until(|requests| requests.len() == 2).await;
    run.signal(Signal::INT);
    run.wait_for_talk("stopping").await;
    run.signal(Signal::INT);
    let output = run.wait().await.expect_code(130);
    assert!(output.stderr.contains("legwork resume run_"), "{output}");
    gate.open();
    let report = legwork.run(&["resume"]).await.success();
    assert!(report.contains("42"), "{report}");
    // The first call is in the journal; only the one in flight was made again.
    assert_eq!(
        server.requests().iter().map(|request| request.turn).collect::<Vec<_>>(),
        [1, 2, 2]
    );
}
