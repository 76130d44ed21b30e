//! The transcripts of the README are true: a block of `console` after `<!-- checked -->` shows what the program prints.
//!
//! The lines of a block that begin with `$ ` are run one after the other in one folder, with the examples of this repository
//! at `ops/examples`; the lines after each are what stdout must show. Ids, times, durations and sizes may differ.

use std::sync::LazyLock;

use legwork_tests::harness::{Legwork, program, repository};
use regex::Regex;
use tokio::process::Command;

const MARK: &str = "<!-- checked -->";
const FENCE: &str = "```";

/// One command with what it is said to print.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    command: String,
    shown: String,
}

/// The checked blocks of a document, each a list of steps.
fn blocks(document: &str) -> Vec<Vec<Step>> {
    let mut blocks = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if line.trim() != MARK {
            continue;
        }
        let opening = lines.next().unwrap_or_default();
        assert_eq!(opening, "```console", "after `{MARK}` comes a block of `console`");
        let mut steps: Vec<Step> = Vec::new();
        for line in lines.by_ref().take_while(|line| *line != FENCE) {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step {
                    command: command.to_owned(),
                    shown: String::new(),
                }),
                (None, Some(step)) => step.shown = format!("{}{line}\n", step.shown),
                (None, None) => panic!("a checked block begins with a command, not with `{line}`"),
            }
        }
        blocks.push(steps);
    }
    blocks
}

/// A text with everything replaced that may differ from run to run.
fn normal(text: &str) -> String {
    static VARYING: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
        [
            (r"\b(run|job|att|wrk|upd)_[0-9a-z]{4,}…?", "${1}_ID"),
            (
                r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9.]+)?Z?",
                "MOMENT",
            ),
            (r"\b[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?\b", "MOMENT"),
            (r"\b[0-9]+(\.[0-9]+)? ?(ms|s|min|m|h)\b", "SPAN"),
        ]
        .map(|(pattern, name)| (Regex::new(pattern).expect("a constant pattern"), name))
    });
    static GAP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[ \t]+").expect("a constant pattern"));
    let mut text = text.to_owned();
    for (pattern, name) in VARYING.iter() {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    // Columns are as wide as what stands in them.
    let lines = text.lines().map(|line| GAP.replace_all(line, " ").trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

async fn check(block: &[Step]) {
    let legwork = Legwork::new();
    let folder = legwork.path("");
    std::os::unix::fs::symlink(repository().join("ops"), folder.join("ops")).expect("a link to the examples");
    let programs = program().parent().expect("the program's folder").display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    for step in block {
        let output = Command::new("sh")
            .args(["-c", &step.command])
            .current_dir(&folder)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", legwork.folder().join("home"))
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8")
            .kill_on_drop(true)
            .output()
            .await
            .expect("a shell");
        let (printed, said) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let command = &step.command;
        assert!(output.status.success(), "`{command}` fails: {said}");
        assert_eq!(
            normal(&printed),
            normal(&step.shown),
            "`{command}` prints this, not what the README shows\n{said}"
        );
    }
}

#[tokio::test]
async fn the_transcripts_of_the_readme_are_true() {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("a README");
    for block in blocks(&readme) {
        check(&block).await;
    }
}

#[tokio::test]
async fn a_block_is_run_step_by_step_and_compared_without_what_varies() {
    let document = "x\n<!-- checked -->\n```console\n$ legwork list --json\n{\n  \"runs\": []\n}\n$ echo run_01abc took 1.5 s\nrun_99xyz took 20 ms\n```\n";
    let blocks = blocks(document);
    let commands: Vec<_> = blocks[0].iter().map(|step| step.command.as_str()).collect();
    assert_eq!(commands, ["legwork list --json", "echo run_01abc took 1.5 s"]);
    check(&blocks[0]).await;
    assert_ne!(normal("three jobs"), normal("four jobs"));
}
