//! Looks at the records and the log after each step and says which promise was broken.
//!
//! It knows the promises and nothing of how they are kept: no transition function, no engine.

use std::collections::BTreeMap;

use legwork_shared::batch::{FileRecord, JournalEntry, NewEvent};
use legwork_shared::budget::Counter;
use legwork_shared::dag::{Edge, EdgeKind, Standing, standing};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{BlockedOn, EventKind, Job, JobState, Outcome, Phase};
use legwork_shared::run::RunView;
use legwork_shared::store::{EventRecord, JobQuery, Store};

use super::worker::DEPTH_MAX;

/// All that is kept of a run.
#[derive(Debug, PartialEq)]
pub struct Sight {
    pub view: RunView,
    pub jobs: BTreeMap<JobId, Job>,
    pub edges: Vec<Edge>,
    pub events: Vec<EventRecord>,
    pub journals: BTreeMap<JobId, Vec<JournalEntry>>,
    pub files: Vec<FileRecord>,
}

impl Sight {
    pub async fn of(store: &dyn Store, run: RunId) -> Self {
        let query = JobQuery {
            run: Some(run),
            limit: usize::MAX - 1,
            ..JobQuery::default()
        };
        let jobs = store.jobs(&query).await.unwrap().items;
        let mut journals = BTreeMap::new();
        for job in &jobs {
            journals.insert(job.id, store.journal(job.id, 0, usize::MAX).await.unwrap());
        }
        Self {
            view: store.run(run).await.unwrap().expect("the run is on record"),
            jobs: jobs.into_iter().map(|job| (job.id, job)).collect(),
            edges: store.edges(run).await.unwrap(),
            events: store.events(run, 0, usize::MAX).await.unwrap(),
            journals,
            files: store.files(run, "").await.unwrap(),
        }
    }

    pub fn has_ended(&self) -> bool {
        self.jobs.values().all(|job| job.state().is_terminal())
    }

    /// The jobs that have not ended, what they wait for, and all that the log says.
    pub fn unfinished(&self) -> String {
        let mut text = String::new();
        for job in self.jobs.values().filter(|job| !job.state().is_terminal()) {
            text.push_str(&format!("\n{} {:?}", job.id, job.phase));
            for (edge, standing) in self.standings(job.id) {
                text.push_str(&format!("\n  {:?} {standing:?}: {}", edge.kind, edge.parent));
            }
        }
        for record in &self.events {
            text.push_str(&format!(
                "\n{} {:?} {:?}",
                record.seq, record.event.job, record.event.kind
            ));
        }
        text
    }

    fn standings(&self, child: JobId) -> impl Iterator<Item = (Edge, Standing)> + '_ {
        let into = self.edges.iter().filter(move |edge| edge.child == child);
        into.map(|edge| (*edge, standing(edge.condition, self.jobs[&edge.parent].state())))
    }
}

/// What the log has told of a job so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    state: JobState,
    generation: u32,
    attempt: u32,
}

/// Follows one run.
pub struct Onlooker {
    run: RunId,
    told: BTreeMap<JobId, Told>,
    before: Option<Sight>,
    /// Events looked at, over all kinds.
    pub events: usize,
}

type Verdict = Result<(), String>;

fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

impl Onlooker {
    pub fn of(run: RunId) -> Self {
        Self {
            run,
            told: BTreeMap::new(),
            before: None,
            events: 0,
        }
    }

    pub fn sight(&self) -> &Sight {
        self.before.as_ref().expect("it has looked before")
    }

    /// Compares what is kept now with what was kept before the step.
    ///
    /// # Errors
    /// Which promise was broken, and by which record.
    pub async fn look(&mut self, store: &dyn Store, acknowledged: &[NewEvent]) -> Verdict {
        let sight = Sight::of(store, self.run).await;
        let known = self.before.as_ref().map_or(0, |before| before.events.len());
        must(sight.events.len() >= known, || "the log became shorter".to_owned())?;
        let fresh = &sight.events[known..];
        self.hear(fresh, acknowledged)?;
        self.compare_with_log(&sight)?;
        self.releases(&sight, fresh)?;
        if let Some(before) = &self.before {
            ends_stand(before, &sight, fresh)?;
            nothing_stale(before, &sight)?;
            one_lease(before, &sight)?;
            skips(before, &sight)?;
        }
        within_budget(&sight)?;
        self.events += fresh.len();
        self.before = Some(sight);
        Ok(())
    }

    /// Reads new lines of the log: each must follow from the ones before, and all that was acknowledged must be there.
    fn hear(&mut self, fresh: &[EventRecord], acknowledged: &[NewEvent]) -> Verdict {
        let mut wanted = acknowledged.iter().filter(|event| event.run == self.run).peekable();
        for (place, record) in fresh.iter().enumerate() {
            let number = (self.events + place + 1) as u64;
            must(record.seq == number, || {
                format!("event {number} has number {}", record.seq)
            })?;
            wanted.next_if(|event| **event == record.event);
            let Some(id) = record.event.job else { continue };
            let before = self.told.get(&id).copied();
            let now = follow(before, &record.event.kind)
                .ok_or_else(|| format!("{id}: {:?} cannot follow on {before:?}", record.event.kind))?;
            self.told.insert(id, now);
        }
        match wanted.next() {
            None => Ok(()),
            Some(event) => Err(format!("acknowledged and not in the log: {event:?}")),
        }
    }

