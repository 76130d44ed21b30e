//! What a server remembers of each request.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use legwork_shared::clock::{Clock, SystemClock};
use legwork_shared::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use super::asked::Wire;

/// Headers that carry a key; a log on disk does not.
const SECRET_HEADERS: [&str; 2] = ["authorization", "x-api-key"];

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// When it had arrived as a whole.
    pub at: Timestamp,
    /// The path that was asked for.
    pub path: String,
    /// The wire.
    pub wire: Wire,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Value,
    /// Which call of its conversation it is, 1 for the first.
    pub turn: u32,
    /// The name of the rule that answered.
    pub agent: Option<String>,
    /// How the answer went.
    pub outcome: Outcome,
}

/// How an answer went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is being sent.
    InFlight,
    /// All of it was sent, or as much as the script says.
    Sent,
    /// The client went away before.
    ClientLeft,
}

/// The memory of a server, and its log.
#[derive(Debug)]
pub(super) struct Record {
    requests: Mutex<Vec<Recorded>>,
    log: Option<Mutex<File>>,
    changed: watch::Sender<()>,
}

impl Record {
    /// An empty record, which appends each request to the file at `log`.
    pub(super) fn new(log: Option<&Path>) -> std::io::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path).map(Mutex::new);
        Ok(Self {
            requests: Mutex::default(),
            log: log.map(open).transpose()?,
            changed: watch::Sender::new(()),
        })
    }

    /// Remembers a request and returns its place.
    pub(super) fn add(&self, request: Recorded) -> usize {
        if let Some(log) = &self.log {
            let mut shown = request.clone();
            shown.headers.retain(|name, _| !SECRET_HEADERS.contains(&name.as_str()));
            let line = serde_json::to_string(&shown).expect("a record is JSON") + "\n";
            // One write, so that a killed server leaves no half line. A full disk must not look like a lost request.
            lock(log)
                .write_all(line.as_bytes())
                .expect("the request log takes a line");
        }
        let mut requests = lock(&self.requests);
        requests.push(request);
        self.changed.send_replace(());
        requests.len() - 1
    }

    /// Notes how the answer to the request at `place` went; the first word on it stands.
    pub(super) fn settle(&self, place: usize, outcome: Outcome) {
        let request = &mut lock(&self.requests)[place];
        if request.outcome == Outcome::InFlight {
            request.outcome = outcome;
        }
        self.changed.send_replace(());
    }

    pub(super) fn requests(&self) -> Vec<Recorded> {
        lock(&self.requests).clone()
    }

    pub(super) async fn wait_until(&self, wanted: impl Fn(&[Recorded]) -> bool) -> Vec<Recorded> {
        let mut changed = self.changed.subscribe();
        loop {
            let requests = self.requests();
            if wanted(&requests) {
                return requests;
            }
            changed.changed().await.expect("the record outlives its listeners");
        }
    }

    /// The moment at which a request is recorded.
    pub(super) fn now() -> Timestamp {
        SystemClock.now()
    }
}

/// A record stays usable after a panic of another test thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
