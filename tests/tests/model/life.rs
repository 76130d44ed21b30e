//! Three jobs, two workers, a person and maintenance: who can do what, and what comes of it.

use std::hash::{Hash, Hasher};

use legwork_shared::batch::{Batch, JournalEntry};
use legwork_shared::budget::{Counter, Reservation};
use legwork_shared::dag::{Condition, Edge, EdgeKind, Standing};
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{
    Checkpoint, Command, FailReason, Job, JobError, JobState, Lease, LeaseToken, Progress, Transition, Verdict,
};
use legwork_shared::run::Run;
use legwork_tests::make;
use serde_json::Value;
use stateright::{Model, Property};

use super::properties;
use super::records::{Flaw, NOW, Records, Refused, hash_job, step};

const JOBS: usize = 3;
const WORKERS: usize = 2;
/// One report fits, and a second one does not.
pub const TOKENS_MAX: u64 = 10;
const AHEAD: Reservation = Reservation {
    input_tokens: 4,
    output_tokens: 2,
    cost_micro_usd: 0,
};

/// How often something may still go wrong, or a person step in. Without an end to them, nothing had to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Leases that lapse although their holder is there: it was paused, or cut off.
    stalls: u8,
    crashes: u8,
    lost_replies: u8,
    cancels: u8,
    retries: u8,
}

impl Faults {
    /// Each two kinds of trouble together, once each; or all kinds at once, as often as `MODEL_FAULTS` says. All at once
    /// reach a hundred times as many states, which is for an optimised build.
    pub fn to_check() -> Vec<Self> {
        if let Ok(text) = std::env::var("MODEL_FAULTS") {
            let times = text.parse().expect("MODEL_FAULTS should be a small number");
            return vec![Self::each([times; 5])];
        }
        let pairs = (0..5).flat_map(|one| (0..one).map(move |other| [one, other]));
        let only = |pair: [usize; 2]| std::array::from_fn(|kind| u8::from(pair.contains(&kind)));
        pairs.map(|pair| Self::each(only(pair))).collect()
    }

    fn each([stalls, crashes, lost_replies, cancels, retries]: [u8; 5]) -> Self {
        Self {
            stalls,
            crashes,
            lost_replies,
            cancels,
            retries,
        }
    }
}

/// What a worker tells the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// A step is done and paid for; the next one is reserved.
    Report,
    Succeed,
    /// It may be tried again.
    Fail,
    /// It failed, and the run has no retry left.
    GiveUp,
}

/// A commit on its way to the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub verb: Verb,
    pub batch: Batch,
}

impl Hash for Message {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The rest of the batch follows from what is said and from the record it leads to.
        self.verb.hash(state);
        hash_job(self.next(), state);
    }
}

impl Message {
    pub fn next(&self) -> &Job {
        &self.batch.put[0]
    }
}

/// What a worker that is at work knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
    pub token: LeaseToken,
    /// The newest record that it has seen or written.
    pub known: Job,
    /// What it has said and not seen answered.
    pub said: Option<Message>,
}

impl Hash for Holder {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.token, &self.said).hash(state);
        hash_job(&self.known, state);
    }
}

#[derive(Debug, Clone, PartialEq, Hash)]
pub struct State {
    pub records: Records,
    pub workers: Vec<Option<Holder>>,
    /// What a crashed worker had sent and what has not yet arrived.
    pub late: Option<Message>,
    left: Faults,
}

impl State {
    pub fn has_ended(&self) -> bool {
        self.records.jobs.iter().all(|job| job.state().is_terminal())
    }

    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        self.workers.iter().flatten()
    }

    /// Whether that attempt has its job.
    pub fn holds(&self, token: LeaseToken) -> bool {
        self.records
            .job(token.job)
            .phase
            .lease()
            .is_some_and(|lease| lease.token == token)
    }
}

/// What can happen. Numbers are places in the lists of jobs and workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Claim(usize, usize),
    /// A worker says something from what it knows, which may be out of date for long, and sees the answer.
    Tell(usize, Verb),
    /// A worker says something and sees no answer: it will say the same again.
    LoseReply(usize, Verb),
    /// A worker is gone, and what it said last arrives later or not at all.
    Crash(usize, Verb),
    DeliverLate,
    Lapse(usize),
    Due(usize),
    Cascade,
    Cancel(usize),
    Retry(usize),
}

/// The model.
pub struct Life {
    pub run: Run,
    first: State,
    flaw: Option<Flaw>,
}

