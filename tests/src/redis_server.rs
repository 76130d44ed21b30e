//! A Redis server of a test's own: in a temporary folder, on a socket there and a port if asked for, with an append-only
//! file.

use std::io::{Read, Write};
use std::net::TcpListener;
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

/// How often a start is tried: another process may take the port that was free a moment ago.
const STARTS_MAX: usize = 5;
/// The settings with which a server keeps what it accepted.
const KEEPING: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "everysec"];

/// A running server, which ends with its owner.
pub struct RedisServer {
    program: String,
    folder: TempDir,
    arguments: Vec<String>,
    port: Option<u16>,
    is_sentinel: bool,
    child: Option<Child>,
}

impl RedisServer {
    /// Starts a server that keeps what it accepted: an append-only file, brought to disk each second, and no eviction.
    ///
    /// # Errors
    /// There is no `redis-server`, or it does not start.
    pub fn start() -> Result<Self> {
        Self::start_with(&KEEPING)
    }

    /// Starts a server with further arguments, such as `--appendonly yes`.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(arguments: &[&str]) -> Result<Self> {
        let mut server = Self::new("redis-server", arguments)?;
        server.restart()?;
        Ok(server)
    }

    /// Starts another program of the kind, such as `valkey-server`, as [`Self::start`] does.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_program(program: &str) -> Result<Self> {
        let mut server = Self::new(program, &KEEPING)?;
        server.restart()?;
        Ok(server)
    }

    /// Starts a server that listens at a free port of this machine as well, with arguments that may depend on it.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_at_port(arguments: impl Fn(u16) -> Vec<String>) -> Result<Self> {
        let mut last = None;
        for _ in 0..STARTS_MAX {
            let port = free_port()?;
            let mut server = Self::new("redis-server", &KEEPING)?;
            server.port = Some(port);
            server
                .arguments
                .extend(["--bind", "127.0.0.1", "--port"].map(str::to_owned));
            server.arguments.push(port.to_string());
            server.arguments.extend(arguments(port));
            match server.restart() {
                Ok(()) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("it was never started")?)
    }

    /// Starts a sentinel that watches the server at `port` under that name; two that agree replace it within seconds.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_sentinel(name: &str, port: u16) -> Result<Self> {
        let settings = format!(
            "sentinel monitor {name} 127.0.0.1 {port} 2\nsentinel down-after-milliseconds {name} 1000\n\
             sentinel failover-timeout {name} 5000\n"
        );
        let mut sentinel = Self::new("redis-server", &[])?;
        let own = free_port()?;
        std::fs::write(sentinel.folder.path().join("sentinel.conf"), settings)?;
        sentinel.port = Some(own);
        sentinel.is_sentinel = true;
        sentinel.restart()?;
        Ok(sentinel)
    }

    fn new(program: &str, arguments: &[&str]) -> Result<Self> {
        Ok(Self {
            program: program.to_owned(),
            folder: tempfile::Builder::new().prefix("legwork-redis-").tempdir()?,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            port: None,
            is_sentinel: false,
            child: None,
        })
    }

    /// The port.
    ///
    /// # Panics
    /// If it listens at none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.expect("it was started at a port")
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
        self.launch()?;
        let answers = |answer: &str| answer.starts_with("+PONG") || answer.starts_with("-NOAUTH");
        let began = Instant::now();
        while self.ask("PING").is_none_or(|answer| !answers(&answer)) {
            let child = self.child.as_mut().context("the server does not run")?;
            if began.elapsed() > START_MAX || child.try_wait()?.is_some() {
                let log = std::fs::read_to_string(self.folder.path().join("redis.log")).unwrap_or_default();
                bail!("the server does not answer:\n{log}");
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Starts the server again and does not wait for it.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn launch(&mut self) -> Result<()> {
        self.kill();
        let mut command = Command::new(&self.program);
        if self.is_sentinel {
            // It writes what it learns into its file.
            command.args(["sentinel.conf", "--sentinel", "--bind", "127.0.0.1"]);
            command.args(["--port", &self.port().to_string()]);
        } else {
            command.args(["--port", "0", "--save", "", "--maxmemory-policy", "noeviction"]);
        }
        let child = command
            .arg("--unixsocket")
            .arg(self.socket())
            .arg("--logfile")
            .arg(self.folder.path().join("redis.log"))
            .args(&self.arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("`{}` cannot be started; `ops/test` installs it", self.program))?;
        self.child = Some(child);
        Ok(())
    }

    /// With which arguments it is started from now on, beside those of its start.
    pub fn add_arguments(&mut self, arguments: &[&str]) {
        self.arguments.extend(arguments.iter().map(ToString::to_string));
    }

    /// From now on each change is on disk before it is answered.
    ///
    /// # Errors
    /// The server does not take the setting.
    pub fn keep_each_change(&mut self) -> Result<()> {
        self.arguments.extend(["--appendfsync", "always"].map(str::to_owned));
        self.tell("CONFIG SET appendfsync always")
    }

    /// Waits until so many clients wait for something in a list.
    ///
    /// # Errors
    /// They do not in time.
    pub fn until_blocked(&self, clients: usize) -> Result<()> {
        self.until("INFO clients", &format!("blocked_clients:{clients}\r"))
    }

    /// Asks again and again until the answer holds `wanted`.
    ///
    /// # Errors
    /// It does not in time.
    pub fn until(&self, command: &str, wanted: &str) -> Result<()> {
        let began = Instant::now();
        loop {
            let answer = self.ask(command);
            if answer.as_ref().is_some_and(|answer| answer.contains(wanted)) {
                return Ok(());
            }
            if began.elapsed() > START_MAX {
                bail!("`{command}` should be answered with `{wanted}`, and is with {answer:?}");
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Sends a command and does not wait for its answer, which comes over what is returned.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub fn begin(&self, command: &str) -> Result<UnixStream> {
        let mut stream = UnixStream::connect(self.socket())?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        Ok(stream)
    }

    /// What the server answers to a user to a command of plain words.
    ///
    /// # Errors
    /// What the server refuses it with.
    pub fn ask_as(&self, user: &str, password: &str, command: &str) -> redis::RedisResult<redis::Value> {
        let address = format!("unix://{}?user={user}&pass={password}", self.socket().display());
        let mut connection = redis::Client::open(address)?.get_connection()?;
        let mut words = command.split(' ');
        let mut command = redis::cmd(words.next().unwrap_or_default());
        for word in words {
            command.arg(word);
        }
        command.query(&mut connection)
    }

    /// Tells the server something that it has to accept.
    ///
    /// # Errors
    /// It does not.
    pub fn tell(&self, command: &str) -> Result<()> {
        match self.ask(command) {
            Some(answer) if !answer.starts_with('-') => Ok(()),
            other => bail!("`{command}` is answered with {other:?}"),
        }
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

/// A port of this machine that nobody listens at.
///
/// # Errors
/// There is none.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}
