//! The worker processes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long a worker may take to drain: its jobs take seconds at most.
const DRAIN_MAX: Duration = Duration::from_mins(1);

/// How workers are started.
#[derive(Debug, Clone)]
pub struct Station {
    /// The program.
    pub program: PathBuf,
    /// What its workers share, see [`super::work`].
    pub folder: PathBuf,
    /// How long their leases hold, in milliseconds.
    pub lease_ms: u64,
    /// How many jobs each runs at a time.
    pub slots: usize,
}

/// A place for one worker process after the other.
pub struct Place {
    station: Station,
    /// The store as it is reached from there.
    address: String,
    /// The words before the program's own, where it runs on another host.
    entry: Vec<String>,
    number: usize,
    starts: usize,
    child: Child,
}

impl Place {
    /// Starts the first worker of a place.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn new(station: &Station, number: usize, address: String, entry: &[&str]) -> Result<Self> {
        let entry: Vec<String> = entry.iter().map(ToString::to_string).collect();
        Ok(Self {
            child: start(station, &address, &entry, &log(&station.folder, number, 0))?,
            station: station.clone(),
            address,
            entry,
            number,
            starts: 1,
        })
    }

    /// The process of its worker.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends the worker a signal.
    ///
    /// # Errors
    /// It is not there.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        let id = id.and_then(Pid::from_raw).context("the worker has ended")?;
        Ok(kill_process(id, signal)?)
    }

    /// Kills the worker and starts another.
    ///
    /// # Errors
    /// It had ended, or the other cannot be started.
    pub async fn crash(&mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        self.child.wait().await?;
        self.again()
    }

    /// Asks the worker to end, starts another at once, and waits until the first has drained.
    ///
    /// # Errors
    /// The worker does not end well.
    pub async fn roll(&mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        let number = self.number;
        let next = log(&self.station.folder, number, self.starts);
        let next = start(&self.station, &self.address, &self.entry, &next)?;
        self.starts += 1;
        let before = std::mem::replace(&mut self.child, next);
        drained(before, number).await
    }

    /// Asks the worker to end, and waits until it has drained.
    ///
    /// # Errors
    /// The worker does not end well.
    pub async fn end(self) -> Result<()> {
        self.signal(Signal::TERM)?;
        drained(self.child, self.number).await
    }

    /// Whether the worker has ended by itself.
    ///
    /// # Errors
    /// What the system says when it does not know.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Starts another worker.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn again(&mut self) -> Result<()> {
        let log = log(&self.station.folder, self.number, self.starts);
        self.child = start(&self.station, &self.address, &self.entry, &log)?;
        self.starts += 1;
        Ok(())
    }
}

async fn drained(mut child: Child, number: usize) -> Result<()> {
    match timeout(DRAIN_MAX, child.wait()).await {
        Ok(status) => {
            let status = status?;
            if !status.success() {
                bail!("worker {number} did not end well: {status}");
            }
            Ok(())
        }
        Err(_) => bail!("worker {number} does not drain"),
    }
}

fn log(folder: &Path, number: usize, start: usize) -> PathBuf {
    folder.join(format!("worker-{number}-{start}.log"))
}

fn start(station: &Station, address: &str, entry: &[String], log: &Path) -> Result<Child> {
    let mut words = entry.iter().map(String::as_str).collect::<Vec<_>>();
    let program = station.program.display().to_string();
    words.push(&program);
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .arg(address)
        .arg(&station.folder)
        .arg(station.lease_ms.to_string())
        .arg(station.slots.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(log)?)
        .kill_on_drop(true);
    command.spawn().with_context(|| format!("{program} cannot be started"))
}