    /// The record of a job says what the log says.
    fn compare_with_log(&self, sight: &Sight) -> Verdict {
        for job in sight.jobs.values() {
            let told = self.told.get(&job.id);
            let on_record = (job.state(), job.generation, job.attempt);
            let in_log = told.map(|told| (told.state, told.generation, told.attempt));
            must(in_log == Some(on_record), || {
                format!("{}: the log says {in_log:?}, the record {on_record:?}", job.id)
            })?;
        }
        must(self.told.len() == sight.jobs.len(), || {
            "the log tells of a job that is not there".to_owned()
        })
    }

    /// What was released in this step has all that it needs: what it depends on before it starts, the jobs that it handed
    /// out before it goes on. An outcome that a person opens again later was good enough when it was used.
    fn releases(&self, sight: &Sight, fresh: &[EventRecord]) -> Verdict {
        for record in fresh {
            let (Some(id), EventKind::Queued | EventKind::Scheduled { .. }) = (record.event.job, &record.event.kind)
            else {
                continue;
            };
            let was = self
                .before
                .as_ref()
                .and_then(|before| before.jobs.get(&id))
                .map(|job| &job.phase);
            let kind = match was {
                Some(Phase::Blocked {
                    on: BlockedOn::Children,
                    ..
                }) => EdgeKind::Await,
                Some(Phase::Blocked { .. } | Phase::Ended { .. }) | None => EdgeKind::Dependency,
                Some(Phase::Scheduled { .. } | Phase::Queued { .. } | Phase::Running { .. }) => continue,
            };
            let counts = |edge: &Edge| {
                edge.kind == kind && (kind == EdgeKind::Dependency || sight.jobs[&edge.parent].generation == 1)
            };
            let unmet = sight
                .standings(id)
                .find(|(edge, standing)| counts(edge) && *standing != Standing::Met);
            must(unmet.is_none(), || format!("{id} was released although {unmet:?}"))?;
        }
        Ok(())
    }
}

/// What is known of a job after one more line of the log; `None` if that line cannot be.
fn follow(before: Option<Told>, kind: &EventKind) -> Option<Told> {
    use JobState::{Blocked, Cancelled, Failed, Queued, Running, Scheduled, Skipped, Succeeded};
    let Some(told) = before else {
        let state = match kind {
            EventKind::Queued => Queued,
            EventKind::Scheduled { .. } => Scheduled,
            EventKind::Blocked { .. } => Blocked,
            _ => return None,
        };
        let (generation, attempt) = (1, 0);
        return Some(Told {
            state,
            generation,
            attempt,
        });
    };
    let from = told.state;
    let open = !from.is_terminal();
    let to = |state, allowed: bool| allowed.then_some(Told { state, ..told });
    match kind {
        // Of a run, not of a job.
        EventKind::Submitted | EventKind::Paused { .. } | EventKind::Resumed { .. } => None,
        EventKind::Queued => to(Queued, matches!(from, Blocked | Scheduled | Running)),
        EventKind::Scheduled { .. } => to(Scheduled, matches!(from, Blocked | Running)),
        EventKind::Blocked { .. } => to(Blocked, matches!(from, Running | Blocked)),
        EventKind::Started { attempt, .. } => {
            let told = to(Running, from == Queued && *attempt == told.attempt + 1)?;
            Some(Told {
                attempt: *attempt,
                ..told
            })
        }
        EventKind::AttemptFailed { attempt, .. } | EventKind::AttemptLost { attempt, .. } => {
            to(from, from == Running && *attempt == told.attempt)
        }
        EventKind::CancelRequested { .. }
        | EventKind::UpdateApplied { .. }
        | EventKind::Stepped { .. }
        | EventKind::TodosChanged { .. } => to(from, from == Running),
        EventKind::UpdateSent { .. } | EventKind::UpdatesUnread { .. } => (open).then_some(told),
        EventKind::Succeeded => to(Succeeded, from == Running),
        EventKind::Failed { .. } => to(Failed, matches!(from, Running | Queued)),
        EventKind::Cancelled { .. } => to(Cancelled, open),
        EventKind::Skipped { .. } => to(Skipped, from == Blocked),
        EventKind::Held { .. } => to(from, from == Blocked),
        EventKind::Retried { generation, .. } => {
            let allowed = matches!(from, Failed | Cancelled | Skipped) && *generation == told.generation + 1;
            // What comes next, in the same commit, says whether it waits.
            let told = to(Blocked, allowed)?;
            Some(Told {
                generation: *generation,
                ..told
            })
        }
    }
}

