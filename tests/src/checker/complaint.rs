//! What the checker says.

use std::collections::BTreeMap;
use std::fmt;

use legwork_shared::budget::Counter;
use legwork_shared::id::{JobId, RunId};

/// A promise that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// What was accepted is there.
    NothingLost,
    /// A log is numbered without gaps, and each line can follow on those before it.
    PlausibleLog,
    /// Each job ends.
    EachEnds,
    /// Each generation ends once.
    EndsOnce,
    /// A record says what the log says.
    RecordIsLog,
    /// No job starts before what it needs.
    InOrder,
    /// Each wait ends once.
    ReleasedOnce,
    /// A job is skipped only if it can never run.
    SkippedRightly,
    /// Nothing runs that the log does not know.
    KnownAttempts,
    /// A result is that of the attempt that held the job, as its runner gave it.
    ResultOfHolder,
    /// A published file is that of the attempt that held the job.
    FileOfHolder,
    /// A job was handed out by the attempt that held its parent.
    ChildOfHolder,
    /// A charge is that of the attempt that held the job.
    ChargeOfHolder,
    /// What was spent is counted.
    ChargesKept,
    /// Counters stay within their bounds.
    WithinBudget,
    /// Attempts stay within theirs.
    AttemptsBounded,
}

/// A broken promise and where it was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Which.
    pub promise: Promise,
    /// Where, and how.
    pub what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.promise, self.what)
    }
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Runs in the store.
    pub runs: usize,
    /// Jobs that clients were told were accepted.
    pub accepted: usize,
    /// Jobs in the store.
    pub jobs: usize,
    /// Of these, jobs that agents handed out.
    pub handed_out: usize,
    /// Ends by state.
    pub ends: BTreeMap<&'static str, usize>,
    /// Lines of the logs.
    pub events: usize,
    /// Lines of the runners.
    pub marks: usize,
    /// Attempts in the logs.
    pub attempts: usize,
    /// Attempts that lost their lease.
    pub fenced: usize,
    /// Deeds of attempts after somebody else had started the job again: none of them may show.
    pub late: usize,
    /// Attempts that the store has told that they have lost their job.
    pub refused: usize,
    /// Attempts that failed and were made again.
    pub failed: usize,
    /// Attempts that were given back.
    pub given_back: usize,
    /// Attempts that had begun and that somebody else had to begin again.
    pub repeated: usize,
    /// Jobs that needed more than one.
    pub joins: usize,
    /// The most that one needed.
    pub widest: usize,
    /// Dependencies.
    pub edges: usize,
    /// Waits that ended.
    pub releases: usize,
    /// Published files.
    pub files: usize,
    /// Tokens counted by the store.
    pub tokens: u64,
    /// Runs whose tokens or retries were bounded.
    pub bounded: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends: Vec<String> = self
            .ends
            .iter()
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        writeln!(
            f,
            "{} runs, {} jobs accepted from clients and {} handed out by jobs: {}",
            self.runs,
            self.accepted,
            self.handed_out,
            ends.join(", ")
        )?;
        writeln!(
            f,
            "{} events and {} lines of runners; {} dependencies, {} joins (the widest of {}), {} releases",
            self.events, self.marks, self.edges, self.joins, self.widest, self.releases
        )?;
        writeln!(
            f,
            "{} attempts: {} failed and made again, {} given back, {} fenced ({} were told so at a write), {} begun again",
            self.attempts, self.failed, self.given_back, self.fenced, self.refused, self.repeated
        )?;
        write!(
            f,
            "{} late deeds of fenced attempts, none published; {} files, {} tokens, {} runs with a bounded budget",
            self.late, self.files, self.tokens, self.bounded
        )
    }
}

/// What the checker found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What it looked at.
    pub counts: Counts,
    /// What was broken.
    pub complaints: Vec<Complaint>,
}

impl Report {
    /// Whether it complains that `promise` was broken.
    #[must_use]
    pub fn complains_of(&self, promise: Promise) -> bool {
        self.complaints.iter().any(|complaint| complaint.promise == promise)
    }

    pub(super) fn complain(&mut self, promise: Promise, what: impl Into<String>) {
        let what = what.into();
        self.complaints.push(Complaint { promise, what });
    }

    pub(super) fn over(&mut self, run: RunId, counter: Counter, used: u64, bound: u64) {
        let what = format!("{run} counts {used} {counter} and may have {bound}");
        self.complain(Promise::WithinBudget, what);
    }

    pub(super) fn lost(&mut self, job: JobId, who: &str) {
        let what = format!("{job} was acknowledged to {who} and is not there");
        self.complain(Promise::NothingLost, what);
    }
}
