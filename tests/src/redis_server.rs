//! A Redis server of a test's own: in a temporary folder, on a socket there, with an append-only file.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

/// How long a server may take to answer after its start; it has little to load.
const START_MAX: Duration = Duration::from_secs(20);
/// How often it is asked meanwhile.
const LOOK: Duration = Duration::from_millis(2);

/// A running server, which ends with its owner.
pub struct RedisServer {
    folder: TempDir,
    arguments: Vec<String>,
    child: Option<Child>,
}

impl RedisServer {
    /// Starts a server that keeps what it accepted: an append-only file, brought to disk each second, and no eviction.
    ///
    /// # Errors
    /// There is no `redis-server`, or it does not start.
    pub fn start() -> Result<Self> {
        Self::start_with(&["--appendonly", "yes", "--appendfsync", "everysec"])
    }

    /// Starts a server with further arguments, such as `--appendonly yes`.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(arguments: &[&str]) -> Result<Self> {
        let mut server = Self {
            folder: tempfile::Builder::new().prefix("legwork-redis-").tempdir()?,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            child: None,
        };
        server.restart()?;
        Ok(server)
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// The folder with its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of a store there; another prefix is another store.
    #[must_use]
    pub fn address(&self, prefix: &str) -> String {
        format!("unix://{}?prefix={prefix}", self.socket().display())
    }

    /// Kills the server at once, as a crash of its process would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Whether the server has ended, by itself or by a signal.
    ///
    /// # Errors
    /// What the system says when it does not know.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(match &mut self.child {
            Some(child) => child.try_wait()?.is_some(),
            None => true,
        })
    }

    /// Starts the server again, with what its files hold, and waits until it answers.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--maxmemory-policy", "noeviction"])
            .arg("--unixsocket")
            .arg(self.socket())
            .arg("--logfile")
            .arg(self.folder.path().join("redis.log"))
            .args(&self.arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("`redis-server` cannot be started; is it installed?")?;
        self.child = Some(child);
        let began = Instant::now();
        while self.ask("PING").is_none_or(|answer| !answer.starts_with("+PONG")) {
            if began.elapsed() > START_MAX {
                let log = std::fs::read_to_string(self.folder.path().join("redis.log")).unwrap_or_default();
                bail!("the server does not answer:\n{log}");
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// From now on each change is on disk before it is answered.
    ///
    /// # Errors
    /// The server does not take the setting.
    pub fn keep_each_change(&mut self) -> Result<()> {
        self.arguments.extend(["--appendfsync", "always"].map(str::to_owned));
        match self.ask("CONFIG SET appendfsync always") {
            Some(answer) if answer.starts_with("+OK") => Ok(()),
            other => bail!("the server answers {other:?}"),
        }
    }

    /// Waits until so many clients wait for something in a list.
    ///
    /// # Errors
    /// They do not in time.
    pub fn until_blocked(&self, clients: usize) -> Result<()> {
        let began = Instant::now();
        let line = format!("blocked_clients:{clients}\r");
        while self.ask("INFO clients").is_none_or(|answer| !answer.contains(&line)) {
            if began.elapsed() > START_MAX {
                bail!("{clients} clients should wait");
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// The beginning of what the server answers to a command in one line, as it comes over the wire.
    #[must_use]
    pub fn ask(&self, command: &str) -> Option<String> {
        let mut stream = UnixStream::connect(self.socket()).ok()?;
        stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
        let mut answer = vec![0; 64 * 1024];
        let read = stream.read(&mut answer).ok()?;
        answer.truncate(read);
        Some(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Sends the server a signal, such as `STOP` and `CONT`.
    ///
    /// # Errors
    /// It does not run.
    pub fn signal(&self, signal: rustix::process::Signal) -> Result<()> {
        let child = self.child.as_ref().context("the server does not run")?;
        let id = rustix::process::Pid::from_child(child);
        rustix::process::kill_process(id, signal)?;
        Ok(())
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}
