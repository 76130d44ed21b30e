//! Texts that break programs: NUL, bytes that are no text, halves of characters.

use legwork_shared::job::JobState;
use legwork_shared::wire::RunResult;
use legwork_tests::harness::Legwork;
use legwork_tests::model_server::{ModelServer, Script, Turn};

use crate::team::{KEY, WIRES};

#[tokio::test]
async fn d28_a_nul_character_goes_through_and_comes_back() {
    for wire in WIRES {
        let text = "\u{0}start mid\u{0}dle end\u{0}.";
        let server = ModelServer::start(Script::always(Turn::text(text))).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        let plan = r#"{"jobs": [{"id": "a", "agent": "researcher", "description": "\u0000What\u0000 now?\u0000"}]}"#;
        let output = legwork.run_with_stdin(&["run", "--plan", "-"], plan.as_bytes()).await;
        let _ = output.success();
        let result: RunResult = legwork.json(&["result"]).await;
        assert_eq!(result.results[0].text, text);
        let asked = server.requests()[0].body.to_string();
        assert!(asked.contains(r"\u0000What\u0000 now?"), "{asked}");
    }
}

#[tokio::test]
async fn d29_documents_that_are_no_text_disturb_nobody() {
    for wire in WIRES {
        let script = Script::by(|asked| match asked.turn {
            1 => Turn::calls([
                ("ls", r#"{"path": "sources"}"#),
                ("grep", r#"{"pattern": "caf"}"#),
                ("search_docs", r#"{"query": "coffee"}"#),
            ]),
            _ => Turn::text("Looked."),
        });
        let server = ModelServer::start(script.strict()).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        legwork.write("docs/latin.txt", b"caf\xe9 and coffee\n");
        legwork.write("docs/bytes.bin", b"\xf0\x28\xff\x00\x01");
        legwork.write("docs/good.md", "Coffee is good.");
        let run = legwork
            .run(&["run", "Coffee?", "--agent", "researcher", "--sources", "docs"])
            .await;
        assert_eq!(run.success(), "Looked.\n");
        assert_eq!(legwork.job("researcher").await.state, JobState::Succeeded);
        let _ = legwork.run(&["logs", "last/researcher", "--full"]).await.success();
    }
    let legwork = Legwork::new();
    legwork.write("docs/bytes.txt", b"Coffee \xf0\x28\xff is an advantage.\n");
    legwork.write("docs/good.md", "An advantage of coffee is that it is fast.\n");
    let _ = legwork
        .run(&["run", "Advantages of coffee?", "--sources", "docs"])
        .await
        .success();
}

#[tokio::test]
async fn d30_an_escaped_character_outside_the_plane_is_one_character_and_half_a_one_breaks_nothing() {
    for wire in WIRES {
        let script = Script::by(|asked| match asked.turn {
            1 => Turn::calls([
                ("write_file", r#"{"path": "a.md", "content": "glass \ud83c\udf78"}"#),
                ("write_file", r#"{"path": "b.md", "content": "half \ud800"}"#),
                ("write_file", r#"{"path": "c.md", "content": "turned \udf78\ud83c"}"#),
            ]),
            2 => Turn::calls([("read_file", r#"{"path": "a.md"}"#)]),
            _ => Turn::text(format!("Read: {} 🍸", asked.last().contains("glass 🍸"))),
        });
        let server = ModelServer::start(script.strict()).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        let run = legwork.run(&["run", "Drink?", "--agent", "general-purpose"]).await;
        assert_eq!(run.success(), "Read: true 🍸\n");
    }
}
