//! Many real processes on one file: crowded, killed, starved of room.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use legwork_shared::clock::SystemClock;
use legwork_shared::id::JobId;
use legwork_shared::job::{Job, JobState};
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};
use legwork_shared::store::{JobQuery, Store};
use rusqlite::Connection;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_store-process");

fn start(command: &mut Command) -> Child {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn process(what: &str, file: &Path, count: usize) -> Child {
    start(Command::new(PROGRAM).arg(what).arg(file).arg(count.to_string()))
}

/// What a process printed until it ended by itself, without a complaint.
fn finished(child: Child) -> Vec<JobId> {
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{complaint}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| line.parse().unwrap()).collect()
}

async fn all_jobs(file: &Path) -> Vec<Job> {
    let options = SqliteOptions {
        clock: Arc::new(SystemClock),
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(file, options).unwrap();
    let query = JobQuery {
        limit: 1_000_000,
        ..JobQuery::default()
    };
    store.jobs(&query).await.unwrap().items
}

fn assert_sound(file: &Path) {
    let conn = Connection::open(file).unwrap();
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}

#[tokio::test]
async fn d52_many_processes_share_a_file_and_none_is_told_that_it_is_locked() {
    const PROCESSES: usize = 6;
    const EACH: usize = 25;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    let children: Vec<Child> = (0..PROCESSES).map(|_| process("work", &file, EACH)).collect();
    let settled: Vec<JobId> = children.into_iter().flat_map(finished).collect();
    let distinct: BTreeSet<JobId> = settled.iter().copied().collect();
    assert_eq!((settled.len(), distinct.len()), (PROCESSES * EACH, PROCESSES * EACH));
    for job in all_jobs(&file).await {
        assert_eq!((job.state(), job.attempt), (JobState::Succeeded, 1), "{}", job.id);
        assert!(distinct.contains(&job.id));
    }
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill() {
    const LINES: usize = 20;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    let mut acknowledged = Vec::new();
    for _ in 0..3 {
        let mut child = process("submit", &file, 1_000_000);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..LINES {
            acknowledged.push(lines.next().unwrap().unwrap().parse::<JobId>().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What was on its way through the pipe was acknowledged too; a cut line was not.
        acknowledged.extend(
            lines
                .map_while(Result::ok)
                .filter_map(|line| line.parse::<JobId>().ok()),
        );
        let stored: BTreeSet<JobId> = all_jobs(&file).await.iter().map(|job| job.id).collect();
        let lost: Vec<_> = acknowledged.iter().filter(|id| !stored.contains(id)).collect();
        assert_eq!(lost, [] as [&JobId; 0]);
    }
    assert_sound(&file);
}

/// A process that has used up its room, and what it was told until then.
struct Starved {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    acknowledged: Vec<JobId>,
}

impl Starved {
    /// Starts `command` and waits until it says that there is no room.
    fn start(command: &mut Command) -> Self {
        let mut child = start(command);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = Vec::new();
        loop {
            match lines.next() {
                Some(line) if line.as_ref().unwrap() == "full" => break,
                Some(line) => acknowledged.push(line.unwrap().parse().unwrap()),
                None => panic!("{}", String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr)),
            }
        }
        assert!(acknowledged.len() > 10, "{} jobs fit", acknowledged.len());
        Self {
            child,
            lines,
            acknowledged,
        }
    }

    /// Lets it go on, now that there is room, and checks that nothing was lost.
    async fn goes_on(mut self, file: &Path) {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let last = self.lines.next();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.acknowledged.push(last.unwrap().unwrap().parse().unwrap());
        assert_sound(file);
        let stored: Vec<JobId> = all_jobs(file).await.iter().map(|job| job.id).collect();
        self.acknowledged.sort_unstable();
        assert_eq!(stored, self.acknowledged);
    }
}

#[tokio::test]
async fn d53_a_store_that_may_not_grow_says_so_and_works_again_once_it_may() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    // A limit on the size of files stands for a full disk where nothing may be mounted.
    let script = "trap '' XFSZ; ulimit -S -f 2048; exec \"$0\" fill \"$1\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, PROGRAM]).arg(&file);
    let starved = Starved::start(&mut command);
    let pid = rustix::process::Pid::from_child(&starved.child);
    let unlimited = rustix::process::Rlimit {
        current: None,
        maximum: None,
    };
    rustix::process::prlimit(Some(pid), rustix::process::Resource::Fsize, unlimited).unwrap();
    starved.goes_on(&file).await;
}

/// A file system of a few megabytes.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// One where this user may mount; elsewhere the limit on the size of files has to do.
    fn mounted() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(folder.path());
        let mounted = mount
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then_some(Self(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: whatever still has a file open there is about to end.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn d53_a_store_on_a_full_disk_says_so_and_works_again_once_there_is_room() {
    let Some(disk) = SmallDisk::mounted() else {
        eprintln!("this user may mount nothing: only the limit on the size of files was tested");
        return;
    };
    let ballast = disk.path("ballast");
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let file = disk.path("store.db");
    let starved = Starved::start(Command::new(PROGRAM).arg("fill").arg(&file));
    std::fs::remove_file(ballast).unwrap();
    starved.goes_on(&file).await;
}
