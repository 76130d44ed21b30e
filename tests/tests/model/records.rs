//! What the store keeps, as small as it can be, and what an onlooker notices about each commit.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use legwork_shared::batch::Batch;
use legwork_shared::budget::Counter;
use legwork_shared::dag::{self, Edge, Standing};
use legwork_shared::id::JobId;
use legwork_shared::job::{self, Command, EventKind, Job, JobState, Phase, Times, Transition};
use legwork_shared::time::Timestamp;

/// The one moment there is.
pub const NOW: Timestamp = Timestamp(1_000);

/// What an engine may do wrong, to see that it is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    ForgetsVersions,
    ReleasesEarly,
    ForgetsToRelease,
    ForgetsBounds,
}

/// Why a commit was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    Stale,
    Exhausted,
}

/// A promise that was broken by a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Broken {
    SecondEnd,
    ChangeAfterEnd,
    EarlyRelease,
    SecondRelease,
    StaleWrite,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Records {
    pub jobs: Vec<Job>,
    /// The edges, and whether the parent is still waited for.
    pub edges: Vec<(Edge, bool)>,
    pub cascades: BTreeSet<JobId>,
    pub counters: BTreeMap<Counter, u64>,
    /// Terminal events and releases of each job in its generation.
    ends: Vec<u8>,
    releases: Vec<u8>,
    pub broken: BTreeSet<Broken>,
}

impl Hash for Records {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.jobs.iter().for_each(|job| hash_job(job, state));
        self.edges.iter().for_each(|(_, unmet)| unmet.hash(state));
        (&self.cascades, &self.counters, &self.ends, &self.releases, &self.broken).hash(state);
    }
}

/// What tells two records of a job apart, here where time stands still.
pub fn hash_job<H: Hasher>(job: &Job, state: &mut H) {
    (
        job.id,
        job.version,
        job.generation,
        job.attempt,
        job.failures,
        job.losses,
    )
        .hash(state);
    (job.cancel.is_some(), job.journal_len, job.usage.total_tokens()).hash(state);
    job.reserved
        .map(|ahead| ahead.input_tokens + ahead.output_tokens)
        .hash(state);
    (job.state(), job.phase.lease().map(|lease| lease.token)).hash(state);
}

/// What `command` makes of `job`, with all moments moved to the one there is.
pub fn step(job: &Job, command: &Command) -> Result<Transition, job::Refusal> {
    let mut transition = job::apply(job, command, NOW)?;
    let next = &mut transition.job;
    next.times = Times::default();
    if let Phase::Scheduled { due, .. } = &mut next.phase {
        *due = NOW;
    }
    Ok(transition)
}

impl Records {
    pub fn new(jobs: Vec<Job>, edges: Vec<Edge>) -> Self {
        let count = jobs.len();
        Self {
            jobs,
            edges: edges.into_iter().map(|edge| (edge, true)).collect(),
            cascades: BTreeSet::new(),
            counters: BTreeMap::new(),
            ends: vec![0; count],
            releases: vec![0; count],
            broken: BTreeSet::new(),
        }
    }

    fn place(&self, id: JobId) -> usize {
        self.jobs
            .iter()
            .position(|job| job.id == id)
            .expect("no job is ever removed")
    }

