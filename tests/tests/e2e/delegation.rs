//! Delegation: a whole graph in one reply, carried out while the coordinator sleeps.

use legwork_shared::job::{BlockedOn, EventKind, JobState};
use legwork_tests::harness::{Legwork, repository, wait_until};
use legwork_tests::model_server::{Gate, ModelServer, Outcome, Recorded, Script, Turn, Wire};

use crate::team::{ANSWER, CALLS, JOBS, KEY, QUESTION, WIRES, member, member_of, place, turn};

fn sources() -> String {
    repository().join("ops/examples/vector-databases").display().to_string()
}

fn is_in_flight(requests: &[Recorded], name: &str) -> bool {
    requests
        .iter()
        .any(|request| request.outcome == Outcome::InFlight && member_of(request) == name)
}

/// A server that holds the first calls of researcher and reviewer behind `gate`.
async fn held_team(gate: &Gate) -> ModelServer {
    let gate = gate.clone();
    let script = Script::by(move |asked| {
        let is_held = asked.turn == 1 && ["researcher", "reviewer"].contains(&member(&asked.system));
        if is_held {
            turn(asked).behind(&gate)
        } else {
            turn(asked)
        }
    });
    ModelServer::start(script.strict()).await
}

async fn hands_out_a_graph(wire: Wire) {
    let gate = Gate::closed();
    let server = held_team(&gate).await;
    let legwork = Legwork::new().with_model(&server, wire, KEY);
    let run = legwork.spawn(&["run", QUESTION, "--sources", &sources()]);

    // Neither of them is answered before both have asked: this ends only if they work at the same time.
    server
        .wait_until(|requests| is_in_flight(requests, "researcher") && is_in_flight(requests, "reviewer"))
        .await;
    let status = legwork.status().await;
    let found: Vec<_> = JOBS
        .map(|name| {
            status
                .jobs
                .iter()
                .find(|job| job.name == name)
                .expect("a job of the team")
        })
        .map(|job| (job.state, job.blocked_on))
        .into();
    let expected = [
        (JobState::Blocked, Some(BlockedOn::Children)),
        (JobState::Running, None),
        (JobState::Running, None),
        (JobState::Blocked, Some(BlockedOn::Dependencies)),
        (JobState::Blocked, Some(BlockedOn::Dependencies)),
    ];
    assert_eq!(found, expected);

    gate.open();
    assert_eq!(run.wait().await.success(), ANSWER);
    assert_eq!(server.count(), CALLS);
    let events = legwork.events().await;
    let started = |job: &str| place(&events, job, |kind| matches!(kind, EventKind::Started { .. }));
    let succeeded = |job: &str| place(&events, job, |kind| matches!(kind, EventKind::Succeeded));
    let [coordinator, researcher, reviewer, analyst, writer] = JOBS;
    assert!(started(analyst) > succeeded(researcher).max(succeeded(reviewer)));
    assert!(started(writer) > succeeded(analyst));
    assert!(succeeded(coordinator) > succeeded(writer));
}

#[tokio::test]
async fn s17_s21_a_graph_handed_out_in_one_reply_runs_in_parallel_and_in_order_on_the_openai_wire() {
    hands_out_a_graph(Wire::OpenAi).await;
}

#[tokio::test]
async fn s17_s21_a_graph_handed_out_in_one_reply_runs_in_parallel_and_in_order_on_the_anthropic_wire() {
    hands_out_a_graph(Wire::Anthropic).await;
}

#[tokio::test]
async fn an_interrupt_stops_what_a_sleeping_coordinator_waits_for_and_it_goes_on_with_what_there_is() {
    for wire in WIRES {
        let never = Gate::closed();
        let held = never.clone();
        let script = Script::by(move |asked| match (member(&asked.system), asked.turn) {
            ("reviewer", _) => turn(asked).behind(&held),
            ("coordinator", 2..) => Turn::text(format!(
                "Told: {}; found: {}",
                asked.last(),
                asked.messages.iter().any(|said| said.text.contains("For it: recall."))
            )),
            _ => turn(asked),
        });
        let server = ModelServer::start(script.strict()).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        let run = legwork.spawn(&["run", QUESTION, "--sources", &sources()]);
        server.wait_until(|requests| is_in_flight(requests, "reviewer")).await;
        wait_until("the researcher has ended", async || {
            let state = legwork.job("coordinator/researcher").await.state;
            (state == JobState::Succeeded).then_some(())
        })
        .await;
        let update = ["update", "last/coordinator", "--interrupt", "Say what you have."];
        let _ = legwork.run(&update).await.success();
        let report = run.wait().await.success();
        assert!(
            report.starts_with("Told: ") && report.contains("Say what you have."),
            "{report}"
        );
        assert!(report.ends_with("found: true\n"), "{report}");
        let ended = JOBS.map(|name| async { legwork.job(name).await.state });
        let ended = futures::future::join_all(ended).await;
        let cancelled = JobState::Cancelled;
        assert_eq!(
            ended,
            [
                JobState::Succeeded,
                JobState::Succeeded,
                cancelled,
                cancelled,
                cancelled
            ]
        );
        let asked = server.requests();
        let others = |request: &&Recorded| ["analyst", "writer"].contains(&member_of(request));
        assert_eq!(asked.iter().filter(others).count(), 0, "what was cancelled never began");
    }
}

#[tokio::test]
async fn s17_a_sleeping_coordinator_holds_no_slot_so_one_slot_is_enough_for_the_whole_graph() {
    for wire in WIRES {
        let server = ModelServer::start(Script::by(turn).strict()).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        let output = legwork
            .run(&["run", QUESTION, "--sources", &sources(), "--slots", "1"])
            .await;
        assert_eq!(output.success(), ANSWER);
        assert_eq!(server.count(), CALLS);
    }
}
