//! An independent checker of what happened: it reads the logs and records of runs through the public contract of the
//! store, what clients were told, and what runners wrote down of themselves. It knows the promises and nothing of how
//! they are kept: no transition function, no engine.

mod complaint;
mod deeds;
mod history;
mod life;
mod mark;
mod tamper;

pub use complaint::{Complaint, Counts, Promise, Report};
pub use history::{Accepted, BY, History, JobHistory, RunHistory};
pub use mark::{Deed, Mark, MarkLog};
pub use tamper::Tampering;

use std::collections::BTreeMap;

use legwork_shared::budget::Counter;
use legwork_shared::dag::{Condition, EdgeKind};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{EventKind, JobState};

use deeds::Deeds;
use life::{Close, Life, Wrong};

/// Compares a history with what was promised.
#[must_use]
pub fn check(history: &History) -> Report {
    let mut report = Report::default();
    let deeds = Deeds::of(&history.marks);
    let mut all: BTreeMap<JobId, Life> = BTreeMap::new();
    for (run, told) in &history.runs {
        let lives = lives(*run, told, &mut report);
        let mut look = Look {
            run: *run,
            told,
            lives: &lives,
            deeds: &deeds,
            report: &mut report,
        };
        look.ends();
        look.order();
        look.budgets();
        look.published();
        look.count();
        all.extend(lives);
    }
    nothing_lost(history, &mut report);
    deeds.check(&all, &mut report);
    report.counts.marks = history.marks.len();
    report
}

/// Reads the log of a run.
fn lives(run: RunId, told: &RunHistory, report: &mut Report) -> BTreeMap<JobId, Life> {
    let mut lives: BTreeMap<JobId, Life> = BTreeMap::new();
    for (number, record) in (1..).zip(&told.events) {
        if record.seq != number {
            let what = format!("line {number} of the log of {run} has the number {}", record.seq);
            report.complain(Promise::PlausibleLog, what);
        }
        let (Some(job), kind) = (record.event.job, &record.event.kind) else {
            continue;
        };
        let Err(wrong) = lives.entry(job).or_default().hear(record.seq, kind) else {
            continue;
        };
        let promise = match wrong {
            Wrong::SecondEnd => Promise::EndsOnce,
            Wrong::SecondRelease => Promise::ReleasedOnce,
            Wrong::Impossible => Promise::PlausibleLog,
        };
        report.complain(promise, format!("{job}: line {number} of {run} cannot be: {kind:?}"));
    }
    lives
}

/// What was acknowledged is in the store.
fn nothing_lost(history: &History, report: &mut Report) {
    for accepted in &history.accepted {
        let told = history.runs.get(&accepted.run);
        for job in &accepted.jobs {
            if !told.is_some_and(|told| told.jobs.contains_key(job)) {
                report.lost(*job, "a client");
            }
        }
        report.counts.accepted += accepted.jobs.len();
    }
    let is_there = |job: &JobId| history.runs.values().any(|told| told.jobs.contains_key(job));
    for mark in &history.marks {
        let Deed::HandedOut { jobs } = &mark.deed else { continue };
        for job in jobs.iter().filter(|job| !is_there(job)) {
            report.lost(*job, &mark.job.to_string());
        }
    }
}

/// Whether an end is what the condition asks for.
fn meets(condition: Condition, end: JobState) -> bool {
    match condition {
        Condition::Success => end == JobState::Succeeded,
        Condition::Failure => matches!(end, JobState::Failed | JobState::Skipped),
        Condition::Finished => true,
    }
}

/// A look at one run.
struct Look<'a> {
    run: RunId,
    told: &'a RunHistory,
    lives: &'a BTreeMap<JobId, Life>,
    deeds: &'a Deeds<'a>,
    report: &'a mut Report,
}