impl Life {
    pub fn of(needs: [(usize, usize, Condition); 2], faults: Faults) -> Self {
        let mut run = make::run(RunId::new(NOW, 1), NOW);
        run.limits.tokens = Some(TOKENS_MAX);
        run.limits.retries = Some(1);
        let ids: Vec<JobId> = (1..).take(JOBS).map(|place| JobId::nth(NOW, place, 0)).collect();
        let edges: Vec<Edge> = needs
            .iter()
            .map(|(parent, child, condition)| Edge {
                parent: ids[*parent],
                child: ids[*child],
                condition: *condition,
                kind: EdgeKind::Dependency,
            })
            .collect();
        let job = |id: &JobId| {
            let mut spec = make::spec("job");
            (spec.limits.attempts, spec.limits.losses) = (Some(2), Some(2));
            let waits = edges.iter().any(|edge| edge.child == *id);
            let make = if waits { make::blocked } else { make::queued };
            make(*id, &run, spec, NOW)
        };
        let mut records = Records::new(ids.iter().map(job).collect(), edges.clone());
        records.counters.insert(Counter::Open, JOBS as u64);
        let first = State {
            records,
            workers: vec![None; WORKERS],
            late: None,
            left: faults,
        };
        Self { run, first, flaw: None }
    }

    pub fn with(mut self, flaw: Flaw) -> Self {
        self.flaw = Some(flaw);
        self
    }

    fn batch(&self, records: &Records, transition: Transition) -> Batch {
        let mut batch = Batch::at(NOW);
        let dependents = records.dependents(transition.job.id);
        batch.transition(transition, &self.run, &dependents);
        batch
    }

    /// One command at a time to a record as it stands, as everybody does who loads, decides and commits.
    fn command(&self, state: &mut State, place: usize, command: &Command) -> Option<()> {
        let transition = step(&state.records.jobs[place], command).ok()?;
        let batch = self.batch(&state.records, transition);
        state.records.commit(&batch, self.flaw).ok()
    }

    fn claim(&self, state: &mut State, worker: usize, place: usize) -> Option<()> {
        let job = &state.records.jobs[place];
        let token = LeaseToken {
            job: job.id,
            attempt: job.attempt + 1,
            secret: 0,
        };
        let lease = Lease {
            token,
            worker: WorkerId::new(NOW, 1),
            since: NOW,
            until: NOW,
        };
        self.command(state, place, &Command::Claim { lease })?;
        let known = state.records.jobs[place].clone();
        state.workers[worker] = Some(Holder {
            token,
            known,
            said: None,
        });
        Some(())
    }

    /// What a worker says, from the record that it knows, which may be long out of date.
    fn message(&self, records: &Records, holder: &Holder, verb: Verb) -> Option<Message> {
        let (token, job) = (holder.token, &holder.known);
        let verdict = match verb {
            Verb::Report => None,
            Verb::Succeed => Some(Verdict::Succeeded(make::result("done"))),
            Verb::Fail => Some(Verdict::Failed(JobError::retryable("busy", "busy"))),
            Verb::GiveUp => {
                let error = JobError::fatal(FailReason::Budget, "retry_budget", "no retry is left");
                Some(Verdict::Failed(error))
            }
        };
        let report = Checkpoint {
            entries: 1,
            reserve: Some(AHEAD),
            progress: Progress::default(),
            lease_until: NOW,
            ..Checkpoint::default()
        };
        let command = match verdict {
            None => Command::Checkpoint { token, report },
            Some(verdict) => Command::Settle { token, verdict },
        };
        let mut batch = self.batch(records, step(job, &command).ok()?);
        if verb == Verb::Report {
            batch.journal.push(JournalEntry {
                job: job.id,
                seq: job.journal_len,
                attempt: token.attempt,
                at: NOW,
                entry: Value::Null,
            });
        }
        Some(Message { verb, batch })
    }

    /// What a worker says next: again what was not answered, before anything else.
    fn next_message(&self, state: &State, worker: usize, verb: Verb) -> Option<Message> {
        let holder = state.workers[worker].as_ref()?;
        match &holder.said {
            Some(message) => (message.verb == verb).then(|| message.clone()),
            None => self.message(&state.records, holder, verb),
        }
    }

    /// The message arrives and the worker sees the answer.
    fn tell(&self, state: &mut State, worker: usize, verb: Verb) -> Option<()> {
        let message = self.next_message(state, worker, verb)?;
        let mut holder = state.workers[worker].take()?;
        holder.said = None;
        let mut written = state.records.commit(&message.batch, self.flaw);
        if written == Err(Refused::Exhausted) && verb == Verb::Fail {
            let last = self.message(&state.records, &holder, Verb::GiveUp)?;
            written = state.records.commit(&last.batch, self.flaw);
        }
        if written != Err(Refused::Exhausted) {
            // It may be this very message that was written before: what is on record says so.
            holder.known = state.records.job(holder.token.job).clone();
        }
        // A worker that has settled, or learns that it was fenced, has nothing more to say.
        state.workers[worker] = state.holds(holder.token).then_some(holder);
        Some(())
    }

    /// Those that ended otherwise than needed take their dependents with them.
    fn cascade(&self, state: &mut State) -> Option<()> {
        let parent = *state.records.cascades.first()?;
        let mut batch = Batch::at(NOW);
        for edge in state.records.dependents(parent) {
            let broken = state
                .records
                .standings(edge.child)
                .any(|(known, standing)| known == edge && standing == Standing::Broken);
            if broken && let Ok(transition) = step(state.records.job(edge.child), &Command::Skip { cause: parent }) {
                let dependents = state.records.dependents(edge.child);
                batch.transition(transition, &self.run, &dependents);
            }
        }
        batch.cascaded.push(parent);
        state.records.commit(&batch, self.flaw).ok()
    }

