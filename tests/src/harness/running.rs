//! A command that runs beside the test.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::wait::DEADLINE;
use super::{Legwork, Output};

/// A running command; it is killed with the test.
#[derive(Debug)]
pub struct Running {
    command: String,
    child: Child,
    stdout: BufReader<ChildStdout>,
    read: String,
    talk: watch::Receiver<Vec<u8>>,
    talking: JoinHandle<()>,
}

impl Running {
    /// Starts `command`, which is shown as `shown`.
    pub(super) fn start(mut command: Command, shown: String) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let (heard, talk) = watch::channel(Vec::new());
        let talking = tokio::spawn(listen(stderr, heard));
        Self {
            command: shown,
            child,
            stdout: BufReader::new(stdout),
            read: String::new(),
            talk,
            talking,
        }
    }

    /// Its process id.
    ///
    /// # Panics
    /// When it has been waited for.
    #[must_use]
    pub fn pid(&self) -> Pid {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
        pid.and_then(Pid::from_raw).expect("the process was not waited for")
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it is not there.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process is there");
    }

    /// Kills it without a warning, as a crash does, and waits until it is gone.
    ///
    /// # Panics
    /// When it had ended before: then nothing was killed, and the test tests nothing.
    pub async fn crash(self) -> Output {
        self.signal(Signal::KILL);
        let output = self.wait().await;
        assert_eq!(output.code, None, "it had ended before the kill: {output}");
        output
    }

    /// Reads stdout until a line satisfies `wanted`, and returns that line.
    ///
    /// # Panics
    /// When stdout ends before, or the deadline passes.
    pub async fn wait_for_line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        loop {
            let mut line = String::new();
            let read = timeout(DEADLINE, self.stdout.read_line(&mut line)).await;
            let read = read.unwrap_or_else(|_| panic!("`{}` is silent after\n{}", self.command, self.read));
            assert_ne!(
                read.expect("stdout can be read"),
                0,
                "`{}` ended with\n{}",
                self.command,
                self.read
            );
            self.read.push_str(&line);
            let line = line.trim_end_matches('\n');
            if wanted(line) {
                return line.to_owned();
            }
        }
    }

    /// Waits until it has said `words` on stderr.
    ///
    /// # Panics
    /// When it ends before, or the deadline passes.
    pub async fn wait_for_talk(&mut self, words: &str) {
        let said = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains(words);
        let heard = timeout(DEADLINE, self.talk.wait_for(said)).await;
        let heard = heard.is_ok_and(|heard| heard.is_ok());
        assert!(heard, "`{}` does not say `{words}`", self.command);
    }

    /// Waits until it ends.
    ///
    /// # Panics
    /// When it does not end before the deadline.
    pub async fn wait(mut self) -> Output {
        let ended = timeout(DEADLINE, async {
            let mut rest = Vec::new();
            self.stdout.read_to_end(&mut rest).await.expect("stdout can be read");
            let status = self.child.wait().await.expect("the process can be waited for");
            (&mut self.talking).await.expect("stderr can be read");
            (status, [self.read.as_bytes(), &rest].concat())
        });
        let (status, stdout) = ended
            .await
            .unwrap_or_else(|_| panic!("`{}` does not end", self.command));
        let stderr = self.talk.borrow().clone();
        Output::new(self.command, status, stdout, stderr)
    }
}

/// Collects what is said, so that the program never waits for a reader.
async fn listen(mut stderr: ChildStderr, heard: watch::Sender<Vec<u8>>) {
    let mut piece = [0; 4096];
    loop {
        let length = stderr.read(&mut piece).await.expect("stderr can be read");
        if length == 0 {
            return;
        }
        heard.send_modify(|bytes| bytes.extend_from_slice(&piece[..length]));
    }
}

impl Legwork {
    /// Starts a command and goes on beside it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn spawn(&self, args: &[&str]) -> Running {
        Running::start(self.command(args), Self::shown(args))
    }
}
