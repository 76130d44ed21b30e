//! The maps of the reference engine, and what is read from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::batch::{FileRecord, JournalEntry, KeyClaim};
use crate::budget::Counter;
use crate::dag::{Edge, EdgeKind};
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, JobSpec, JobState, Mail, Phase};
use crate::run::{Pausable, Pause, Run, RunState, RunView};
use crate::schedule::Schedule;
use crate::store::turn::{self, Candidate};
use crate::store::{ClaimRequest, Due, EventRecord, JobQuery, Lead, Page, RunQuery, WorkerRecord};
use crate::time::Timestamp;

/// A queued job's place in its queue: by priority, then turn, then id.
pub(super) type Place = (std::cmp::Reverse<i32>, u64, JobId);

/// What the jobs of one priority in a queue know of each other's turns.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Where it has got to.
    pub now: u64,
    /// The last turn of each run.
    pub last: BTreeMap<RunId, u64>,
}

/// Everything that is kept.
#[derive(Debug, Default)]
pub(super) struct State {
    pub runs: BTreeMap<RunId, Arc<Run>>,
    pub jobs: BTreeMap<JobId, Job>,
    /// Edges by child, parent and kind, and whether the parent is still waited for.
    pub edges: BTreeMap<(JobId, JobId, EdgeKind), (Edge, bool)>,
    /// The same edges by parent.
    pub children: BTreeMap<JobId, BTreeSet<(JobId, EdgeKind)>>,
    /// How many edges into a child are still waited for.
    pub unmet: BTreeMap<JobId, usize>,
    /// Queued jobs by queue, in the order in which they are claimed.
    pub queues: BTreeMap<String, BTreeSet<Place>>,
    /// The turn of each queued job.
    pub turns: BTreeMap<JobId, u64>,
    pub lines: BTreeMap<(String, i32), Line>,
    pub counters: BTreeMap<(RunId, Counter), u64>,
    pub journals: BTreeMap<JobId, Vec<JournalEntry>>,
    pub mail: BTreeMap<JobId, Vec<Mail>>,
    pub files: BTreeMap<(RunId, String), FileRecord>,
    pub events: BTreeMap<RunId, Vec<EventRecord>>,
    pub keys: BTreeMap<(String, String), KeyClaim>,
    pub cascades: BTreeSet<JobId>,
    pub workers: BTreeMap<WorkerId, WorkerRecord>,
    pub lead: Option<Lead>,
    pub pauses: BTreeMap<Pausable, Pause>,
    /// By tenant and name.
    pub schedules: BTreeMap<(String, String), Schedule>,
}

