//! A running program, which does not outlive its value.

use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};

use legwork_shared::clock::entropy;
use legwork_shared::job::{FailReason, JobError};
use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::tree::{MARK, Tree};

/// A program with its pipes.
///
/// When this is dropped, everything that the program has started is killed.
pub struct Program {
    child: Child,
    tree: Tree,
    /// Where it listens, until it was taken.
    pub stdin: Option<ChildStdin>,
    /// Where it speaks, until it was taken.
    pub stdout: Option<ChildStdout>,
    /// Where it complains, until it was taken.
    pub stderr: Option<ChildStderr>,
    ended: bool,
}

impl Program {
    /// Starts `command` in a process group of its own, with `env` and the worker's `PATH` as its environment.
    ///
    /// # Errors
    /// A failure of the job: fatal where the command is at fault, retryable where the machine is.
    pub fn start(command: &[String], env: &BTreeMap<String, String>) -> Result<Self, JobError> {
        let Some((name, arguments)) = command.split_first() else {
            let message = "the agent's runner has an empty `command`; name the program there";
            return Err(JobError::fatal(FailReason::Error, "no_command", message));
        };
        let mark = format!("{:032x}", entropy());
        let mut program = Command::new(name);
        program
            .args(arguments)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(env)
            .env(MARK, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            // So that the runtime collects it when this value is dropped.
            .kill_on_drop(true);
        let mut child = program.spawn().map_err(|error| not_started(name, &error))?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = leader.expect("a child that was not waited for has an id");
        Ok(Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child,
            tree: Tree::new(leader, &mark),
            ended: false,
        })
    }

    /// Waits until the program itself has ended. What it has started may still run.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Cancel safety
    /// Safe.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks it and all that it has started to end.
    pub fn terminate(&self) {
        self.tree.terminate();
    }

    /// Ends it and all that it has started, and collects it.
    ///
    /// # Cancel safety
    /// Safe: what is left to do is done by the drop.
    pub async fn kill(&mut self) {
        let tree = self.tree.clone();
        // Looking through the processes takes milliseconds, so other tasks need not wait for it.
        let killed = tokio::task::spawn_blocking(move || tree.kill()).await;
        // It can fail only if it was collected before.
        let _ = self.child.wait().await;
        self.ended = killed.is_ok();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.ended {
            self.tree.kill();
        }
    }
}

fn not_started(name: &str, error: &io::Error) -> JobError {
    let message = format!("the program `{name}` cannot be started: {error}");
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput => {
            JobError::fatal(FailReason::Error, "not_started", message)
        }
        _ => JobError::retryable("not_started", message),
    }
}
