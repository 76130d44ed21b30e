//! Replies that come through whole.

use std::sync::{Arc, Mutex};

use legwork_shared::agent::{Effect, Message, ModelReply, StopReason, ToolCall, ToolReply, ToolSpec};
use legwork_shared::budget::Usage;
use legwork_tests::model_server::{CallTurn, ModelServer, Script, Turn, UsageTurn, Wire};
use legwork_worker::model::Delta;
use serde_json::json;

use crate::setup::{KEY, WIRES, ask, model_of, patient, question};

fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        model_calls: 1,
        ..Usage::default()
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

#[tokio::test]
async fn a_text_comes_whole_and_is_told_while_it_arrives() {
    for wire in WIRES {
        let server = ModelServer::start(Script::always(Turn::text("Forty two, says 地球."))).await;
        let told = Mutex::new(String::new());
        let on_delta = |delta: Delta<'_>| match delta {
            Delta::Text(text) => told.lock().expect("one thread").push_str(text),
            Delta::CallBegun { .. } => panic!("no call was scripted"),
        };
        let reply = model_of(wire, &server, patient()).chat(&question(), &on_delta).await;
        let expected = ModelReply {
            text: "Forty two, says 地球.".into(),
            calls: vec![],
            stop: StopReason::End,
            usage: usage(4, 6),
            model: "m".into(),
        };
        assert_eq!(reply, Ok(expected), "{wire:?}");
        assert_eq!(*told.lock().expect("one thread"), "Forty two, says 地球.");
    }
}

