//! Histories that somebody has tampered with: a checker that overlooks one of them proves nothing.

use legwork_shared::budget::Counter;
use legwork_shared::dag::{Condition, EdgeKind};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{EventKind, FailReason, JobError};
use legwork_shared::store::EventRecord;

use super::complaint::Promise;
use super::history::{History, RunHistory};
use super::mark::{Deed, Mark};

/// What is made up, or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tampering {
    /// A run that was accepted is gone.
    LostRun,
    /// A job that was accepted is gone, from the records and the log.
    LostJob,
    /// A job that another one handed out is gone.
    LostChild,
    /// A line of a log is gone.
    Gap,
    /// The end of a job is gone.
    MissingEnd,
    /// A job ends again.
    SecondEnd,
    /// A record says something else than the log.
    OtherRecord,
    /// A job starts before one that it needs has ended.
    EarlyStart,
    /// The runner of a job began before that of one that it needs had its answer.
    EarlyRunner,
    /// A join is released twice.
    SecondRelease,
    /// A job was skipped although all that it needs succeeded.
    Skip,
    /// An attempt ran of which the log says nothing.
    UnknownAttempt,
    /// A job starts again while it runs.
    SecondLease,
    /// The result is that of an attempt that had lost its lease.
    FencedResult,
    /// The result is what no runner gave.
    OtherResult,
    /// A file is that of an attempt that had lost its lease.
    FencedFile,
    /// A job was handed out by an attempt that had lost its lease.
    FencedChild,
    /// A job was charged by an attempt that had lost its lease.
    FencedCharge,
    /// A charge that was acknowledged does not show.
    LostCharge,
    /// More tokens are counted than were spent.
    InventedTokens,
    /// More tokens were spent than the run may.
    OverBudget,
    /// There was an attempt too many.
    AttemptTooMany,
    /// A retry is not counted.
    UncountedRetry,
}