    /// A person opens an ended job again, and what its end had skipped.
    fn retry(&self, state: &mut State, place: usize) -> Option<()> {
        let records = &state.records;
        let root = &records.jobs[place];
        let mut batch = Batch::at(NOW);
        let by = || "a person".to_owned();
        let open = |id: JobId| -> Vec<Edge> {
            let waited = records
                .standings(id)
                .filter(|(_, standing)| *standing == Standing::Open);
            waited.map(|(edge, _)| edge).collect()
        };
        if records
            .standings(root.id)
            .any(|(_, standing)| standing == Standing::Broken)
        {
            return None;
        }
        let waited = open(root.id);
        let unmet = !waited.is_empty();
        batch.transition(step(root, &Command::Retry { by: by(), unmet }).ok()?, &self.run, &[]);
        batch.reopen.extend(waited);
        for edge in records.dependents(root.id) {
            let child = records.job(edge.child);
            batch.reopen.push(edge);
            let others = records.standings(child.id).filter(|(known, _)| *known != edge);
            let never = others.into_iter().any(|(_, standing)| standing == Standing::Broken);
            if child.state() == JobState::Skipped && !never {
                let retry = Command::Retry { by: by(), unmet: true };
                batch.transition(step(child, &retry).ok()?, &self.run, &[]);
                batch.reopen.extend(open(child.id));
            }
        }
        state.records.commit(&batch, self.flaw).ok()
    }
}

/// One less, where there is one.
fn spend(left: &mut u8) -> Option<()> {
    *left = left.checked_sub(1)?;
    Some(())
}

impl Model for Life {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.first.clone()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (place, job) in state.records.jobs.iter().enumerate() {
            // Workers are alike, so the first that is free stands for all that are.
            let free = state.workers.iter().position(Option::is_none);
            match job.state() {
                JobState::Queued => actions.extend(free.map(|worker| Action::Claim(worker, place))),
                JobState::Scheduled => actions.push(Action::Due(place)),
                JobState::Running => actions.push(Action::Lapse(place)),
                JobState::Failed | JobState::Cancelled | JobState::Skipped => actions.push(Action::Retry(place)),
                JobState::Blocked | JobState::Succeeded => {}
            }
            if !job.state().is_terminal() {
                actions.push(Action::Cancel(place));
            }
        }
        for (worker, holder) in state.workers.iter().enumerate() {
            let Some(holder) = holder else { continue };
            let verbs: &[Verb] = match &holder.said {
                Some(Message { verb: Verb::Report, .. }) => &[Verb::Report],
                Some(Message {
                    verb: Verb::Succeed, ..
                }) => &[Verb::Succeed],
                Some(Message {
                    verb: Verb::Fail | Verb::GiveUp,
                    ..
                }) => &[Verb::Fail],
                None if holder.known.journal_len == 0 => &[Verb::Report, Verb::Succeed, Verb::Fail],
                None => &[Verb::Succeed, Verb::Fail],
            };
            for verb in verbs {
                actions.extend([
                    Action::Tell(worker, *verb),
                    Action::LoseReply(worker, *verb),
                    Action::Crash(worker, *verb),
                ]);
            }
        }
        if state.late.is_some() {
            actions.push(Action::DeliverLate);
        }
        if !state.records.cascades.is_empty() {
            actions.push(Action::Cascade);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        let state = &mut next;
        match action {
            Action::Claim(worker, place) => self.claim(state, worker, place)?,
            Action::Tell(worker, verb) => self.tell(state, worker, verb)?,
            Action::LoseReply(worker, verb) => {
                spend(&mut state.left.lost_replies)?;
                let message = self.next_message(state, worker, verb)?;
                // Nobody learns what became of it.
                let _ = state.records.commit(&message.batch, self.flaw);
                state.workers[worker].as_mut()?.said = Some(message);
            }
            Action::Crash(worker, verb) => {
                spend(&mut state.left.crashes)?;
                state.late = self.next_message(state, worker, verb);
                state.workers[worker] = None;
            }
            Action::DeliverLate => {
                let message = state.late.take()?;
                // Its sender is gone.
                let _ = state.records.commit(&message.batch, self.flaw);
            }
            Action::Lapse(place) => {
                let token = state.records.jobs[place].phase.lease()?.token;
                if state.holders().any(|holder| holder.token == token) {
                    spend(&mut state.left.stalls)?;
                }
                self.command(state, place, &Command::Lose { token })?;
            }
            Action::Due(place) => self.command(state, place, &Command::Due)?,
            Action::Cascade => self.cascade(state)?,
            Action::Cancel(place) => {
                spend(&mut state.left.cancels)?;
                let (by, reason) = ("a person".to_owned(), String::new());
                self.command(state, place, &Command::Cancel { by, reason })?;
            }
            Action::Retry(place) => {
                spend(&mut state.left.retries)?;
                self.retry(state, place)?;
            }
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
