//! Small programs, good and bad.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use legwork_shared::agent::RunnerSpec;
use legwork_shared::budget::{Counter, Usage};
use legwork_shared::job::{FailReason, Job, JobError, JobResult, JobState, Outcome, Progress, UpdateMode, Verdict};
use legwork_shared::store::Store;
use serde_json::json;

use super::{ProcessLimits, ProcessRunner};
use crate::attempt::Attempt;
use crate::runner::{Runner, Runners};
use crate::testing::{Bench, TEST, cancel, plan};
use crate::{Shutdown, Worker};

/// Short enough for a test, and still in the right order.
const QUICK: ProcessLimits = ProcessLimits {
    terminate_after: Duration::from_millis(50),
    kill_after: Duration::from_millis(100),
    leave_after: Duration::from_secs(2),
};

fn shell(script: &str) -> RunnerSpec {
    RunnerSpec::Process {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: [("GIVEN".to_owned(), "yes".to_owned())].into(),
    }
}

async fn claimed(bench: &Bench, runner: RunnerSpec) -> Attempt {
    let mut one = plan(&[("job", &[])]);
    one.agents.get_mut(TEST).unwrap().runner = runner;
    bench.submit(&one).await;
    bench.claim().await
}

async fn run(script: &str) -> Verdict {
    let bench = Bench::new();
    let attempt = claimed(&bench, shell(script)).await;
    ProcessRunner::new(QUICK).run(&attempt).await
}

fn error_of(verdict: Verdict) -> JobError {
    match verdict {
        Verdict::Failed(error) => error,
        other => panic!("not failed but {other:?}"),
    }
}

/// A worker that runs programs, over the bench's store.
fn worker(bench: &Bench) -> Worker {
    Worker::builder(
        Arc::<legwork_shared::store::memory::MemoryStore>::clone(&bench.store),
        bench.host.artifacts.clone(),
    )
    .runners(Runners::new().with("process", ProcessRunner::new(QUICK)))
    .slots(1)
    .build()
}

/// Waits until something is so.
async fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if so() {
            return;
        }
        tokio::time::timeout(Duration::from_millis(5), std::future::pending::<()>())
            .await
            .unwrap_err();
    }
    panic!("it did not come to this: {what}");
}

fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn pids(folder: &Path, names: &[&str]) -> Option<Vec<String>> {
    let read = |name: &&str| {
        let pid = fs::read_to_string(folder.join(name)).ok()?;
        pid.ends_with('\n').then(|| pid.trim().to_owned())
    };
    names.iter().map(read).collect()
}

#[tokio::test]
async fn s32_a_program_is_told_its_job_and_gives_a_result() {
    let bench = Bench::new();
    let script = r#"read -r start; printf '{"type":"result","text":"done","data":%s}\n' "$start""#;
    let attempt = claimed(&bench, shell(script)).await;
    let Verdict::Succeeded(result) = ProcessRunner::new(QUICK).run(&attempt).await else {
        panic!("not succeeded")
    };
    assert_eq!(result.text, "done");
    let job = attempt.job();
    let expected = json!({
        "type": "start", "protocol": 1,
        "job": {"id": job.id, "run": job.run, "name": "job", "attempt": 1},
        "agent": "test", "prompt": "", "description": "do job", "context": null,
        "inputs": [], "journal": [], "files": [],
    });
    assert_eq!(result.data, Some(expected));
}

#[tokio::test]
async fn s32_its_journal_files_progress_and_usage_are_kept() {
    let bench = Bench::new();
    let script = r#"
        echo '{"type":"progress","note":"reading","step":2}'
        echo '{"type":"journal","data":{"page":7}}'
        echo '{"type":"usage","input_tokens":10,"output_tokens":5,"model_calls":1}'
        echo '{"type":"file","path":"out/a.md","content":"abc"}'
        echo '{"type":"read","path":"out/a.md"}'
        read -r start; read -r content
        printf '{"type":"result","text":"ok","data":%s}\n' "$content""#;
    let attempt = claimed(&bench, shell(script)).await;
    let verdict = ProcessRunner::new(QUICK).run(&attempt).await;
    let expected = JobResult {
        text: "ok".to_owned(),
        data: Some(json!({"type": "content", "path": "out/a.md", "content": "abc"})),
        ..JobResult::default()
    };
    assert_eq!(verdict, Verdict::Succeeded(expected));
    attempt.settle(verdict).await.unwrap();
    let job = bench.job("job").await;
    let progress = Progress {
        step: 2,
        last_tool: None,
        note: Some("reading".to_owned()),
    };
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 5,
        model_calls: 1,
        ..Usage::default()
    };
    assert_eq!((job.progress, job.usage), (progress, usage));
    let entries = attempt.journal(0).await.unwrap();
    assert_eq!(entries[0].entry, json!({"type": "process", "data": {"page": 7}}));
    assert!(bench.store.file(job.run, "out/a.md").await.unwrap().is_some());
}

