//! A call that is given up leaves nothing behind.

use legwork_tests::model_server::{ModelServer, Outcome, Script, Turn};
use tokio::sync::Notify;

use crate::setup::{WIRES, model_of, patient, question};

#[tokio::test]
async fn dropping_the_call_closes_the_connection_in_the_middle_of_a_stream() {
    for wire in WIRES {
        let turn = Turn {
            token_gap_ms: 10,
            ..Turn::text("tick ".repeat(2_000))
        };
        let server = ModelServer::start(Script::always(turn)).await;
        let model = model_of(wire, &server, patient());
        let begun = Notify::new();
        let (request, on_delta) = (question(), |_: legwork_worker::model::Delta<'_>| begun.notify_one());
        tokio::select! {
            outcome = model.chat(&request, &on_delta) => panic!("the stream is endless: {outcome:?}"),
            () = begun.notified() => {}
        }
        let requests = server
            .wait_until(|requests| requests[0].outcome != Outcome::InFlight)
            .await;
        assert_eq!(
            (requests.len(), requests[0].outcome),
            (1, Outcome::ClientLeft),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection_before_the_answer() {
    for wire in WIRES {
        let server = ModelServer::start(Script::always(Turn {
            delay_ms: 600_000,
            ..Turn::text("x")
        }))
        .await;
        let model = model_of(wire, &server, patient());
        let request = question();
        tokio::select! {
            outcome = model.chat(&request, &|_| ()) => panic!("the answer is far away: {outcome:?}"),
            _ = server.wait_until(|requests| !requests.is_empty()) => {}
        }
        let requests = server
            .wait_until(|requests| requests[0].outcome != Outcome::InFlight)
            .await;
        assert_eq!(requests[0].outcome, Outcome::ClientLeft, "{wire:?}");
    }
}