impl Tampering {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::LostRun,
        Self::LostJob,
        Self::LostChild,
        Self::Gap,
        Self::MissingEnd,
        Self::SecondEnd,
        Self::OtherRecord,
        Self::EarlyStart,
        Self::EarlyRunner,
        Self::SecondRelease,
        Self::Skip,
        Self::UnknownAttempt,
        Self::SecondLease,
        Self::FencedResult,
        Self::OtherResult,
        Self::FencedFile,
        Self::FencedChild,
        Self::FencedCharge,
        Self::LostCharge,
        Self::InventedTokens,
        Self::OverBudget,
        Self::AttemptTooMany,
        Self::UncountedRetry,
    ];

    /// The promise that seems broken by it.
    #[must_use]
    pub fn breaks(self) -> Promise {
        match self {
            Self::LostRun | Self::LostJob | Self::LostChild => Promise::NothingLost,
            Self::Gap | Self::SecondLease => Promise::PlausibleLog,
            Self::MissingEnd => Promise::EachEnds,
            Self::SecondEnd => Promise::EndsOnce,
            Self::OtherRecord => Promise::RecordIsLog,
            Self::EarlyStart | Self::EarlyRunner => Promise::InOrder,
            Self::SecondRelease => Promise::ReleasedOnce,
            Self::Skip => Promise::SkippedRightly,
            Self::UnknownAttempt => Promise::KnownAttempts,
            Self::FencedResult | Self::OtherResult => Promise::ResultOfHolder,
            Self::FencedFile => Promise::FileOfHolder,
            Self::FencedChild => Promise::ChildOfHolder,
            Self::FencedCharge => Promise::ChargeOfHolder,
            Self::LostCharge | Self::InventedTokens => Promise::ChargesKept,
            Self::OverBudget | Self::UncountedRetry => Promise::WithinBudget,
            Self::AttemptTooMany => Promise::AttemptsBounded,
        }
    }

    /// The same history with this in it; `None` where it has no place for it.
    #[must_use]
    pub fn of(self, history: &History) -> Option<History> {
        let mut history = history.clone();
        match self {
            Self::LostRun => {
                let run = history.accepted.first()?.run;
                history.runs.remove(&run);
            }
            Self::LostJob => {
                let lost = *history.accepted.first()?.jobs.first()?;
                forget(&mut history, lost)?;
            }
            Self::LostChild => {
                let handed_out = |mark: &Mark| match &mark.deed {
                    Deed::HandedOut { jobs } => jobs.first().copied(),
                    _ => None,
                };
                let lost = history.marks.iter().find_map(handed_out)?;
                forget(&mut history, lost)?;
            }
            Self::OverBudget => {
                let bounded = |run: &&mut RunHistory| run.limits.tokens.is_some();
                let run = history.runs.values_mut().find(bounded)?;
                let bound = run.limits.tokens?;
                run.counters.insert(Counter::Tokens, bound + 1);
            }
            Self::InventedTokens => {
                let run = history.runs.values_mut().next()?;
                *run.counters.entry(Counter::Tokens).or_default() += 1_000_000;
            }
            Self::UncountedRetry => {
                let retried = |run: &&mut RunHistory| run.counters.get(&Counter::Retries).is_some_and(|some| *some > 0);
                history
                    .runs
                    .values_mut()
                    .find(retried)?
                    .counters
                    .remove(&Counter::Retries);
            }
            Self::UnknownAttempt | Self::EarlyRunner | Self::LostCharge => self.in_marks(&mut history)?,
            Self::FencedResult | Self::OtherResult | Self::FencedFile | Self::FencedChild | Self::FencedCharge => {
                self.in_records(&mut history)?;
            }
            Self::Gap
            | Self::MissingEnd
            | Self::SecondEnd
            | Self::OtherRecord
            | Self::EarlyStart
            | Self::SecondRelease
            | Self::Skip
            | Self::SecondLease
            | Self::AttemptTooMany => history.runs.values_mut().find_map(|run| self.in_log(run))?,
        }
        Some(history)
    }

    fn in_marks(self, history: &mut History) -> Option<()> {
        match self {
            Self::EarlyRunner => {
                let edges = history.runs.values().flat_map(|run| &run.edges);
                let needs =
                    edges.filter(|edge| edge.kind == EdgeKind::Dependency && edge.condition == Condition::Success);
                let places: Vec<(usize, usize)> = needs
                    .filter_map(|edge| {
                        let began = |mark: &Mark| mark.job == edge.child && mark.deed == Deed::Started;
                        let answers =
                            |mark: &Mark| mark.job == edge.parent && matches!(mark.deed, Deed::Answers { .. });
                        Some((
                            history.marks.iter().position(answers)?,
                            history.marks.iter().position(began)?,
                        ))
                    })
                    .take(1)
                    .collect();
                let (answered, began) = *places.first()?;
                let mark = history.marks.remove(began.max(answered));
                history.marks.insert(0, mark);
            }
            Self::LostCharge => {
                let spent = |mark: &&Mark| matches!(mark.deed, Deed::Spent { .. });
                let more = history.marks.iter().find(spent)?.clone();
                history.marks.push(more);
            }
            _ => {
                let mut more = history.marks.iter().find(|mark| mark.deed == Deed::Started)?.clone();
                more.attempt += 100;
                history.marks.push(more);
            }
        }
        Some(())
    }

    /// As if an attempt that was fenced had published after all.
    fn in_records(self, history: &mut History) -> Option<()> {
        let fenced = history.runs.values().flat_map(|run| &run.events).filter_map(lost);
        let fenced: Vec<(JobId, u32)> = fenced.collect();
        let is_file = |mark: &&mut Mark, by: JobId| mark.job == by && matches!(mark.deed, Deed::Writes { .. });
        for run in history.runs.values_mut() {
            for (id, job) in &mut run.jobs {
                let attempt = fenced.iter().find(|(job, _)| job == id).map(|(_, attempt)| *attempt);
                match (self, &mut job.result, &mut job.handed_out) {
                    (Self::OtherResult, Some(result), _) => {
                        result.push('!');
                        return Some(());
                    }
                    (Self::FencedResult, Some(result), _) => {
                        let Some(attempt) = attempt else { continue };
                        let text = format!("late, by attempt {attempt}");
                        result.clone_from(&text);
                        history.marks.push(mark(*id, attempt, Deed::Answers { text }));
                        return Some(());
                    }
                    (Self::FencedChild, _, Some((_, by))) => {
                        *by += 1;
                        return Some(());
                    }
                    _ => {}
                }
            }
            if self == Self::FencedFile
                && let Some(file) = run.files.first()
            {
                // Whoever wrote it has, as it turns out, not been the last.
                let mut written = history.marks.iter_mut().filter(|mark| is_file(mark, file.by));
                let last = written.next_back()?;
                last.attempt += 100;
                let by = mark(file.by, last.attempt - 100, Deed::Started);
                history.marks.push(by);
                return Some(());
            }
        }
        if self == Self::FencedCharge {
            let spends = |mark: &&mut Mark| matches!(mark.deed, Deed::Spends { .. });
            let spent = |mark: &Mark| matches!(mark.deed, Deed::Spent { .. });
            let acknowledged = history
                .marks
                .iter()
                .find(|mark| spent(mark))
                .map(|mark| (mark.job, mark.attempt))?;
            let mut spends = history.marks.iter_mut().filter(spends);
            let charged = spends.find(|mark| (mark.job, mark.attempt) == acknowledged)?;
            charged.attempt += 100;
            return Some(());
        }
        None
    }

    fn in_log(self, run: &mut RunHistory) -> Option<()> {
        let ends = |record: &EventRecord| record.event.kind.is_terminal();
        match self {
            Self::Gap => {
                let last = run.events.iter().position(starts)?;
                run.events.remove(last);
            }
            Self::MissingEnd => {
                let end = run.events.iter().position(ends)?;
                run.events.remove(end);
                number(run);
            }
            Self::SecondEnd => {
                let again = run.events[run.events.iter().position(ends)?].clone();
                run.events.push(again);
                number(run);
            }
            Self::OtherRecord => {
                use legwork_shared::job::JobState::{Cancelled, Succeeded};
                run.jobs.values_mut().find(|job| job.state == Succeeded)?.state = Cancelled;
            }
            Self::EarlyStart | Self::SecondRelease | Self::Skip => self.in_order(run)?,
            Self::SecondLease => {
                let start = run.events.iter().position(starts)?;
                let again = run.events[start].clone();
                run.events.insert(start + 1, again);
                number(run);
            }
            _ => {
                let start = run.events.iter().position(starts)?;
                let most = run.jobs.get(&run.events[start].event.job?)?.limits.attempts();
                let EventKind::Started { attempt, .. } = run.events[start].event.kind else {
                    return None;
                };
                let mut failed = run.events[start].clone();
                let error = JobError::fatal(FailReason::Error, "made_up", "it failed");
                failed.event.kind = EventKind::AttemptFailed { attempt, error };
                for _ in 0..=most {
                    run.events.insert(start + 1, failed.clone());
                }
                number(run);
            }
        }
        Some(())
    }

    fn in_order(self, run: &mut RunHistory) -> Option<()> {
        let needs = run.edges.iter().filter(|edge| edge.kind == EdgeKind::Dependency);
        let mut waiting = needs.map(|edge| edge.child);
        match self {
            Self::EarlyStart => {
                let child = waiting.find(|child| {
                    let of_child = |record: &EventRecord| record.event.job == Some(*child) && starts(record);
                    run.events.iter().any(of_child)
                })?;
                let of_child = |record: &EventRecord| record.event.job == Some(child) && starts(record);
                let start = run.events.remove(run.events.iter().position(of_child)?);
                run.events.insert(1, start);
            }
            Self::SecondRelease => {
                let join = waiting.next()?;
                let is_queued = |record: &EventRecord| {
                    record.event.job == Some(join) && matches!(record.event.kind, EventKind::Queued)
                };
                let release = run.events.iter().position(is_queued)?;
                let again = run.events[release].clone();
                run.events.insert(release + 1, again);
            }
            _ => {
                let waits = waiting.find(|child| {
                    let starts = |record: &EventRecord| record.event.job == Some(*child) && starts(record);
                    run.events.iter().any(starts)
                })?;
                let cause = waits;
                run.events.retain(|record| {
                    record.event.job != Some(waits) || matches!(record.event.kind, EventKind::Blocked { .. })
                });
                let mut skip = run.events.last()?.clone();
                (skip.event.job, skip.event.kind) = (Some(waits), EventKind::Skipped { cause });
                run.events.push(skip);
            }
        }
        number(run);
        Some(())
    }
}

fn starts(record: &EventRecord) -> bool {
    matches!(record.event.kind, EventKind::Started { .. })
}

fn mark(job: JobId, attempt: u32, deed: Deed) -> Mark {
    Mark {
        job,
        attempt,
        pid: 0,
        deed,
    }
}

fn lost(record: &EventRecord) -> Option<(JobId, u32)> {
    match record.event.kind {
        EventKind::AttemptLost { attempt, .. } => Some((record.event.job?, attempt)),
        _ => None,
    }
}

/// Takes a job out of the records and the log.
fn forget(history: &mut History, lost: JobId) -> Option<()> {
    let run: RunId = *history.runs.iter().find(|(_, run)| run.jobs.contains_key(&lost))?.0;
    let run = history.runs.get_mut(&run)?;
    run.jobs.remove(&lost);
    run.events.retain(|record| record.event.job != Some(lost));
    run.edges.retain(|edge| edge.parent != lost && edge.child != lost);
    number(run);
    Some(())
}

/// Numbers the lines of a log anew, so that no gap gives it away.
fn number(run: &mut RunHistory) {
    for (seq, record) in (1..).zip(&mut run.events) {
        record.seq = seq;
    }
}
