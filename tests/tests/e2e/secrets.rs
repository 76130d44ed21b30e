//! Keys: refused ones are told clearly, and none comes to light anywhere.

use std::path::{Path, PathBuf};

use legwork_shared::run::RunState;
use legwork_tests::harness::{Legwork, Output};
use legwork_tests::model_server::{ModelServer, Script, Turn};

use crate::team::{WIRES, turn};

/// A key that must not be found again.
const CANARY: &str = "sk-canary-0f3a9c1e7b5d";

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

/// Every file that the program wrote, the store and its log first of all.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn assert_no_key(legwork: &Legwork, outputs: &[&Output]) {
    for output in outputs {
        assert!(!output.to_string().contains(CANARY), "the key is in {output}");
    }
    let files = files(legwork.folder());
    assert!(files.contains(&legwork.store().to_owned()), "{files:?}");
    for file in files {
        let bytes = std::fs::read(&file).expect("a file");
        assert!(!contains(&bytes, CANARY), "the key is in {}", file.display());
    }
}

#[tokio::test]
async fn d57_no_key_is_in_any_output_log_or_file() {
    for wire in WIRES {
        let server = ModelServer::start(Script::by(turn).strict()).await;
        let legwork = Legwork::in_a_file()
            .with_model(&server, wire, CANARY)
            .with_env("LEGWORK_LOG", "trace");
        legwork.write("docs/a.md", "Recall is high. Memory is dear.");
        let run = legwork
            .run(&["run", "Worth it?", "--sources", "docs"])
            .await
            .expect_code(0);
        let verbose = legwork
            .run(&["-vv", "run", "Worth it?", "--sources", "docs"])
            .await
            .expect_code(0);
        assert!(verbose.stderr.contains("DEBUG"), "the logs are on: {verbose}");
        let sent = server.requests();
        assert!(
            sent.iter()
                .all(|request| request.headers.values().any(|value| value.contains(CANARY))),
            "the key goes to the provider"
        );
        let mut outputs = vec![run, verbose];
        for args in [
            &["config"][..],
            &["config", "--json"],
            &["doctor"],
            &["status", "--json"],
            &["watch", "--json"],
            &["logs", "last/coordinator", "--full"],
            &["logs", "last/coordinator/researcher", "--full", "--json"],
        ] {
            outputs.push(legwork.run(args).await.expect_code(0));
        }
        assert_no_key(&legwork, &outputs.iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_key_that_the_provider_refuses_is_told_as_such_and_not_shown() {
    for wire in WIRES {
        let server = ModelServer::start(Script::always(Turn::status(401))).await;
        let legwork = Legwork::in_a_file().with_model(&server, wire, CANARY);
        let output = legwork.run(&["-vv", "run", "Worth it?"]).await.expect_code(2);
        assert!(output.stderr.contains("error[LW0502]"), "{output}");
        assert!(output.stderr.contains("  help: set a valid key"), "{output}");
        assert_eq!(server.count(), 1, "a refused key is not tried again");
        assert_eq!(legwork.status().await.run.state, RunState::Failed);
        assert_no_key(&legwork, &[&output]);
    }
}
