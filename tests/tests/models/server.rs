//! The scripted server itself, where the tests of the models do not reach.

use legwork_tests::model_server::{ModelServer, Rule, Script, Turn, When};
use legwork_worker::model::ModelErrorCode;

use crate::setup::{WIRES, model_of, patient, question};

#[tokio::test]
async fn a_request_that_no_rule_matches_is_refused_and_recorded() {
    for wire in WIRES {
        let server = ModelServer::start(Script::rules(vec![])).await;
        let error = model_of(wire, &server, patient())
            .chat(&question(), &|_| ())
            .await
            .expect_err("no rule");
        assert_eq!(error.code, ModelErrorCode::BadRequest);
        assert!(
            error.message.ends_with("no rule of the script matches"),
            "{}",
            error.message
        );
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn the_record_names_the_rule_that_answered() {
    for wire in WIRES {
        let when = When {
            system_contains: Some("brief".into()),
            turn: Some(1),
            ..When::default()
        };
        let rule = Rule {
            agent: Some("scout".into()),
            when,
            reply: Turn::text("x"),
            times: None,
        };
        let server = ModelServer::start(Script::rules(vec![rule])).await;
        model_of(wire, &server, patient())
            .chat(&question(), &|_| ())
            .await
            .expect("a reply");
        let request = server.requests().remove(0);
        assert_eq!(
            (request.agent.as_deref(), request.turn, request.wire),
            (Some("scout"), 1, wire)
        );
        assert_eq!(request.body["model"], "m");
    }
}

#[tokio::test]
async fn a_strict_server_refuses_a_conversation_that_does_not_pair() {
    use legwork_shared::agent::{Message, ToolCall};
    for wire in WIRES {
        let server = ModelServer::start(Script::always(Turn::text("x")).strict()).await;
        let mut request = question();
        let call = ToolCall {
            id: "1".into(),
            name: "read".into(),
            arguments: "{}".into(),
        };
        request.messages.push(Message::Assistant {
            text: String::new(),
            calls: vec![call],
        });
        let error = model_of(wire, &server, patient())
            .chat(&request, &|_| ())
            .await
            .expect_err("unpaired");
        assert!(
            error.message.ends_with("the last calls have no results"),
            "{}",
            error.message
        );
    }
}
