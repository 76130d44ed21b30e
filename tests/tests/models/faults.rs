//! Wires that break: nothing but a complete reply is a reply.

use legwork_shared::budget::Usage;
use legwork_tests::model_server::{Cut, Fault, ModelServer, Script, Turn, Wire};
use legwork_worker::model::{ErrorClass, ModelErrorCode as Code, ModelLimits};

use crate::setup::{WIRES, ask, error_of, error_within, model_at, model_of, patient, question};

const RETRY: ErrorClass = ErrorClass::Retryable { after_ms: None };

fn body(content_type: &str, text: impl Into<String>) -> Turn {
    Turn::default().with_fault(Fault::Body {
        content_type: content_type.into(),
        text: text.into(),
    })
}

/// The number of events until "The result is" has been sent.
fn events_of_partial_text(wire: Wire) -> usize {
    match wire {
        Wire::OpenAi => 4,
        Wire::Anthropic => 5,
    }
}

/// The number of events of a reply of one word, its end marker included.
fn events_of_one_word(wire: Wire) -> usize {
    match wire {
        Wire::OpenAi => 5,
        Wire::Anthropic => 6,
    }
}

#[tokio::test]
async fn a_stream_that_is_closed_cleanly_before_its_end_is_incomplete() {
    for wire in WIRES {
        let cut = Fault::Cut {
            after: events_of_partial_text(wire),
            how: Cut::Clean,
        };
        let error = error_of(wire, Turn::text("The result is 42").with_fault(cut)).await;
        assert_eq!(
            (error.class, error.code, error.partial.as_str()),
            (RETRY, Code::Incomplete, "The result is ")
        );
        assert_eq!(error.status, None);
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_anywhere_before_its_end_is_never_a_reply() {
    for wire in WIRES {
        let end = events_of_one_word(wire);
        for after in 0..end {
            let cut = Fault::Cut { after, how: Cut::Clean };
            let outcome = ask(wire, Turn::text("word").with_fault(cut)).await;
            // On the OpenAI wire a clean end after the finish reason is an end, with or without usage and `[DONE]`.
            let may_end = wire == Wire::OpenAi && after >= 3;
            assert_eq!(outcome.is_ok(), may_end, "{wire:?} cut after {after}: {outcome:?}");
        }
        let whole = Fault::Cut {
            after: end,
            how: Cut::Clean,
        };
        assert_eq!(
            ask(wire, Turn::text("word").with_fault(whole))
                .await
                .expect("a reply")
                .text,
            "word"
        );
    }
}

#[tokio::test]
async fn a_stream_that_is_reset_is_a_broken_connection() {
    for wire in WIRES {
        let cut = Fault::Cut {
            after: events_of_partial_text(wire),
            how: Cut::Reset,
        };
        let error = error_of(wire, Turn::text("The result is 42").with_fault(cut)).await;
        assert_eq!((error.class, error.code), (RETRY, Code::Connection));
        assert_eq!(error.partial, "The result is ");
        assert!(error.message.contains("reset by peer"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_silent_stream_times_out_and_keeps_what_had_come() {
    let limits = ModelLimits {
        idle_timeout_ms: 300,
        ..patient()
    };
    for wire in WIRES {
        let stall = Fault::Stall {
            after: events_of_partial_text(wire),
        };
        let error = error_within(wire, Turn::text("The result is 42").with_fault(stall), limits).await;
        assert_eq!(
            (error.class, error.code, error.partial.as_str()),
            (RETRY, Code::Timeout, "The result is ")
        );
        assert!(error.message.ends_with("was silent for 300 ms"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_provider_that_never_answers_times_out() {
    let limits = ModelLimits {
        idle_timeout_ms: 200,
        ..patient()
    };
    for wire in WIRES {
        let error = error_within(
            wire,
            Turn {
                delay_ms: 60_000,
                ..Turn::text("x")
            },
            limits,
        )
        .await;
        assert_eq!((error.class, error.code), (RETRY, Code::Timeout));
    }
}

#[tokio::test]
async fn a_stream_that_drips_for_ever_ends_with_the_call_as_a_whole() {
    let limits = ModelLimits {
        call_timeout_ms: 1_000,
        ..patient()
    };
    for wire in WIRES {
        let drip = Turn {
            token_gap_ms: 20,
            ..Turn::text("tick ".repeat(1_000))
        };
        let error = error_within(wire, drip, limits).await;
        assert_eq!((error.class, error.code), (RETRY, Code::Timeout));
        assert!(
            error.message.ends_with("was not done after 1000 ms"),
            "{}",
            error.message
        );
        assert!(error.partial.starts_with("tick "), "{}", error.partial);
    }
}

#[tokio::test]
async fn an_empty_body_and_a_web_page_are_no_replies() {
    for wire in WIRES {
        for content_type in ["text/event-stream", "application/json", ""] {
            let error = error_of(wire, body(content_type, "")).await;
            assert_eq!((error.class, error.code), (RETRY, Code::Incomplete));
        }
        let page = error_of(wire, body("text/html", "<!doctype html><title>Sign in</title>")).await;
        assert_eq!((page.class, page.code), (ErrorClass::Fatal, Code::Protocol));
        assert!(page.message.contains("is the base URL right?"), "{}", page.message);
    }
}

#[tokio::test]
async fn an_error_under_status_200_is_classified_by_its_words() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let unauthorized = r#"{"error":{"type":"authentication_error","message":"no"}}"#;
    for wire in WIRES {
        for content_type in ["application/json", "text/event-stream", "text/plain"] {
            let error = error_of(wire, body(content_type, overloaded)).await;
            assert_eq!((error.class, error.code), (RETRY, Code::Overloaded));
            let error = error_of(wire, body(content_type, unauthorized)).await;
            assert_eq!((error.class, error.code), (ErrorClass::Fatal, Code::Unauthorized));
        }
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_keeps_the_partial_text_and_the_usage() {
    let data = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for wire in WIRES {
        let event = Fault::Event {
            after: events_of_partial_text(wire),
            data: data.into(),
        };
        let error = error_of(wire, Turn::text("The result is 42").with_fault(event)).await;
        assert_eq!(
            (error.class, error.code, error.partial.as_str()),
            (RETRY, Code::Overloaded, "The result is ")
        );
        // Only the Anthropic wire counts before the end.
        let counted = Usage {
            input_tokens: 4,
            output_tokens: 1,
            model_calls: 1,
            ..Usage::default()
        };
        assert_eq!(error.usage, (wire == Wire::Anthropic).then_some(counted));
    }
}

#[tokio::test]
async fn garbled_and_too_deep_events_are_typed_errors() {
    let deep = format!("{{\"choices\":{}", "[".repeat(200_000));
    for wire in WIRES {
        for data in ["{\"choices\":[{\"del", "nonsense", "[1,2]", &deep] {
            let event = Fault::Event {
                after: 1,
                data: format!("{data}\n\ndata: {{}}"),
            };
            let error = error_of(wire, Turn::text("x").with_fault(event)).await;
            assert_eq!((error.class, error.code), (RETRY, Code::Protocol), "{}", error.message);
            assert!(error.message.len() < 700);
        }
    }
}

#[tokio::test]
async fn no_server_is_a_connection_error_that_says_where() {
    for wire in WIRES {
        let server = ModelServer::start(Script::always(Turn::text("x"))).await;
        let model = model_of(wire, &server, patient());
        let port = server.port();
        server.stop().await;
        let error = model.chat(&question(), &|_| ()).await.expect_err("nobody listens");
        assert_eq!((error.class, error.code), (RETRY, Code::Connection));
        assert!(
            error.message.contains(&format!("127.0.0.1:{port}")),
            "{}",
            error.message
        );
        assert!(error.message.contains("refused"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_failed_tls_handshake_and_an_unknown_host_are_connection_errors() {
    for wire in WIRES {
        let server = ModelServer::start(Script::always(Turn::text("x"))).await;
        for base_url in [
            format!("https://127.0.0.1:{}", server.port()),
            "http://host.invalid".to_owned(),
        ] {
            let error = model_at(wire, &base_url, patient())
                .chat(&question(), &|_| ())
                .await
                .expect_err("no model");
            assert_eq!(
                (error.class, error.code),
                (RETRY, Code::Connection),
                "{}",
                error.message
            );
        }
        assert_eq!(server.count(), 0);
    }
}