    pub fn job(&self, id: JobId) -> &Job {
        &self.jobs[self.place(id)]
    }

    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters.get(&counter).copied().unwrap_or(0)
    }

    /// The edges in which the job is the parent.
    pub fn dependents(&self, parent: JobId) -> Vec<Edge> {
        let edges = self.edges.iter().map(|(edge, _)| *edge);
        edges.filter(|edge| edge.parent == parent).collect()
    }

    /// How the dependencies of a job stand.
    pub fn standings(&self, child: JobId) -> impl Iterator<Item = (Edge, Standing)> + '_ {
        let edges = self.edges.iter().filter(move |(edge, _)| edge.child == child);
        edges.map(|(edge, _)| (*edge, dag::standing(edge.condition, self.job(edge.parent).state())))
    }

    /// Writes a batch, all or nothing, as the contract of the store says.
    pub fn commit(&mut self, batch: &Batch, flaw: Option<Flaw>) -> Result<(), Refused> {
        let stale = |job: &Job| job.version != self.job(job.id).version + 1;
        if flaw != Some(Flaw::ForgetsVersions) && batch.put.iter().any(stale) {
            return Err(Refused::Stale);
        }
        let beyond = |row: &legwork_shared::batch::RunCharge| {
            let value = self.counter(row.charge.counter).saturating_add_signed(row.charge.add);
            row.charge.must_fit && row.charge.add > 0 && row.bound.is_some_and(|bound| value > bound)
        };
        if flaw != Some(Flaw::ForgetsBounds) && batch.charges.iter().any(beyond) {
            return Err(Refused::Exhausted);
        }
        self.notice(batch);
        let before: Vec<JobState> = self.jobs.iter().map(Job::state).collect();
        for job in &batch.put {
            let place = self.place(job.id);
            self.jobs[place] = job.clone();
        }
        for row in &batch.charges {
            let value = self.counters.entry(row.charge.counter).or_default();
            *value = value.saturating_add_signed(row.charge.add);
        }
        for (edge, unmet) in &mut self.edges {
            *unmet = (*unmet || batch.reopen.contains(edge)) && !batch.countdown.contains(edge);
        }
        self.cascades.extend(&batch.cascade);
        self.cascades.retain(|job| !batch.cascaded.contains(job));
        self.release(flaw);
        self.notice_releases(&before);
        Ok(())
    }

    /// Releases what waits for nobody any more.
    fn release(&mut self, flaw: Option<Flaw>) {
        for place in 0..self.jobs.len() {
            let job = &self.jobs[place];
            let into = || self.edges.iter().filter(|(edge, _)| edge.child == job.id);
            let ready = match flaw {
                Some(Flaw::ForgetsToRelease) => false,
                Some(Flaw::ReleasesEarly) => into().any(|(_, unmet)| !unmet),
                Some(Flaw::ForgetsVersions | Flaw::ForgetsBounds) | None => into().all(|(_, unmet)| !unmet),
            };
            if ready && let Ok(transition) = step(job, &Command::Release) {
                self.releases[place] += 1;
                if self.releases[place] > 1 {
                    self.broken.insert(Broken::SecondRelease);
                }
                self.jobs[place] = transition.job;
            }
        }
    }

    /// Whatever may be claimed from now on has all that it needs.
    fn notice_releases(&mut self, before: &[JobState]) {
        let held_back = |state: &JobState| *state == JobState::Blocked || state.is_terminal();
        let released = self
            .jobs
            .iter()
            .zip(before)
            .filter(|(job, before)| job.state() == JobState::Queued && held_back(before));
        let mut released = released.map(|(job, _)| job.id);
        if released.any(|id| self.standings(id).any(|(_, standing)| standing != Standing::Met)) {
            self.broken.insert(Broken::EarlyRelease);
        }
    }

    /// What somebody sees who knows the promises and not the code: looks at what is written before it is.
    fn notice(&mut self, batch: &Batch) {
        for next in &batch.put {
            let retried = |kind: &EventKind| matches!(kind, EventKind::Retried { .. });
            let mut kinds = batch.events.iter().filter(|event| event.job == Some(next.id));
            let before = self.job(next.id);
            if before.state().is_terminal() && before.phase != next.phase && !kinds.any(|event| retried(&event.kind)) {
                self.broken.insert(Broken::ChangeAfterEnd);
            }
        }
        for entry in &batch.journal {
            let holder = self.job(entry.job);
            if holder.state() != JobState::Running || holder.attempt != entry.attempt {
                self.broken.insert(Broken::StaleWrite);
            }
        }
        for event in &batch.events {
            let Some(id) = event.job else { continue };
            let place = self.place(id);
            match &event.kind {
                EventKind::Retried { .. } => (self.ends[place], self.releases[place]) = (0, 0),
                kind if kind.is_terminal() => {
                    self.ends[place] += 1;
                    if self.ends[place] > 1 {
                        self.broken.insert(Broken::SecondEnd);
                    }
                }
                _ => {}
            }
        }
    }
}
