//! A random history: what people, workers and maintenance do, in any order.

use std::collections::BTreeMap;

use legwork_shared::batch::Batch;
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{self, Command, Job, Phase};
use legwork_shared::run::{Pausable, Pause, Run, RunState};
use legwork_shared::store::{ClaimRequest, Claimed, Commit, StoreError, WorkerRecord};
use legwork_tests::engine::START;
use legwork_tests::make::token;

use super::Pair;
use legwork_tests::chance::Chance;

/// Claimed jobs that are remembered, stale ones too.
const CLAIMS_MAX: usize = 24;
/// Runs that are still worked on; older ones are left as they are.
const RUNS_MAX: usize = 6;
const WORKERS: u32 = 3;

/// What happened, by kind and success.
#[derive(Debug, Clone, Default)]
pub struct Told(BTreeMap<(&'static str, bool), u64>);

impl Told {
    fn tell(&mut self, kind: &'static str, is_done: bool) {
        *self.0.entry((kind, is_done)).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            *self.0.entry(*what).or_default() += times;
        }
    }

    /// Sees to it that histories were worth it: that all was done, and some of it refused.
    pub fn must_be_rich(&self) {
        let kinds = [
            "submit", "claim", "work", "maintain", "steer", "add", "disturb", "prune",
        ];
        for kind in kinds {
            let done = self.0.get(&(kind, true)).copied().unwrap_or(0);
            assert!(
                done > if kind == "prune" { 0 } else { 5 },
                "only {done} times: {kind}; {self:?}"
            );
        }
        let refused: u64 = self
            .0
            .iter()
            .filter(|((_, done), _)| !done)
            .map(|(_, times)| times)
            .sum();
        assert!(refused > 5, "hardly anything was refused; {self:?}");
    }
}

/// A history in the making.
pub struct History {
    pub pair: Pair,
    pub chance: Chance,
    /// The runs worked on, as last written.
    pub runs: BTreeMap<RunId, Run>,
    pub every_run: Vec<RunId>,
    pub jobs: Vec<JobId>,
    claims: Vec<Claimed>,
    next_id: u32,
    told: Told,
}

impl History {
    pub fn of(pair: Pair, seed: u64) -> Self {
        Self {
            pair,
            chance: Chance::of(seed),
            runs: BTreeMap::new(),
            every_run: Vec::new(),
            jobs: Vec::new(),
            claims: Vec::new(),
            next_id: 0,
            told: Told::default(),
        }
    }

    /// A number for the next id.
    pub fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    fn worker(&mut self) -> WorkerId {
        WorkerId::nth(START, u32::try_from(self.chance.below(u64::from(WORKERS))).unwrap(), 0)
    }

    /// Does something, and compares.
    pub async fn step(&mut self) {
        match self.chance.below(24) {
            0..=2 => self.submit().await,
            3..=5 => self.claim().await,
            6..=9 => self.work().await,
            10 => self.extend().await,
            11..=12 => self.maintain().await,
            13..=14 => self.steer().await,
            15 => self.add().await,
            16 => self.disturb().await,
            17 => self.register().await,
            18 => self.lead().await,
            19 => self.prune().await,
            20..=21 => self.pause().await,
            _ => {
                // Sometimes a moment, sometimes past every lease, back-off and time-out.
                let ms = 1 << self.chance.below(20);
                self.pair.clock.advance_ms(ms);
            }
        }
        let workers: Vec<WorkerId> = (0..WORKERS).map(|n| WorkerId::nth(START, n, 0)).collect();
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        let run = self.chance.pick(&runs).copied();
        self.pair.compare(run.as_slice(), &workers).await;
    }

    /// Compares everything once more; returns what happened.
    pub async fn end(self) -> (Pair, Told) {
        self.pair.compare(&self.every_run, &[]).await;
        self.pair.compare_lists().await;
        (self.pair, self.told)
    }

    pub async fn commit(&mut self, kind: &'static str, batch: Batch) -> Result<Commit, StoreError> {
        let touched: Vec<RunId> = batch.put.iter().map(|job| job.run).collect();
        let answer = self.pair.commit(batch).await;
        self.tell(kind, answer.is_ok());
        self.pair.compare(&touched, &[]).await;
        answer
    }

    fn tell(&mut self, kind: &'static str, done: bool) {
        self.told.tell(kind, done);
    }

    /// A job as it stands.
    pub async fn job(&mut self) -> Option<Job> {
        // Rather a late one than one of the first.
        let from = self.jobs.len().saturating_sub(40);
        let id = *self.chance.pick(&self.jobs[from..])?;
        self.pair.reference.job(id).await.unwrap()
    }

    async fn submit(&mut self) {
        let (run, jobs, batch) = self.submission();
        if self.commit("submit", batch).await == Ok(Commit::Done) {
            self.jobs.extend(jobs);
            self.every_run.push(run.id);
            self.runs.insert(run.id, run);
            if self.runs.len() > RUNS_MAX {
                self.runs.pop_first();
            }
        }
    }

    async fn claim(&mut self) {
        let all = ["default", "other", "empty"];
        let queues = all[usize::try_from(self.chance.below(2)).unwrap()..].iter();
        let request = ClaimRequest {
            worker: self.worker(),
            queues: queues.map(|queue| (*queue).to_owned()).collect(),
            slots: usize::try_from(self.chance.below(4)).unwrap(),
            lease_ms: 1 << self.chance.below(16),
            entropy: self.chance.number(),
        };
        let claimed = self.pair.claim(&request).await;
        self.tell("claim", !claimed.is_empty());
        self.claims.extend(claimed);
        let surplus = self.claims.len().saturating_sub(CLAIMS_MAX);
        self.claims.drain(..surplus);
    }

    /// A worker goes on with a job that it holds or believes to hold.
    async fn work(&mut self) {
        let Some(claimed) = self.chance.pick(&self.claims).cloned() else {
            return;
        };
        let claimed = if self.chance.once_in(4) {
            claimed
        } else {
            self.fresh(claimed).await
        };
        let (command, attachments) = self.attempt(&claimed).await;
        let now = self.pair.now();
        let Ok(transition) = job::apply(&claimed.job, &command, now) else {
            return self.tell("work", false);
        };
        let (next, mut batch) = (transition.job.clone(), attachments);
        batch.transition(transition, &claimed.run, &claimed.dependents);
        if self.commit("work", batch).await.is_ok()
            && let Some(known) = self.claims.iter_mut().find(|known| known.job.id == next.id)
        {
            known.job = next;
        }
    }

    /// The claim with what is on record now, as a worker reloads it after a conflict.
    async fn fresh(&self, claimed: Claimed) -> Claimed {
        let store = &self.pair.reference;
        let stored = store.job(claimed.job.id).await.unwrap().unwrap();
        Claimed {
            run: store.run(stored.run).await.unwrap().unwrap().run,
            dependents: store.dependents(stored.id).await.unwrap(),
            job: stored,
        }
    }

    async fn extend(&mut self) {
        let running = |claimed: &Claimed| claimed.job.phase.lease().map(|lease| lease.token);
        let mut tokens: Vec<_> = self.claims.iter().filter_map(running).collect();
        for token in &mut tokens {
            if self.chance.once_in(5) {
                token.secret ^= self.chance.below(2);
                token.attempt += u32::try_from(self.chance.below(2)).unwrap();
            }
        }
        let until = self.pair.now() + (1 << self.chance.below(17));
        self.pair.extend(&tokens, until).await;
    }

    /// Maintenance looks after one thing that is due.
    async fn maintain(&mut self) {
        let due = self.pair.due().await;
        let mut commands: Vec<(Job, Command)> = Vec::new();
        commands.extend(due.scheduled.into_iter().map(|job| (job, Command::Due)));
        commands.extend(due.overdue.into_iter().map(|job| (job, Command::QueueTimeout)));
        commands.extend(due.expired.into_iter().map(|job| {
            let token = token(&job);
            (job, Command::Lose { token })
        }));
        if let Some(cause) = self.chance.pick(&due.cascades).copied()
            && self.chance.once_in(2)
        {
            return self.cascade(cause).await;
        }
        if let Some((job, command)) = self.chance.pick(&commands).cloned() {
            self.command("maintain", &job, &command, Batch::at(self.pair.now()))
                .await;
        }
    }

    /// A command to a job as it stands on record.
    pub async fn command(&mut self, kind: &'static str, job: &Job, command: &Command, mut batch: Batch) {
        let run = self.pair.reference.run(job.run).await.unwrap().unwrap().run;
        let dependents = self.pair.reference.dependents(job.id).await.unwrap();
        match job::apply(job, command, self.pair.now()) {
            Ok(transition) => {
                batch.transition(transition, &run, &dependents);
                // Past a bound it is refused, which is compared as well.
                let _ = self.commit(kind, batch).await;
            }
            Err(_) => self.tell(kind, false),
        }
    }

    async fn lead(&mut self) {
        let who = self.worker();
        let until = self.pair.now() + (1 << self.chance.below(16)) - self.chance.below(9);
        self.pair.lead(who, until).await;
    }

    /// A queue or run is paused, or goes on; more often the latter.
    async fn pause(&mut self) {
        let paused = self.pair.reference.pauses().await.unwrap();
        if self.chance.once_in(3) {
            let runs: Vec<RunId> = self.runs.keys().copied().collect();
            let of = match self.chance.pick(&runs) {
                Some(run) if !self.chance.once_in(3) => Pausable::Run(*run),
                _ => Pausable::Queue("other".to_owned()),
            };
            let (by, at) = ("somebody".to_owned(), self.pair.now());
            self.pair.pause(&Pause { of, by, at }).await;
        } else if let Some(pause) = self.chance.pick(&paused) {
            self.pair.resume(&pause.of).await;
        }
    }

    /// An old run is deleted, or it is tried with one that has not ended or was changed since.
    async fn prune(&mut self) {
        let mut candidates = Vec::new();
        for id in &self.every_run {
            let view = self.pair.reference.run(*id).await.unwrap().unwrap();
            if view.state != RunState::Active || self.chance.once_in(20) {
                candidates.push(*id);
            }
        }
        let Some(id) = self.chance.pick(&candidates).copied() else {
            return;
        };
        let newest = self.pair.reference.last_event(id).await.unwrap();
        let last = newest.map_or(0, |event| event.seq) + u64::from(self.chance.once_in(5));
        let done = self.pair.prune(id, last).await.is_ok();
        self.tell("prune", done);
        if done {
            self.runs.remove(&id);
            self.every_run.retain(|run| *run != id);
            self.claims.retain(|claimed| claimed.job.run != id);
        }
    }

    async fn register(&mut self) {
        let id = self.worker();
        let stores = [self.pair.reference.clone(), self.pair.engine.clone()];
        let seen_at = self.pair.now();
        let leaves = self.chance.once_in(3);
        for store in stores {
            if leaves {
                store.remove_worker(id).await.unwrap();
                continue;
            }
            let record = WorkerRecord {
                id,
                name: "a worker".to_owned(),
                host: "here".to_owned(),
                machine: Some("a machine".to_owned()),
                pid: 1,
                version: "1".to_owned(),
                slots: 2,
                queues: Vec::new(),
                started_at: START,
                seen_at,
                clock_ahead_ms: -7,
            };
            store.put_worker(&record).await.unwrap();
        }
    }
}

/// Whether the job has ended.
pub fn has_ended(job: &Job) -> bool {
    matches!(job.phase, Phase::Ended { .. })
}