#[tokio::test]
async fn parallel_calls_come_in_order_with_their_arguments_as_written() {
    for wire in WIRES {
        let turn = Turn::calls([("read", r#"{"path": "a é"}"#), ("read", "{oops"), ("list", "{}")]);
        let reply = ask(
            wire,
            Turn {
                text: "Looking.".into(),
                ..turn
            },
        )
        .await
        .expect("a reply");
        let prefix = if wire == Wire::OpenAi { "call" } else { "toolu" };
        let expected = vec![
            call(&format!("{prefix}_1_0"), "read", r#"{"path": "a é"}"#),
            call(&format!("{prefix}_1_1"), "read", "{oops"),
            call(&format!("{prefix}_1_2"), "list", "{}"),
        ];
        assert_eq!(
            (reply.text.as_str(), reply.calls, reply.stop),
            ("Looking.", expected, StopReason::ToolCalls)
        );
    }
}

#[tokio::test]
async fn repeated_and_empty_call_ids_pass_as_they_are() {
    for wire in WIRES {
        let with_id = |id: &str, n: u8| CallTurn {
            name: "task".into(),
            arguments: format!("{{\"n\":{n}}}"),
            id: Some(id.into()),
        };
        let calls = vec![with_id("same", 1), with_id("same", 2), with_id("", 3)];
        let reply = ask(
            wire,
            Turn {
                calls,
                ..Turn::default()
            },
        )
        .await
        .expect("a reply");
        let expected = vec![
            call("same", "task", r#"{"n":1}"#),
            call("same", "task", r#"{"n":2}"#),
            call("", "task", r#"{"n":3}"#),
        ];
        assert_eq!(reply.calls, expected, "{wire:?}");
    }
}

#[tokio::test]
async fn a_cut_or_filtered_reply_says_so() {
    let cases = [
        (Wire::OpenAi, "length", StopReason::Length),
        (Wire::OpenAi, "content_filter", StopReason::ContentFilter),
        (Wire::Anthropic, "max_tokens", StopReason::Length),
        (Wire::Anthropic, "refusal", StopReason::ContentFilter),
    ];
    for (wire, word, stop) in cases {
        let turn = Turn {
            stop: Some(word.into()),
            ..Turn::calls([("write", "{\"text\": \"ab")])
        };
        let reply = ask(wire, turn).await.expect("a reply");
        assert_eq!(
            (reply.stop, reply.calls[0].arguments.as_str()),
            (stop, "{\"text\": \"ab"),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn an_empty_reply_is_a_reply() {
    for wire in WIRES {
        let reply = ask(wire, Turn::default()).await.expect("a reply");
        assert_eq!(
            (reply.text.as_str(), reply.calls.len(), reply.stop),
            ("", 0, StopReason::End)
        );
    }
}

#[tokio::test]
async fn usage_that_is_absent_or_absurd_counts_no_tokens() {
    for wire in WIRES {
        let absurd = UsageTurn::Exactly {
            input: json!(-1),
            output: json!(1_000_000_000_000_u64),
        };
        let reply = ask(
            wire,
            Turn {
                usage: absurd,
                ..Turn::text("x")
            },
        )
        .await
        .expect("a reply");
        // The first event of the Anthropic wire counts one token before the absurd count comes.
        let counted_first = u64::from(wire == Wire::Anthropic);
        assert_eq!(reply.usage, usage(0, counted_first), "{wire:?}");
        let reply = ask(
            wire,
            Turn {
                usage: UsageTurn::Absent,
                ..Turn::text("x")
            },
        )
        .await
        .expect("a reply");
        assert_eq!(reply.usage, usage(0, 0), "{wire:?}");
    }
}

#[tokio::test]
async fn nul_characters_and_other_odd_text_round_trip() {
    let text = "\0a\0b\u{fffd}\u{2028}\"\\\r\n\0";
    for wire in WIRES {
        let turn = Turn {
            text: text.into(),
            ..Turn::calls([("read", "{\"path\":\"\\u0000\\ud800\"}")])
        };
        let reply = ask(wire, turn).await.expect("a reply");
        assert_eq!(
            (reply.text.as_str(), reply.calls[0].arguments.as_str()),
            (text, "{\"path\":\"\\u0000\\ud800\"}")
        );
    }
}

#[tokio::test]
async fn the_key_goes_in_its_header_and_the_request_names_the_wire_version() {
    for (wire, header, value) in [
        (Wire::OpenAi, "authorization", format!("Bearer {KEY}")),
        (Wire::Anthropic, "x-api-key", KEY.to_owned()),
    ] {
        let server = ModelServer::start(Script::always(Turn::text("x"))).await;
        model_of(wire, &server, patient())
            .chat(&question(), &|_| ())
            .await
            .expect("a reply");
        let request = server.requests().remove(0);
        assert_eq!(request.headers.get(header), Some(&value));
        assert_eq!(
            request.headers.contains_key("anthropic-version"),
            wire == Wire::Anthropic
        );
        assert!(request.headers["user-agent"].starts_with("legwork/"));
        assert!(!request.body.to_string().contains(KEY));
    }
}

#[tokio::test]
async fn a_conversation_with_calls_is_taken_by_a_strict_provider() {
    for wire in WIRES {
        let script = Script::by(|asked| match asked.turn {
            1 => Turn::calls([("read", "{\"path\":\"a\"}"), ("no.such", "{oops")]),
            _ => Turn::text(format!("Read: {}", asked.last())),
        });
        let server = ModelServer::start(script.strict()).await;
        let model = model_of(wire, &server, patient());
        let mut request = question();
        request.tools = [Arc::new(ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({ "type": "object" }),
            effect: Effect::None,
        })]
        .into();
        let first = model.chat(&request, &|_| ()).await.expect("a reply");
        let results = first.calls.iter().zip(["A", "B"]).map(|(call, content)| {
            let name = call.name.clone();
            Message::Tool(ToolReply {
                call_id: call.id.clone(),
                name,
                content: content.into(),
                error: content == "B",
            })
        });
        let results: Vec<_> = results.collect();
        request.messages.push(Message::Assistant {
            text: first.text,
            calls: first.calls,
        });
        request.messages.extend(results);
        request.messages.push(Message::User { text: "Hurry.".into() });
        let second = model.chat(&request, &|_| ()).await.expect("a reply");
        let expected = if wire == Wire::OpenAi {
            "Read: Hurry."
        } else {
            "Read: A\nB\nHurry."
        };
        assert_eq!(second.text, expected);
        assert_eq!(server.requests()[1].turn, 2);
    }
}

#[tokio::test]
async fn a_huge_text_comes_whole() {
    let text = format!("{} ", "wörter".repeat(100)).repeat(3_000);
    for wire in WIRES {
        let reply = ask(wire, Turn::text(text.clone())).await.expect("a reply");
        assert!(
            reply.text == text,
            "{wire:?}: {} bytes of {}",
            reply.text.len(),
            text.len()
        );
    }
}