/// A job that has ended stays as it is, unless a person opens it again.
fn ends_stand(before: &Sight, sight: &Sight, fresh: &[EventRecord]) -> Verdict {
    for job in before.jobs.values().filter(|job| job.state().is_terminal()) {
        let retried = |record: &EventRecord| {
            record.event.job == Some(job.id) && matches!(record.event.kind, EventKind::Retried { .. })
        };
        let now = sight.jobs.get(&job.id);
        let stands = now.is_some_and(|now| now.phase == job.phase);
        must(stands || fresh.iter().any(retried), || {
            format!("{} changed after its end: {now:?}", job.id)
        })?;
    }
    Ok(())
}

/// Whatever is new was written by the attempt that held its job.
fn nothing_stale(before: &Sight, sight: &Sight) -> Verdict {
    let held = |job: JobId, attempt: u32| {
        let known = before.jobs.get(&job);
        known.is_some_and(|known| known.state() == JobState::Running && known.attempt == attempt)
    };
    for (job, journal) in &sight.journals {
        let known = before.journals.get(job).map_or(0, Vec::len);
        for (place, entry) in journal.iter().enumerate().skip(known) {
            must(usize::try_from(entry.seq) == Ok(place), || {
                format!("the journal of {job} has a gap")
            })?;
            must(held(*job, entry.attempt), || {
                format!("{job}: a journal entry of a fenced attempt {entry:?}")
            })?;
        }
    }
    for file in sight.files.iter().filter(|file| !before.files.contains(file)) {
        let attempt = u32::try_from(file.size).unwrap();
        must(held(file.by, attempt), || {
            format!("a file of a fenced attempt: {file:?}")
        })?;
    }
    let new_jobs = sight.jobs.values().filter(|job| !before.jobs.contains_key(&job.id));
    for (job, parent) in new_jobs.filter_map(|job| Some((job, job.spec.parent?))) {
        let attempt = job.spec.context.as_ref().and_then(serde_json::Value::as_u64);
        let attempt = u32::try_from(attempt.unwrap()).unwrap();
        must(held(parent, attempt), || {
            format!("{} was handed out by a fenced attempt", job.id)
        })?;
    }
    for job in sight.jobs.values() {
        let earlier = before.jobs.get(&job.id);
        if earlier.is_some_and(|earlier| earlier.usage != job.usage) {
            let earlier = earlier.unwrap();
            must(earlier.state() == JobState::Running, || {
                format!("{} was charged and did not run", job.id)
            })?;
        }
    }
    Ok(())
}

/// The lease of a job that runs on is the same one, and that of a new attempt has a higher number.
fn one_lease(before: &Sight, sight: &Sight) -> Verdict {
    for job in sight.jobs.values() {
        let Some(lease) = job.phase.lease() else { continue };
        must(lease.token.attempt == job.attempt, || {
            format!("{} is held under another attempt", job.id)
        })?;
        let Some(earlier) = before.jobs.get(&job.id) else {
            continue;
        };
        let same = earlier
            .phase
            .lease()
            .is_some_and(|earlier| earlier.token == lease.token);
        must(same || job.attempt > earlier.attempt, || {
            format!("{}: an old lease came back", job.id)
        })?;
    }
    Ok(())
}

/// Who is skipped needs somebody who has ended otherwise.
fn skips(before: &Sight, sight: &Sight) -> Verdict {
    for job in sight.jobs.values() {
        let Some(Outcome::Skipped { .. }) = job.phase.outcome() else {
            continue;
        };
        let was = before.jobs.get(&job.id).map(Job::state);
        if was == Some(JobState::Skipped) {
            continue;
        }
        let broken = sight
            .standings(job.id)
            .any(|(edge, standing)| edge.kind == EdgeKind::Dependency && standing == Standing::Broken);
        must(broken, || {
            format!("{} was skipped, and nothing that it needs has ended otherwise", job.id)
        })?;
    }
    Ok(())
}

fn within_budget(sight: &Sight) -> Verdict {
    let mut tokens = 0;
    let mut open = 0;
    for job in sight.jobs.values() {
        let limits = &job.spec.limits;
        must(job.failures <= limits.attempts(), || {
            format!("{} has too many attempts", job.id)
        })?;
        must(job.losses <= limits.losses(), || {
            format!("{} has too many losses", job.id)
        })?;
        must(job.spec.depth <= DEPTH_MAX, || format!("{} is too deep", job.id))?;
        let ahead = job.reserved.unwrap_or_default();
        tokens += job.usage.total_tokens() + ahead.input_tokens + ahead.output_tokens;
        open += u64::from(!job.state().is_terminal());
    }
    let counted = |counter| sight.view.counter(counter);
    let figures = [
        (Counter::Tokens, tokens),
        (Counter::Open, open),
        (Counter::Jobs, sight.jobs.len() as u64),
    ];
    for (counter, figure) in figures {
        let found = counted(counter);
        must(found == figure, || {
            format!("the run counts {found} {counter}, its jobs {figure}")
        })?;
    }
    for counter in [Counter::Tokens, Counter::Retries, Counter::Jobs] {
        let bound = sight.view.run.limits.bound(counter).unwrap_or(u64::MAX);
        let found = counted(counter);
        must(found <= bound, || format!("{found} {counter} are more than {bound}"))?;
    }
    Ok(())
}