#[tokio::test]
async fn s59_the_next_attempt_is_given_the_journal_of_the_one_before() {
    let bench = Bench::new();
    let script = r#"read -r start
        case "$start" in
            *'"journal":["half"]'*) echo '{"type":"result","text":"the other half"}' ;;
            *) echo '{"type":"journal","data":"half"}'; exit 3 ;;
        esac"#;
    let first = claimed(&bench, shell(script)).await;
    let runner = ProcessRunner::new(QUICK);
    let verdict = runner.run(&first).await;
    assert_eq!(error_of(verdict).code, "no_result");
    first.settle(crate::pump::give_back()).await.unwrap();
    let Verdict::Succeeded(result) = runner.run(&bench.claim().await).await else {
        panic!("not succeeded")
    };
    assert_eq!(result.text, "the other half");
}

#[tokio::test]
async fn a_program_that_ends_without_a_result_is_a_retryable_failure_with_its_last_words() {
    let error = error_of(run("echo 'no such table: \u{1f378}' >&2; exit 3").await);
    let message =
        "the program ended without a result (exit status: 3); its last words on stderr: no such table: \u{1f378}";
    assert_eq!(error, JobError::retryable("no_result", message));
    let error = error_of(run("kill -9 $$").await);
    let message = "the program ended without a result (signal: 9 (SIGKILL)); it said nothing on stderr";
    assert_eq!(error, JobError::retryable("no_result", message));
}

#[tokio::test]
async fn an_error_that_a_program_reports_is_its_verdict() {
    let script = r#"echo '{"type":"error","code":"no_access","message":"the door is shut","partial":"half"}'"#;
    let mut expected = JobError::fatal(FailReason::Error, "no_access", "the door is shut");
    expected.partial = Some("half".to_owned());
    assert_eq!(error_of(run(script).await), expected);
    let script = r#"echo '{"type":"error","message":"busy","retryable":true,"retry_after_ms":7000}'"#;
    let mut expected = JobError::retryable("program", "busy");
    expected.retry_after_ms = Some(7_000);
    assert_eq!(error_of(run(script).await), expected);
}

