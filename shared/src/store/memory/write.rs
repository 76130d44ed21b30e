//! What changes the maps of the reference engine.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::State;
use crate::batch::{Batch, NewEvent, RunCharge};
use crate::budget::Counter;
use crate::dag::Edge;
use crate::id::{JobId, RunId};
use crate::job::{self, Command, EventKind, JobState, LeaseToken, Phase};
use crate::run::{Pausable, Pause};
use crate::schedule::Schedule;
use crate::store::turn::{self, Candidate};
use crate::store::{ClaimRequest, Claimed, Commit, EventRecord, Extension, StoreError};
use crate::time::Timestamp;

fn conflict(what: impl std::fmt::Display) -> StoreError {
    StoreError::Conflict { what: what.to_string() }
}

impl State {
    pub fn commit(&mut self, batch: Batch) -> Result<Commit, StoreError> {
        if let Some(claim) = &batch.key
            && let Some(known) = self.keys.get(&(claim.tenant.clone(), claim.key.clone()))
        {
            return if known.fingerprint == claim.fingerprint {
                Ok(Commit::Replayed(known.clone()))
            } else {
                Err(StoreError::KeyConflict { key: claim.key.clone() })
            };
        }
        self.check(&batch)?;
        self.write(batch);
        Ok(Commit::Done)
    }

    /// All checks come before the first write, so that a refused batch leaves no trace.
    fn check(&self, batch: &Batch) -> Result<(), StoreError> {
        for run in &batch.runs {
            let stored = self.runs.get(&run.id).map_or(0, |run| run.version);
            if run.version != stored + 1 {
                return Err(conflict(run.id));
            }
        }
        let version = |id: &JobId| self.jobs.get(id).map_or(0, |job| job.version);
        for job in &batch.insert {
            if version(&job.id) != 0 {
                return Err(conflict(job.id));
            }
        }
        for job in &batch.put {
            if job.version < 2 || job.version != version(&job.id) + 1 {
                return Err(conflict(job.id));
            }
        }
        for (id, expected) in &batch.touch {
            if *expected == 0 || version(id) != *expected {
                return Err(conflict(id));
            }
        }
        let mut lengths = std::collections::BTreeMap::new();
        for entry in &batch.journal {
            let length = lengths
                .entry(entry.job)
                .or_insert_with(|| self.journals.get(&entry.job).map_or(0, Vec::len));
            if usize::try_from(entry.seq) != Ok(*length) {
                return Err(conflict(format!("the journal of {}", entry.job)));
            }
            *length += 1;
        }
        self.check_charges(&batch.charges)
    }

    fn check_charges(&self, charges: &[RunCharge]) -> Result<(), StoreError> {
        let mut sums = std::collections::BTreeMap::new();
        for RunCharge { run, charge, bound } in charges {
            let stored = self.counters.get(&(*run, charge.counter)).copied().unwrap_or(0);
            let value = sums.entry((*run, charge.counter)).or_insert(stored);
            let used = *value;
            *value = value.saturating_add_signed(charge.add);
            if let Some(bound) = bound
                && charge.must_fit
                && charge.add > 0
                && *value > *bound
            {
                let wanted = charge.add.unsigned_abs();
                return Err(StoreError::Exhausted {
                    counter: charge.counter,
                    bound: *bound,
                    used,
                    wanted,
                });
            }
        }
        Ok(())
    }

