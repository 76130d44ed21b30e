//! Refusals by status.

use std::collections::BTreeMap;

use legwork_tests::model_server::{Fault, ModelServer, Script, Turn};
use legwork_worker::model::{ErrorClass, ModelErrorCode as Code};

use crate::setup::{KEY, WIRES, ask, error_of, model_of, patient, question};

#[tokio::test]
async fn each_status_is_retried_or_not_as_it_should_be() {
    let cases = [
        (400, Code::BadRequest, false),
        (401, Code::Unauthorized, false),
        (403, Code::Unauthorized, false),
        (404, Code::NotFound, false),
        (413, Code::TooLarge, false),
        (422, Code::BadRequest, false),
        (408, Code::Timeout, true),
        (409, Code::Unavailable, true),
        (429, Code::RateLimited, true),
        (500, Code::Unavailable, true),
        (502, Code::Unavailable, true),
        (503, Code::Unavailable, true),
        (504, Code::Unavailable, true),
        (529, Code::Overloaded, true),
    ];
    for wire in WIRES {
        for (status, code, retryable) in cases {
            let error = error_of(wire, Turn::status(status)).await;
            assert_eq!(
                (error.status, error.code, error.is_retryable()),
                (Some(status), code, retryable),
                "{wire:?}"
            );
            assert!(
                error.message.ends_with(&format!("refused: scripted {status}")),
                "{}",
                error.message
            );
        }
    }
}

#[tokio::test]
async fn a_wait_that_the_provider_asks_for_is_obeyed_and_bounded() {
    for wire in WIRES {
        let after = |text: &'static str| async move { error_of(wire, Turn::status_after(429, text)).await.class };
        assert_eq!(after("7").await, ErrorClass::Retryable { after_ms: Some(7_000) });
        assert_eq!(
            after("Sun, 06 Nov 1994 08:49:37 GMT").await,
            ErrorClass::Retryable { after_ms: Some(0) }
        );
        assert_eq!(
            after("Tue, 31 Dec 2999 23:59:59 GMT").await,
            ErrorClass::Retryable {
                after_ms: Some(3_600_000)
            }
        );
        assert_eq!(
            after("999999").await,
            ErrorClass::Retryable {
                after_ms: Some(3_600_000)
            }
        );
        assert_eq!(after("soon").await, ErrorClass::Retryable { after_ms: None });
        let unavailable = error_of(wire, Turn::status_after(503, "2")).await;
        assert_eq!(unavailable.class, ErrorClass::Retryable { after_ms: Some(2_000) });
        let fatal = error_of(wire, Turn::status_after(401, "2")).await;
        assert_eq!(fatal.class, ErrorClass::Fatal);
    }
}

fn refusal(status: u16, headers: &[(&str, &str)], body: impl Into<String>) -> Turn {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let headers: BTreeMap<_, _> = headers.collect();
    Turn::default().with_fault(Fault::Status {
        status,
        headers,
        body: Some(body.into()),
    })
}

#[tokio::test]
async fn a_wait_in_milliseconds_goes_first() {
    for wire in WIRES {
        let error = error_of(
            wire,
            refusal(429, &[("retry-after-ms", "250"), ("retry-after", "9")], "{}"),
        )
        .await;
        assert_eq!(error.class, ErrorClass::Retryable { after_ms: Some(250) });
    }
}

#[tokio::test]
async fn a_used_up_account_is_not_retried() {
    let openai = r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota"}}"#;
    let anthropic =
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#;
    for wire in WIRES {
        for (status, body) in [(429, openai), (400, anthropic)] {
            let error = error_of(wire, refusal(status, &[("retry-after", "1")], body)).await;
            assert_eq!((error.class, error.code), (ErrorClass::Fatal, Code::QuotaExhausted));
        }
    }
}

#[tokio::test]
async fn a_provider_that_echoes_the_key_does_not_bring_it_to_light() {
    for wire in WIRES {
        let body = format!(r#"{{"error":{{"type":"authentication_error","message":"bad key {KEY} sent"}}}}"#);
        let error = error_of(wire, refusal(401, &[], body)).await;
        assert!(
            error.message.ends_with("refused: bad key *** sent"),
            "{}",
            error.message
        );
        let plain = error_of(wire, refusal(500, &[], format!("headers: Bearer {KEY}"))).await;
        assert!(
            plain.message.ends_with("refused: headers: Bearer ***"),
            "{}",
            plain.message
        );
    }
}

#[tokio::test]
async fn an_error_page_is_not_quoted_and_a_long_message_is_cut() {
    for wire in WIRES {
        let page = error_of(wire, refusal(502, &[], "<html><h1>Bad gateway</h1></html>")).await;
        assert!(page.message.ends_with("refused: an HTML page"), "{}", page.message);
        let long = error_of(wire, refusal(500, &[], "x ".repeat(500_000))).await;
        assert!(long.message.chars().count() < 600, "{}", long.message.len());
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    for wire in WIRES {
        let other = ModelServer::start(Script::always(Turn::text("stolen"))).await;
        let to = format!("{}/chat/completions", other.openai_base_url());
        let error = error_of(wire, refusal(307, &[("location", &to)], "")).await;
        assert_eq!(
            (error.status, error.code, error.class),
            (Some(307), Code::Protocol, ErrorClass::Fatal)
        );
        assert_eq!(other.count(), 0);
    }
}

#[tokio::test]
async fn a_call_after_a_refused_one_succeeds() {
    for wire in WIRES {
        let script = Script::sequence([Turn::status(529), Turn::status_after(429, "0"), Turn::text("at last")]);
        let server = ModelServer::start(script).await;
        let model = model_of(wire, &server, patient());
        let mut codes = Vec::new();
        for _ in 0..2 {
            codes.push(model.chat(&question(), &|_| ()).await.expect_err("refused").code);
        }
        let reply = model.chat(&question(), &|_| ()).await.expect("a reply");
        assert_eq!(
            (codes, reply.text.as_str()),
            (vec![Code::Overloaded, Code::RateLimited], "at last")
        );
        assert_eq!(server.count(), 3);
    }
}

#[tokio::test]
async fn nothing_retries_by_itself() {
    for wire in WIRES {
        let server = ModelServer::start(Script::always(Turn::status(503))).await;
        model_of(wire, &server, patient())
            .chat(&question(), &|_| ())
            .await
            .expect_err("refused");
        assert_eq!(server.count(), 1);
    }
    ask(WIRES[0], Turn::text("x")).await.expect("a reply");
}
