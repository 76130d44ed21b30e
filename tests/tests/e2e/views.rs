//! What the program shows: every view as text and as JSON, short names, pipes.

use std::process::Stdio;

use legwork_shared::wire::{JobList, RunResult, RunStatus};
use legwork_tests::harness::{Legwork, program};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

const PLAN: &str = r#"
title: Three steps
agents:
  speaker: {runner: {kind: scripted, script: "turns: [{text: 'Said: {last_user}'}]"}}
jobs:
  - {id: first, agent: speaker, description: Begin.}
  - {id: second, agent: speaker, description: Go on., depends_on: [first]}
  - {id: third, agent: speaker, description: End., depends_on: [second]}
"#;

/// A folder with a run that has succeeded, and the id of that run.
async fn finished() -> (Legwork, String) {
    let legwork = Legwork::new();
    let run = finish(&legwork).await;
    (legwork, run)
}

async fn finish(legwork: &Legwork) -> String {
    let output = legwork.run_with_stdin(&["run", "--plan", "-"], PLAN.as_bytes()).await;
    assert!(output.clone().success().contains("Said: "), "{output}");
    legwork.status().await.run.id.to_string()
}

#[tokio::test]
async fn every_view_is_there_as_text_and_as_json() {
    let (legwork, run) = finished().await;
    let job = format!("{run}/second");
    for args in [
        &["status", &run][..],
        &["list"],
        &["list", "--jobs"],
        &["result", &run],
        &["result", &job],
        &["graph", &run],
        &["agents"],
        &["agents", "researcher"],
        &["config"],
        &["doctor"],
    ] {
        let text = legwork.run(args).await.success();
        assert!(!text.trim().is_empty(), "{args:?}");
        let json: Value = legwork.json(args).await;
        assert!(json.is_object() || json.is_array(), "{args:?}: {json}");
    }
    for args in [&["watch", &run][..], &["logs", &job]] {
        assert!(!legwork.run(args).await.success().trim().is_empty(), "{args:?}");
        let lines: Vec<Value> = legwork
            .run(&[&["--json"], args].concat())
            .await
            .expect_code(0)
            .json_lines();
        assert!(lines.len() > 1, "{args:?}: {lines:?}");
    }
}

#[tokio::test]
async fn the_graph_is_drawn_in_three_languages_with_every_edge() {
    let (legwork, run) = finished().await;
    let dot = legwork.run(&["graph", &run, "--dot"]).await.success();
    assert!(dot.starts_with("digraph") && dot.matches(" -> ").count() == 2, "{dot}");
    let mermaid = legwork.run(&["graph", &run, "--mermaid"]).await.success();
    assert!(
        mermaid.contains("flowchart") && mermaid.matches("-->").count() == 2,
        "{mermaid}"
    );
    let _ = legwork
        .run(&["graph", &run, "--svg", "--out", "run.svg"])
        .await
        .success();
    let svg = legwork.read("run.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for name in ["first", "second", "third"] {
        assert!(
            dot.contains(name) && mermaid.contains(name) && svg.contains(name),
            "{name}"
        );
    }
}

#[tokio::test]
async fn runs_and_jobs_are_found_by_the_beginning_of_their_ids_and_by_name() {
    let (legwork, run) = finished().await;
    let status: RunStatus = legwork.json(&["status", &run[..run.len() - 2]]).await;
    assert_eq!(status.run.id.to_string(), run);
    let id = status.jobs[1].id;
    let jobs: JobList = legwork.json(&["list", "--jobs", "--run", "last"]).await;
    assert_eq!(jobs.jobs.len(), 3);
    let prefix = id.to_string();
    for name in [&prefix[..prefix.len() - 1], "second", "last/second"] {
        let found: RunResult = legwork.json(&["result", name]).await;
        assert_eq!(found.results[0].job, id, "{name}");
    }
    let output = legwork.run(&["status", "run_nothing"]).await.expect_code(2);
    assert!(output.stderr.contains("error[LW06"), "{output}");
    let _ = legwork
        .run_with_stdin(&["run", "--plan", "-"], PLAN.as_bytes())
        .await
        .success();
    let output = legwork.run(&["status", &run[..6]]).await.expect_code(2);
    assert!(output.stderr.contains("error[LW0602]"), "{output}");
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_error() {
    let (legwork, run) = finished().await;
    for args in [&["watch", &run][..], &["status", &run], &["completions", "bash"]] {
        let mut child = std::process::Command::new(program())
            .arg("--store")
            .arg(legwork.store())
            .args(args)
            .env_clear()
            .env("HOME", legwork.folder())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("its end");
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}

#[tokio::test]
async fn each_shell_gets_its_completions() {
    let legwork = Legwork::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = legwork.run(&["completions", shell]).await.success();
        assert!(script.contains("legwork") && script.contains("resume"), "{shell}");
    }
}

#[tokio::test]
async fn every_command_has_help_with_an_example() {
    let legwork = Legwork::new();
    let help = legwork.run(&["--help"]).await.success();
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    let mut count = 0;
    for command in commands {
        let text = legwork.run(&[command, "--help"]).await.success();
        assert!(
            text.contains("Example") && text.contains(&format!("legwork {command}")),
            "{command}:\n{text}"
        );
        count += 1;
    }
    assert!(count >= 17, "{help}");
}

#[tokio::test]
async fn nothing_is_written_outside_the_store_s_folder_and_it_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let legwork = Legwork::in_a_file();
    finish(&legwork).await;
    let mut entries = tokio::fs::read_dir(legwork.folder().join("home"))
        .await
        .expect("the home");
    assert!(
        entries.next_entry().await.expect("an entry").is_none(),
        "something was written into the home"
    );
    let folder = legwork.store().parent().expect("a folder");
    let mode = std::fs::metadata(folder).expect("the folder").permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "prompts and results are private");
    let mut file = tokio::fs::File::open(legwork.store()).await.expect("the store");
    let mut magic = [0; 15];
    file.read_exact(&mut magic).await.expect("a header");
    assert_eq!(&magic, b"SQLite format 3");
}