impl State {
    pub fn edges_into(&self, child: JobId) -> impl Iterator<Item = (Edge, bool)> + '_ {
        let lowest = JobId::from_bytes([0; 16]);
        let from = (child, lowest, EdgeKind::Dependency);
        self.edges
            .range(from..)
            .take_while(move |(key, _)| key.0 == child)
            .map(|(_, edge)| *edge)
    }

    pub fn dependents(&self, parent: JobId) -> Vec<Edge> {
        let children = self.children.get(&parent).into_iter().flatten();
        children
            .filter_map(|(child, kind)| self.edges.get(&(*child, parent, *kind)).map(|(edge, _)| *edge))
            .collect()
    }

    /// Whether a claim would find something.
    pub fn has_claimable(&self, request: &ClaimRequest) -> bool {
        let mut queues = request.queues.iter();
        request.slots > 0 && queues.any(|queue| self.claimable(queue).next().is_some())
    }

    /// The jobs of a queue that are not held back, in the order in which they are claimed.
    pub fn claimable(&self, queue: &str) -> impl Iterator<Item = Candidate> + '_ {
        let is_paused = self.pauses.contains_key(&Pausable::Queue(queue.to_owned()));
        let queued = self.queues.get(queue).filter(|_| !is_paused).into_iter().flatten();
        queued.filter_map(|(std::cmp::Reverse(priority), turn, id)| {
            let job = self.jobs.get(id)?;
            (!self.pauses.contains_key(&Pausable::Run(job.run))).then_some(Candidate {
                priority: *priority,
                turn: *turn,
                since: job.phase.since(),
                id: *id,
            })
        })
    }

    pub fn view(&self, id: RunId) -> Option<RunView> {
        let run = self.runs.get(&id)?.clone();
        let counters: BTreeMap<Counter, u64> = Counter::ALL
            .into_iter()
            .filter_map(|counter| Some((counter, *self.counters.get(&(id, counter))?)))
            .filter(|(_, value)| *value > 0)
            .collect();
        let open = counters.get(&Counter::Open).copied().unwrap_or(0);
        let results = run.results.iter().filter_map(|job| self.jobs.get(job)).map(Job::state);
        let state = RunState::derive(open, results);
        Some(RunView { run, state, counters })
    }

    pub fn jobs_page(&self, query: &JobQuery) -> Page<Job> {
        let matches = |job: &&Job| {
            query.run.is_none_or(|run| job.run == run)
                && (query.states.is_empty() || query.states.contains(&job.state()))
                && query.name.as_ref().is_none_or(|name| job.spec.name == *name)
                && query.parent.is_none_or(|parent| job.spec.parent == Some(parent))
                && query.after.is_none_or(|after| job.id > after)
        };
        page(self.jobs.values().filter(matches).cloned(), query.limit)
    }

    pub fn runs_page(&self, query: &RunQuery) -> Page<RunView> {
        let matches = |run: &&Arc<Run>| {
            query.tenant.as_ref().is_none_or(|tenant| run.tenant == *tenant)
                && query.before.is_none_or(|before| run.id < before)
        };
        page(
            self.runs
                .values()
                .rev()
                .filter(matches)
                .filter_map(|run| self.view(run.id)),
            query.limit,
        )
    }

    pub fn due(&self, now: Timestamp, limit: usize) -> Due {
        let mut due = Due::default();
        let mut next: Option<Timestamp> = None;
        for job in self.jobs.values() {
            let (at, list) = match &job.phase {
                Phase::Scheduled { due: at, .. } => (*at, &mut due.scheduled),
                Phase::Running { lease } => (lease.until, &mut due.expired),
                Phase::Queued { since } if job.attempt == 0 => match job.spec.limits.queue_timeout_ms {
                    Some(limit_ms) => (*since + limit_ms, &mut due.overdue),
                    None => continue,
                },
                Phase::Queued { .. } | Phase::Blocked { .. } | Phase::Ended { .. } => continue,
            };
            if at > now {
                next = Some(next.map_or(at, |next| next.min(at)));
            } else if list.len() < limit {
                list.push(job.clone());
            } else {
                next = Some(now);
            }
        }
        due.cascades = self.cascades.iter().take(limit).copied().collect();
        if self.cascades.len() > limit {
            next = Some(now);
        }
        due.next = next;
        due
    }

    /// Puts a job's record in place and keeps the queues in step with it.
    pub fn place(&mut self, job: Job) {
        let is_queued = job.state() == JobState::Queued;
        match (self.turns.get(&job.id).copied(), is_queued) {
            (None, true) => {
                let turn = self.take_turn(&job);
                self.turns.insert(job.id, turn);
                let entry = (std::cmp::Reverse(job.spec.priority), turn, job.id);
                self.queues.entry(job.spec.queue.clone()).or_default().insert(entry);
            }
            (Some(turn), false) => {
                self.turns.remove(&job.id);
                if let Some(queue) = self.queues.get_mut(&job.spec.queue) {
                    queue.remove(&(std::cmp::Reverse(job.spec.priority), turn, job.id));
                }
            }
            (None, false) | (Some(_), true) => {}
        }
        self.jobs.insert(job.id, job);
    }

    fn take_turn(&mut self, job: &Job) -> u64 {
        let line = self.line(&job.spec);
        let turn = turn::next(line.now, line.last.get(&job.run).copied());
        line.last.insert(job.run, turn);
        turn
    }

    /// Notes that a line has got to `turn`.
    pub fn pass_turn(&mut self, spec: &JobSpec, turn: u64) {
        let line = self.line(spec);
        line.now = line.now.max(turn);
        let now = line.now;
        line.last.retain(|_, last| *last > now);
    }

    fn line(&mut self, spec: &JobSpec) -> &mut Line {
        self.lines.entry((spec.queue.clone(), spec.priority)).or_default()
    }
}

fn page<T>(items: impl Iterator<Item = T>, limit: usize) -> Page<T> {
    let limit = limit.max(1);
    let mut items: Vec<T> = items.take(limit.saturating_add(1)).collect();
    let more = items.len() > limit;
    items.truncate(limit);
    Page { items, more }
}
