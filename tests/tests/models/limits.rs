//! Replies without measure are refused, and not asked for again.

use legwork_tests::model_server::{CallTurn, Fault, Turn};
use legwork_worker::model::{ErrorClass, ModelErrorCode, ModelLimits};

use crate::setup::{WIRES, ask_within, error_within, patient};

#[tokio::test]
async fn every_part_of_a_reply_is_bounded_and_what_just_fits_comes_through() {
    let call = |arguments: usize| CallTurn {
        name: "f".into(),
        arguments: "1".repeat(arguments),
        id: None,
    };
    let calls = |calls: Vec<CallTurn>| Turn {
        calls,
        ..Turn::default()
    };
    let limits = ModelLimits {
        text_bytes_max: 1_000,
        arguments_bytes_max: 100,
        calls_max: 3,
        event_bytes_max: 4_096,
        ..patient()
    };
    let cases = [
        (
            Turn::text("x".repeat(1_000)),
            Turn::text("x".repeat(1_001)),
            "more than 1000 bytes of text",
        ),
        (
            calls(vec![call(100)]),
            calls(vec![call(101)]),
            "more than 100 bytes of arguments in one tool call",
        ),
        (
            calls(vec![call(1); 3]),
            calls(vec![call(1); 4]),
            "more than 3 tool calls",
        ),
    ];
    for wire in WIRES {
        for (fits, too_large, message) in cases.clone() {
            ask_within(wire, fits, limits).await.expect("it just fits");
            let error = error_within(wire, too_large, limits).await;
            assert_eq!((error.class, error.code), (ErrorClass::Fatal, ModelErrorCode::TooLarge));
            assert!(error.message.ends_with(message), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn an_event_without_end_is_refused_before_it_is_kept() {
    let limits = ModelLimits {
        event_bytes_max: 4_096,
        ..patient()
    };
    let endless = "x".repeat(1 << 20);
    for wire in WIRES {
        let event = Fault::Event {
            after: 1,
            data: endless.clone(),
        };
        let json = Fault::Body {
            content_type: "application/json".into(),
            text: format!("{{\"a\":\"{endless}\"}}"),
        };
        for fault in [event, json] {
            let error = error_within(wire, Turn::text("x").with_fault(fault), limits).await;
            assert_eq!(
                (error.class, error.code),
                (ErrorClass::Fatal, ModelErrorCode::TooLarge),
                "{}",
                error.message
            );
        }
    }
}

#[tokio::test]
async fn partial_text_in_an_error_is_cut() {
    let limits = ModelLimits {
        text_bytes_max: 200_000,
        ..patient()
    };
    for wire in WIRES {
        let error = error_within(wire, Turn::text("word".repeat(60_000)), limits).await;
        assert_eq!(error.partial.len(), 64 << 10);
    }
}
