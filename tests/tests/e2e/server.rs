//! The same program with its store on a server.

use legwork_tests::harness::{Legwork, repository};
use legwork_tests::redis_server::RedisServer;
use legwork_worker::extract::check_citations;
use serde_json::Value;

fn on(server: &RedisServer) -> Legwork {
    Legwork::new().with_store(&server.address("lw"))
}

#[tokio::test]
async fn a_question_is_answered_with_the_store_on_a_server() {
    let server = RedisServer::start().unwrap();
    let sources = repository().join("ops/examples/vector-databases");
    let folder = sources.display().to_string();
    let legwork = on(&server);
    let question = "Advantages and drawbacks of vector databases";
    let report = legwork.run(&["run", question, "--sources", &folder]).await.success();
    let checked = check_citations(&report, &sources).unwrap_or_else(|faults| panic!("{faults:#?}"));
    assert!(checked.checked > 20, "only {} quotes", checked.checked);
    // Another user of the server, with folders of its own, sees the same run.
    let runs: Value = on(&server).run(&["list", "--json"]).await.json();
    assert!(runs.to_string().contains("succeeded"), "{runs}");
}

#[tokio::test]
async fn d57_the_password_of_a_server_is_never_shown() {
    const PASSWORD: &str = "canary-of-a-password";
    let server = RedisServer::start_with(&["--appendonly", "yes"]).unwrap();
    let address = |password: &str| format!("unix://{}?pass={password}", server.socket().display());
    assert!(server.ask(&format!("CONFIG SET requirepass {PASSWORD}")).is_some());
    for password in [PASSWORD, "canary-of-a-password-that-is-wrong"] {
        let legwork = Legwork::new().with_store(&address(password));
        for command in [&["config"][..], &["doctor"], &["list"], &["-vv", "doctor", "--json"]] {
            let output = legwork.run(command).await;
            let is_known = password == PASSWORD || command == ["config"];
            assert_eq!(output.code == Some(0), is_known, "{output}");
            let told = format!("{}{}", output.stdout, output.stderr);
            assert!(!told.contains("canary"), "{command:?}: {told}");
        }
    }
}

#[tokio::test]
async fn a_server_that_would_lose_work_is_refused_with_what_to_change() {
    let server = RedisServer::start_with(&["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"]).unwrap();
    let output = on(&server).run(&["list"]).await.expect_code(2);
    assert!(output.stderr.contains("LW0406"), "{}", output.stderr);
    assert!(output.stderr.contains("noeviction"), "{}", output.stderr);
}