impl Look<'_> {
    fn ends(&mut self) {
        for (id, job) in &self.told.jobs {
            let end = self.lives.get(id).and_then(Life::end);
            let Some(end) = end else {
                let what = format!("{id} ({}) has not ended", job.name);
                self.report.complain(Promise::EachEnds, what);
                continue;
            };
            *self.report.counts.ends.entry(end.as_str()).or_default() += 1;
            if end != job.state {
                let what = format!("{id} is {} on record and {end} in the log", job.state);
                self.report.complain(Promise::RecordIsLog, what);
            }
        }
        for id in self.lives.keys().filter(|id| !self.told.jobs.contains_key(id)) {
            self.report.lost(*id, "the log");
        }
    }

    /// No start before what it needs; no skip without a reason.
    fn order(&mut self) {
        let mut early = Vec::new();
        let mut broken: BTreeMap<JobId, bool> = BTreeMap::new();
        for edge in &self.told.edges {
            let (Some(child), Some(parent)) = (self.lives.get(&edge.child), self.lives.get(&edge.parent)) else {
                continue;
            };
            let start = match edge.kind {
                EdgeKind::Dependency => child.spans.first(),
                // It slept from then on.
                EdgeKind::Await => {
                    let born = parent.first.unwrap_or_default();
                    child.spans.iter().find(|span| span.began > born)
                }
            };
            let met = |before: u64| {
                let mut ends = parent.ends.iter();
                ends.any(|(seq, end)| *seq < before && meets(edge.condition, *end))
            };
            if start.is_some_and(|start| !met(start.began)) {
                early.push(format!("{} has started before {} has ended", edge.child, edge.parent));
            }
            if edge.kind == EdgeKind::Dependency {
                let is_broken = parent.end().is_some_and(|end| !meets(edge.condition, end));
                *broken.entry(edge.child).or_default() |= is_broken;
                early.extend(self.deeds.early(edge, parent));
            }
        }
        for what in early {
            self.report.complain(Promise::InOrder, what);
        }
        for (id, life) in self.lives {
            if life.end() == Some(JobState::Skipped) && !broken.get(id).copied().unwrap_or_default() {
                let what = format!("{id} was skipped, and nothing that it needs has ended otherwise");
                self.report.complain(Promise::SkippedRightly, what);
            }
        }
    }

    fn budgets(&mut self) {
        for counter in Counter::ALL {
            let used = self.told.counters.get(&counter).copied().unwrap_or_default();
            if let Some(bound) = self.told.limits.bound(counter)
                && used > bound
            {
                self.report.over(self.run, counter, used, bound);
            }
        }
        let again = |life: &Life| life.spans.iter().filter(|span| span.close == Close::Failed).count();
        let retries: usize = self.lives.values().map(again).sum();
        let counted = self.told.counters.get(&Counter::Retries).copied().unwrap_or_default();
        if counted != retries as u64 {
            let what = format!("{} counts {counted} retries, its log {retries}", self.run);
            self.report.complain(Promise::WithinBudget, what);
        }
        for (id, job) in &self.told.jobs {
            let Some(life) = self.lives.get(id) else { continue };
            let most = job.limits.attempts();
            if life.failures > most {
                let what = format!("{id} has failed {} times and may {most}", life.failures);
                self.report.complain(Promise::AttemptsBounded, what);
            }
        }
        for record in &self.told.events {
            let (Some(id), EventKind::AttemptLost { losses, .. }) = (record.event.job, &record.event.kind) else {
                continue;
            };
            let most = self.told.jobs.get(&id).map_or(0, |job| job.limits.losses());
            if *losses > most {
                let what = format!("{id} was lost {losses} times and may be {most}");
                self.report.complain(Promise::AttemptsBounded, what);
            }
        }
    }

    /// What shows is what the attempt that held the job gave.
    fn published(&mut self) {
        let mut wrong = Vec::new();
        for (id, job) in &self.told.jobs {
            let Some(life) = self.lives.get(id) else { continue };
            let holder = life.spans.last().map(|span| span.attempt);
            if let Some(result) = &job.result
                && !holder.is_some_and(|holder| self.deeds.answers(*id, holder).any(|text| text == result))
            {
                let what = format!("the result of {id} is not what attempt {holder:?} gave: {result:?}");
                wrong.push((Promise::ResultOfHolder, what));
            }
            if let Some((parent, by)) = job.handed_out {
                let born = life.first.unwrap_or_default();
                let holder = self.lives.get(&parent).and_then(|parent| parent.holder(born));
                if holder != Some(by) {
                    let what = format!("{id} was handed out by attempt {by} of {parent}, which {holder:?} held");
                    wrong.push((Promise::ChildOfHolder, what));
                }
            }
        }
        for file in &self.told.files {
            let life = self.lives.get(&file.by);
            let holder = life.and_then(|life| life.spans.last()).map(|span| span.attempt);
            let gave = holder.is_some_and(|holder| {
                let mut written = self.deeds.files(file.by, holder);
                written.any(|(path, sha256)| *path == file.path && *sha256 == file.sha256)
            });
            if !gave {
                let what = format!("{} of {} is not what attempt {holder:?} wrote", file.path, file.by);
                wrong.push((Promise::FileOfHolder, what));
            }
        }
        for (promise, what) in wrong {
            self.report.complain(promise, what);
        }
        self.charges();
    }

    fn charges(&mut self) {
        let mut wrong = Vec::new();
        let (mut acknowledged, mut announced) = (0, 0);
        for (id, life) in self.lives {
            for span in &life.spans {
                let spends = self.deeds.spends(*id, span.attempt);
                if span.steps.len() > spends.announced {
                    let what = format!("{id} was charged under attempt {}, which spent nothing", span.attempt);
                    wrong.push((Promise::ChargeOfHolder, what));
                }
                if span.steps.len() < spends.acknowledged {
                    let what = format!("{id} was charged by attempt {} and does not show it", span.attempt);
                    wrong.push((Promise::ChargesKept, what));
                }
                acknowledged += spends.acknowledged_tokens;
                announced += spends.announced_tokens;
            }
        }
        let counted = self.told.counters.get(&Counter::Tokens).copied().unwrap_or_default();
        if !(acknowledged..=announced).contains(&counted) {
            let what = format!(
                "{} counts {counted} tokens; {acknowledged} were acknowledged, {announced} announced",
                self.run
            );
            wrong.push((Promise::ChargesKept, what));
        }
        for (promise, what) in wrong {
            self.report.complain(promise, what);
        }
    }

    fn count(&mut self) {
        let mut needed: BTreeMap<JobId, usize> = BTreeMap::new();
        for edge in self.told.edges.iter().filter(|edge| edge.kind == EdgeKind::Dependency) {
            *needed.entry(edge.child).or_default() += 1;
        }
        let bounded = self.told.limits.tokens.is_some() || self.told.limits.retries.is_some();
        let counts = &mut self.report.counts;
        counts.runs += 1;
        counts.jobs += self.told.jobs.len();
        counts.handed_out += self.told.jobs.values().filter(|job| job.handed_out.is_some()).count();
        counts.events += self.told.events.len();
        counts.edges += needed.values().sum::<usize>();
        counts.joins += needed.values().filter(|needs| **needs > 1).count();
        counts.widest = counts.widest.max(needed.values().copied().max().unwrap_or_default());
        counts.files += self.told.files.len();
        counts.tokens += self.told.counters.get(&Counter::Tokens).copied().unwrap_or_default();
        counts.bounded += usize::from(bounded);
        for (id, life) in self.lives {
            counts.releases += life.releases;
            counts.attempts += life.spans.len();
            for span in &life.spans {
                let began = self.deeds.began(*id, span.attempt);
                counts.fenced += usize::from(span.close == Close::Lost);
                counts.failed += usize::from(span.close == Close::Failed);
                counts.given_back += usize::from(span.close == Close::GivenBack);
                counts.repeated += usize::from(began && matches!(span.close, Close::Lost | Close::GivenBack));
            }
        }
    }
}

#[cfg(test)]
mod tests;