    fn write(&mut self, batch: Batch) {
        if let Some(claim) = batch.key {
            self.keys.insert((claim.tenant.clone(), claim.key.clone()), claim);
        }
        self.runs
            .extend(batch.runs.into_iter().map(|run| (run.id, Arc::new(run))));
        let mut looked_at: BTreeSet<JobId> = BTreeSet::new();
        for job in batch.insert.into_iter().chain(batch.put) {
            looked_at.insert(job.id);
            self.place(job);
        }
        for (id, _) in batch.touch {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.version += 1;
            }
        }
        for (edge, unmet) in batch.edges {
            looked_at.insert(edge.child);
            self.children
                .entry(edge.parent)
                .or_default()
                .insert((edge.child, edge.kind));
            self.edges
                .entry((edge.child, edge.parent, edge.kind))
                .or_insert((edge, false));
            self.mark(edge, unmet);
        }
        for edge in batch.reopen {
            self.mark(edge, true);
        }
        for edge in batch.countdown {
            looked_at.insert(edge.child);
            self.mark(edge, false);
        }
        self.cascades.extend(batch.cascade);
        for id in batch.cascaded {
            self.cascades.remove(&id);
        }
        for RunCharge { run, charge, .. } in batch.charges {
            let value = self.counters.entry((run, charge.counter)).or_default();
            *value = value.saturating_add_signed(charge.add);
        }
        for entry in batch.journal {
            self.journals.entry(entry.job).or_default().push(entry);
        }
        for mail in batch.mail {
            self.mail.entry(mail.job).or_default().push(mail);
        }
        for (job, update) in batch.mail_applied {
            self.mail.entry(job).or_default().retain(|mail| mail.id != update);
        }
        self.files.extend(
            batch
                .files
                .into_iter()
                .map(|file| ((file.run, file.path.clone()), file)),
        );
        for event in batch.events {
            self.append(event, batch.at);
        }
        for id in looked_at {
            self.release_if_ready(id, batch.at);
        }
    }

    fn mark(&mut self, edge: Edge, unmet: bool) {
        let Some((_, was)) = self.edges.get_mut(&(edge.child, edge.parent, edge.kind)) else {
            return;
        };
        let before = std::mem::replace(was, unmet);
        let count = self.unmet.entry(edge.child).or_default();
        match (before, unmet) {
            (false, true) => *count += 1,
            (true, false) => *count -= 1,
            (true, true) | (false, false) => {}
        }
    }

    fn append(&mut self, event: NewEvent, at: Timestamp) {
        let log = self.events.entry(event.run).or_default();
        log.push(EventRecord {
            seq: log.len() as u64 + 1,
            at,
            event,
        });
    }

    fn release_if_ready(&mut self, id: JobId, now: Timestamp) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.state() == JobState::Blocked) else {
            return;
        };
        if self.unmet.get(&id).copied().unwrap_or(0) > 0 {
            return;
        }
        if let Ok(transition) = job::apply(job, &Command::Release, now) {
            let run = job.run;
            self.place(transition.job);
            for kind in transition.events {
                self.append(
                    NewEvent {
                        run,
                        job: Some(id),
                        kind,
                    },
                    now,
                );
            }
        }
    }

    pub fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> Result<Vec<Claimed>, StoreError> {
        let queues: BTreeSet<&String> = request.queues.iter().collect();
        let heads = queues
            .into_iter()
            .map(|queue| self.claimable(queue).take(request.slots).collect());
        turn::merge(heads.collect(), request.slots)
            .into_iter()
            .map(|found| self.claim_one(found, request, now))
            .collect()
    }

    fn claim_one(&mut self, found: Candidate, request: &ClaimRequest, now: Timestamp) -> Result<Claimed, StoreError> {
        let id = found.id;
        let corrupt = |message: String| StoreError::Corrupt { message };
        let job = self
            .jobs
            .get(&id)
            .ok_or_else(|| corrupt(format!("{id} is queued and not on record")))?;
        let lease = request.lease(job, now);
        let transition = job::apply(job, &Command::Claim { lease }, now).map_err(|e| corrupt(e.to_string()))?;
        let run_id = job.run;
        let run = self
            .runs
            .get(&run_id)
            .cloned()
            .ok_or_else(|| corrupt(format!("{id} belongs to no run")))?;
        self.place(transition.job.clone());
        self.pass_turn(&transition.job.spec, found.turn);
        for kind in transition.events {
            self.append(
                NewEvent {
                    run: run_id,
                    job: Some(id),
                    kind,
                },
                now,
            );
        }
        Ok(Claimed {
            job: transition.job,
            run,
            dependents: self.dependents(id),
        })
    }

    pub fn prune(&mut self, run: RunId, last: u64) -> Result<(), StoreError> {
        if !self.runs.contains_key(&run) {
            return Ok(());
        }
        let newest = self.events.get(&run).map_or(0, Vec::len);
        let open = self.counters.get(&(run, Counter::Open)).copied().unwrap_or(0);
        if open > 0 || u64::try_from(newest) != Ok(last) {
            return Err(conflict(run));
        }
        let jobs: Vec<JobId> = self
            .jobs
            .values()
            .filter(|job| job.run == run)
            .map(|job| job.id)
            .collect();
        for id in jobs {
            self.jobs.remove(&id);
            self.children.remove(&id);
            self.unmet.remove(&id);
            self.journals.remove(&id);
            self.mail.remove(&id);
            self.cascades.remove(&id);
            self.edges.retain(|(child, ..), _| *child != id);
        }
        self.runs.remove(&run);
        self.events.remove(&run);
        self.counters.retain(|(owner, _), _| *owner != run);
        self.files.retain(|(owner, _), _| *owner != run);
        self.keys.retain(|_, claim| claim.run != run);
        self.pauses.remove(&Pausable::Run(run));
        Ok(())
    }

    pub fn put_schedule(&mut self, schedule: &Schedule) -> Result<(), StoreError> {
        let key = (schedule.tenant.clone(), schedule.name.clone());
        let before = self.schedules.get(&key).map_or(0, |stored| stored.version);
        if schedule.version != before + 1 {
            return Err(conflict(format_args!("the schedule `{}`", schedule.name)));
        }
        self.schedules.insert(key, schedule.clone());
        Ok(())
    }

    pub fn pause(&mut self, pause: &Pause) -> bool {
        if self.pauses.contains_key(&pause.of) {
            return false;
        }
        if let Pausable::Run(run) = pause.of {
            if !self.runs.contains_key(&run) {
                return false;
            }
            let by = pause.by.clone();
            self.append_of_run(run, EventKind::Paused { by }, pause.at);
        }
        self.pauses.insert(pause.of.clone(), pause.clone());
        true
    }

    pub fn resume(&mut self, of: &Pausable, by: &str, now: Timestamp) -> bool {
        let was_paused = self.pauses.remove(of).is_some();
        if let (true, Pausable::Run(run)) = (was_paused, of) {
            self.append_of_run(*run, EventKind::Resumed { by: by.to_owned() }, now);
        }
        was_paused
    }

    fn append_of_run(&mut self, run: RunId, kind: EventKind, at: Timestamp) {
        self.append(NewEvent { run, job: None, kind }, at);
    }

    pub fn extend(&mut self, token: LeaseToken, until: Timestamp) -> Extension {
        let mut extension = Extension {
            token,
            held: false,
            version: 0,
            cancel: false,
            mail: 0,
        };
        if let Some(job) = self.jobs.get_mut(&token.job) {
            extension.version = job.version;
            if let Phase::Running { lease } = &mut job.phase
                && lease.token == token
            {
                lease.until = lease.until.max(until);
                extension.held = true;
                extension.cancel = job.cancel.is_some();
                extension.mail = job.mail_waiting();
            }
        }
        extension
    }
}
