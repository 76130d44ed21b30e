//! What the runners wrote down, by attempt.

use std::collections::BTreeMap;

use legwork_shared::dag::{Condition, Edge};
use legwork_shared::id::JobId;
use legwork_shared::job::JobState;

use super::complaint::{Promise, Report};
use super::life::Life;
use super::mark::{Deed, Mark};

/// The deeds with their places in the file, by job and attempt.
pub struct Deeds<'a>(BTreeMap<JobId, Attempts<'a>>);

type Attempts<'a> = BTreeMap<u32, Vec<(usize, &'a Deed)>>;

/// What an attempt has spent.
#[derive(Default)]
pub struct Spends {
    /// How often it was about to.
    pub announced: usize,
    /// How often the store acknowledged it.
    pub acknowledged: usize,
    pub announced_tokens: u64,
    pub acknowledged_tokens: u64,
}

impl<'a> Deeds<'a> {
    pub fn of(marks: &'a [Mark]) -> Self {
        let mut deeds: BTreeMap<JobId, Attempts<'a>> = BTreeMap::new();
        for (place, mark) in marks.iter().enumerate() {
            let of_job = deeds.entry(mark.job).or_default();
            of_job.entry(mark.attempt).or_default().push((place, &mark.deed));
        }
        Self(deeds)
    }

    fn of_attempt(&self, job: JobId, attempt: u32) -> impl Iterator<Item = (usize, &'a Deed)> + use<'a, '_> {
        let deeds = self.0.get(&job).and_then(|attempts| attempts.get(&attempt));
        deeds.into_iter().flatten().copied()
    }

    pub fn answers(&self, job: JobId, attempt: u32) -> impl Iterator<Item = &'a String> + use<'a, '_> {
        self.of_attempt(job, attempt).filter_map(|(_, deed)| match deed {
            Deed::Answers { text } => Some(text),
            _ => None,
        })
    }

    pub fn files(&self, job: JobId, attempt: u32) -> impl Iterator<Item = (&'a String, &'a String)> + use<'a, '_> {
        self.of_attempt(job, attempt).filter_map(|(_, deed)| match deed {
            Deed::Writes { path, sha256 } => Some((path, sha256)),
            _ => None,
        })
    }

    pub fn began(&self, job: JobId, attempt: u32) -> bool {
        self.of_attempt(job, attempt).any(|(_, deed)| *deed == Deed::Started)
    }

    pub fn spends(&self, job: JobId, attempt: u32) -> Spends {
        let mut spends = Spends::default();
        for (_, deed) in self.of_attempt(job, attempt) {
            match deed {
                Deed::Spends { tokens } => {
                    spends.announced += 1;
                    spends.announced_tokens += tokens;
                }
                Deed::Spent { tokens } => {
                    spends.acknowledged += 1;
                    spends.acknowledged_tokens += tokens;
                }
                _ => {}
            }
        }
        spends
    }

    /// Where, by the runners' own word, the child has begun before the parent that it needs had an answer.
    pub fn early(&self, edge: &Edge, parent: &Life) -> Option<String> {
        if edge.condition != Condition::Success || parent.end() != Some(JobState::Succeeded) {
            return None;
        }
        let holder = parent.spans.last()?.attempt;
        let is_answer = |(place, deed): (usize, &Deed)| matches!(deed, Deed::Answers { .. }).then_some(place);
        let answered = self.of_attempt(edge.parent, holder).find_map(is_answer)?;
        let (began, _) = self
            .0
            .get(&edge.child)?
            .values()
            .flatten()
            .min_by_key(|(place, _)| *place)?;
        (*began < answered).then(|| format!("the runner of {} began before that of {}", edge.child, edge.parent))
    }

    /// Nothing runs that the log does not know; counts what came too late.
    pub fn check(&self, lives: &BTreeMap<JobId, Life>, report: &mut Report) {
        for (job, attempts) in &self.0 {
            let mut next_began = usize::MAX;
            for (attempt, deeds) in attempts.iter().rev() {
                let known = lives.get(job).and_then(|life| {
                    let mut spans = life.spans.iter();
                    spans.find(|span| span.attempt == *attempt)
                });
                if known.is_none() {
                    let what = format!("attempt {attempt} of {job} ran, and the log does not know it");
                    report.complain(Promise::KnownAttempts, what);
                }
                for (place, deed) in deeds {
                    report.counts.refused += usize::from(**deed == Deed::Refused);
                    report.counts.late += usize::from(*place > next_began && **deed != Deed::Refused);
                }
                let began = deeds.iter().find(|(_, deed)| **deed == Deed::Started);
                next_began = began.map_or(next_began, |(place, _)| next_began.min(*place));
            }
        }
    }
}