#[tokio::test]
async fn what_breaks_the_protocol_is_one_permanent_failure_that_shows_the_line() {
    for (script, shown) in [
        ("echo hello", "expected value at line 1 column 1; it begins `hello`"),
        (r#"echo '{"type":"dance"}'"#, "unknown variant `dance`"),
        (r"printf '\360\050\377\n'", "it begins `\u{fffd}(\u{fffd}`"),
        (
            r#"echo '{"type":"file","path":"../x","content":""}'"#,
            "cannot leave the run's workspace",
        ),
        (
            "head -c 9000000 /dev/zero; sleep 100",
            "a line has more than 8388608 bytes",
        ),
        (
            r#"printf '{"type":"journal","data":'; head -c 100000 /dev/zero | tr '\0' '['"#,
            "recursion limit exceeded",
        ),
    ] {
        let error = error_of(run(script).await);
        assert_eq!(
            (error.code.as_str(), error.severity),
            ("protocol", legwork_shared::job::Severity::Fatal)
        );
        assert!(error.message.contains(shown), "{script}: {}", error.message);
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_named() {
    let bench = Bench::new();
    let command = RunnerSpec::Process {
        command: vec!["/no/such/program".to_owned()],
        env: std::collections::BTreeMap::new(),
    };
    let attempt = claimed(&bench, command).await;
    let error = error_of(ProcessRunner::new(QUICK).run(&attempt).await);
    let message = "the program `/no/such/program` cannot be started: No such file or directory (os error 2)";
    assert_eq!(error, JobError::fatal(FailReason::Error, "not_started", message));
}

#[tokio::test]
async fn d57_its_environment_is_what_it_was_given_and_nothing_of_the_worker() {
    let script = r#"printf '{"type":"result","text":"%s"}\n' "$(env | cut -d= -f1 | sort | tr '\n' ' ')""#;
    let Verdict::Succeeded(result) = run(script).await else {
        panic!("not succeeded")
    };
    let mut names: Vec<&str> = result.text.split_whitespace().collect();
    // What the shell sets by itself.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(names, ["GIVEN", "LEGWORK_PROCESS", "PATH"]);
}

#[tokio::test]
async fn s58_a_program_that_spends_more_than_its_job_or_its_run_may_is_ended_and_charged() {
    for (job, shared) in [(Some(100), None), (None, Some(100))] {
        let bench = Bench::new();
        let mut one = plan(&[("job", &[])]);
        let script =
            r#"echo '{"type":"usage","input_tokens":100}'; echo '{"type":"usage","input_tokens":1}'; sleep 100"#;
        one.agents.get_mut(TEST).unwrap().runner = shell(script);
        one.jobs[0].limits.tokens = job;
        one.limits.tokens = shared;
        bench.submit(&one).await;
        let attempt = bench.claim().await;
        let error = error_of(ProcessRunner::new(QUICK).run(&attempt).await);
        assert_eq!((error.reason, error.code.as_str()), (FailReason::Budget, "budget"));
        let view = bench.store.run(attempt.run().id).await.unwrap().unwrap();
        assert_eq!(view.counter(Counter::Tokens), 101);
    }
}

#[tokio::test]
async fn d11_updates_reach_a_running_program_and_are_receipted() {
    let bench = Bench::new();
    let script = r#"read -r start; echo '{"type":"progress","note":"listening"}'
        read -r update; printf '{"type":"result","text":"heard","data":%s}\n' "$update""#;
    let mut one = plan(&[("job", &[])]);
    one.agents.get_mut(TEST).unwrap().runner = shell(script);
    let shutdown = Shutdown::new();
    let ended = tokio::spawn(worker(&bench).run(shutdown.clone()));
    bench.submit(&one).await;
    let job = bench.until("job", JobState::Running).await;
    let id = bench.update(job.id, UpdateMode::Enqueue).await;
    let job = bench.until("job", JobState::Succeeded).await;
    let data = job.phase.outcome().and_then(Outcome::result).unwrap().data.clone();
    let expected = json!({"type": "update", "id": id, "text": "look at 2026 too", "mode": "enqueue"});
    assert_eq!((data, job.mail_applied), (Some(expected), 1));
    shutdown.drain();
    ended.await.unwrap().unwrap();
}

/// A program that ignores SIGTERM, and whose helpers do too: one in its group, one that has left it with `setsid`, and
/// one that has left it and whose parent has ended.
fn stubborn(folder: &Path) -> RunnerSpec {
    let script = r#"trap '' TERM
        sh -c 'trap "" TERM; echo $$ > group; while :; do sleep 1; done' &
        setsid sh -c 'trap "" TERM; echo $$ > session; while :; do sleep 1; done' &
        (setsid sh -c 'trap "" TERM; echo $$ > orphan; while :; do sleep 1; done' &)
        echo $$ > leader
        while :; do sleep 1; done"#;
    RunnerSpec::Process {
        command: vec!["sh".into(), "-c".into(), format!("cd '{}'; {script}", folder.display())],
        env: std::collections::BTreeMap::new(),
    }
}

const STUBBORN: [&str; 4] = ["leader", "group", "session", "orphan"];

async fn all_started(folder: &Path) -> Vec<String> {
    until("all have started", || pids(folder, &STUBBORN).is_some()).await;
    let pids = pids(folder, &STUBBORN).unwrap();
    assert!(pids.iter().all(|pid| is_alive(pid)));
    pids
}

#[tokio::test]
async fn d10_a_cancel_or_a_time_out_ends_the_whole_tree_and_the_slot_takes_the_next_job() {
    for cancelled in [true, false] {
        let bench = Bench::new();
        let folder = tempfile::tempdir().unwrap();
        let mut one = plan(&[("job", &[])]);
        one.agents.get_mut(TEST).unwrap().runner = stubborn(folder.path());
        one.jobs[0].limits.timeout_ms = (!cancelled).then_some(1_000);
        let shutdown = Shutdown::new();
        let ended = tokio::spawn(worker(&bench).run(shutdown.clone()));
        bench.submit(&one).await;
        let pids = all_started(folder.path()).await;
        let job = if cancelled {
            bench.command(bench.job("job").await.id, &cancel()).await;
            bench.until("job", JobState::Cancelled).await
        } else {
            bench.until("job", JobState::Failed).await
        };
        assert_eq!(
            pids.iter().filter(|pid| is_alive(pid)).count(),
            0,
            "cancelled: {cancelled}"
        );
        assert_eq!(reason_of(&job), (!cancelled).then_some(FailReason::Timeout));
        let mut next = plan(&[("next", &[])]);
        next.agents.get_mut(TEST).unwrap().runner = shell(r#"echo '{"type":"result","text":"ok"}'"#);
        bench.submit(&next).await;
        bench.until("next", JobState::Succeeded).await;
        shutdown.drain();
        ended.await.unwrap().unwrap();
    }
}

fn reason_of(job: &Job) -> Option<FailReason> {
    match job.phase.outcome() {
        Some(Outcome::Failed { error }) => Some(error.reason),
        _ => None,
    }
}

#[tokio::test]
async fn a_dropped_attempt_leaves_no_process_behind() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let attempt = claimed(&bench, stubborn(folder.path())).await;
    let runner = ProcessRunner::new(QUICK);
    let mut running = Box::pin(runner.run(&attempt));
    let pids = tokio::select! {
        verdict = &mut running => panic!("it ended: {verdict:?}"),
        pids = all_started(folder.path()) => pids,
    };
    drop(running);
    until("all have ended", || !pids.iter().any(|pid| is_alive(pid))).await;
}

#[tokio::test]
async fn helpers_that_a_program_leaves_behind_end_with_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("helper");
    let script = format!(
        r#"sh -c 'echo $$ > {}; exec sleep 1000' & read -r start; echo '{{"type":"result","text":"ok"}}'"#,
        file.display()
    );
    let bench = Bench::new();
    let attempt = claimed(&bench, shell(&script)).await;
    let verdict = ProcessRunner::new(QUICK).run(&attempt).await;
    assert!(matches!(verdict, Verdict::Succeeded(_)));
    // Either it never came to write its number, or it has ended.
    let left = pids(folder.path(), &["helper"]).unwrap_or_default();
    assert!(!left.iter().any(|pid| is_alive(pid)), "{left:?}");
}

#[tokio::test]
async fn d21_a_flood_on_stderr_neither_stops_the_program_nor_fills_the_memory() {
    let script = r#"head -c 50000000 /dev/zero >&2; echo '{"type":"result","text":"ok"}'"#;
    let expected = JobResult {
        text: "ok".to_owned(),
        ..JobResult::default()
    };
    assert_eq!(run(script).await, Verdict::Succeeded(expected));
}

#[tokio::test]
async fn a_large_start_does_not_block_a_program_that_speaks_before_it_listens() {
    let bench = Bench::new();
    let script = r#"i=0; while [ $i -lt 200 ]; do
            printf '{"type":"progress","note":"%0500d"}\n' $i; i=$((i+1)); done
        read -r start; echo '{"type":"result","text":"ok"}'"#;
    let mut one = plan(&[("job", &[])]);
    one.agents.get_mut(TEST).unwrap().runner = shell(script);
    one.jobs[0].context = Some(json!("x".repeat(300_000)));
    bench.submit(&one).await;
    let attempt = bench.claim().await;
    let verdict = ProcessRunner::new(QUICK).run(&attempt).await;
    assert!(matches!(verdict, Verdict::Succeeded(_)), "{verdict:?}");
}
