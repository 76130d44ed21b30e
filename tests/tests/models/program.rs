//! The scripted server as a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use legwork_tests::model_server::Wire;
use serde_json::Value;

use crate::setup::{KEY, model_at, patient, question};

/// Ends the process with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_program_answers_by_its_script_and_logs_each_request_without_the_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let (script, log) = (folder.path().join("script.yaml"), folder.path().join("requests.jsonl"));
    let rules = "- agent: scout\n  when: { last_contains: Hello }\n  reply: { text: Hi }\n";
    std::fs::write(&script, rules).expect("a script");
    let mut command = Command::new(env!("CARGO_BIN_EXE_model-server"));
    command
        .arg(&script)
        .arg("--log")
        .arg(&log)
        .arg("--strict")
        .stdout(Stdio::piped());
    let mut running = Running(command.spawn().expect("the program"));
    let mut line = String::new();
    let output = running.0.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut line).expect("its address");
    let address: Value = serde_json::from_str(&line).expect("one line of JSON");

    for (wire, key) in [
        (Wire::OpenAi, "openai_base_url"),
        (Wire::Anthropic, "anthropic_base_url"),
    ] {
        let model = model_at(wire, address[key].as_str().expect("a URL"), patient());
        assert_eq!(model.chat(&question(), &|_| ()).await.expect("a reply").text, "Hi");
    }
    let log = std::fs::read_to_string(&log).expect("a log");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let seen: Vec<_> = lines
        .iter()
        .map(|line| (&line["wire"], &line["agent"], &line["turn"]))
        .collect();
    let expected = [("openai", "scout", 1), ("anthropic", "scout", 1)];
    assert_eq!(seen.len(), expected.len());
    for (seen, expected) in seen.iter().zip(expected) {
        assert_eq!(
            (seen.0 == expected.0, seen.1 == expected.1, seen.2 == expected.2),
            (true, true, true),
            "{seen:?}"
        );
    }
    assert!(!log.contains(KEY));
}
