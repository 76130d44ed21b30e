//! Turns plans into batches: every check first, then one commit. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::agent::AgentSpec;
use crate::batch::{Batch, NewEvent, RunCharge};
use crate::budget::{Counter, RunLimits};
use crate::dag::{self, Condition, Edge, EdgeKind, Node, Readiness};
use crate::fault::{Code, Fault};
use crate::id::{JobId, RunId};
use crate::job::{BlockedOn, Charge, Delay, EventKind, Job, JobKey, JobSpec, JobState, Phase};
use crate::plan::{Plan, PlannedJob};
use crate::run::Run;
use crate::time::Timestamp;

/// The longest description of a job, in bytes. More belongs into a file of the workspace or the sources.
pub const DESCRIPTION_BYTES_MAX: usize = 1024 * 1024;
/// The longest name of a job, in bytes.
pub const NAME_BYTES_MAX: usize = 256;
/// How many jobs agents may add to a run that sets no limit itself: a safe default against a loop that delegates.
pub const DELEGATED_JOBS_MAX: u64 = 1_000;
/// The agent of a job that names none.
pub const DEFAULT_AGENT: &str = "general-purpose";
/// The queue of an agent that names none.
pub const DEFAULT_QUEUE: &str = "default";

/// What a job that is to be added waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// Whom.
    pub id: JobId,
    /// Which outcome is needed.
    pub condition: Condition,
    /// How it stands now; a new one is `Queued` or `Blocked`.
    pub state: JobState,
    /// Its version, where it exists already.
    pub version: Option<u64>,
}

/// A job that is to be added to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Addition {
    /// Its id.
    pub id: JobId,
    /// What it is asked to do.
    pub spec: JobSpec,
    /// What it waits for.
    pub parents: Vec<Parent>,
}

/// Adds jobs to a batch: records in the phase their parents allow, edges, counters, events.
///
/// A parent that has not ended is touched, so that a worker that is about to settle it learns of its new dependent. A
/// parent that ended otherwise than needed cascades: the tracker skips the new job with the right cause.
pub fn add_jobs(batch: &mut Batch, run: RunId, limits: &RunLimits, additions: Vec<Addition>) {
    let now = batch.at;
    let count = i64::try_from(additions.len()).unwrap_or(i64::MAX);
    for (counter, must_fit) in [(Counter::Open, false), (Counter::Jobs, true)] {
        let charge = Charge {
            counter,
            add: count,
            must_fit,
        };
        batch.charges.push(RunCharge {
            run,
            charge,
            bound: limits.bound(counter),
        });
    }
    let mut touched: BTreeMap<JobId, u64> = BTreeMap::new();
    for addition in additions {
        let states = addition
            .parents
            .iter()
            .map(|parent| (parent.id, parent.condition, parent.state));
        let readiness = dag::readiness(states);
        if let Readiness::Never(parent) = readiness {
            batch.cascade.push(parent);
        }
        for parent in &addition.parents {
            let edge = Edge {
                parent: parent.id,
                child: addition.id,
                condition: parent.condition,
                kind: EdgeKind::Dependency,
            };
            let unmet = dag::standing(parent.condition, parent.state) != dag::Standing::Met;
            batch.edges.push((edge, unmet));
            // An ended parent is touched too: a retry of it at this very moment must not slip between.
            if let Some(version) = parent.version {
                touched.insert(parent.id, version);
            }
        }
        let (phase, event) = match (readiness, addition.spec.start_at) {
            (Readiness::Waiting | Readiness::Never(_), _) => {
                let on = BlockedOn::Dependencies;
                (Phase::Blocked { on, since: now }, EventKind::Blocked { on })
            }
            (Readiness::Ready, Some(due)) if due > now => {
                let reason = Delay::Start;
                (
                    Phase::Scheduled {
                        due,
                        reason,
                        since: now,
                    },
                    EventKind::Scheduled { due, reason },
                )
            }
            (Readiness::Ready, _) => (Phase::Queued { since: now }, EventKind::Queued),
        };
        batch.events.push(NewEvent {
            run,
            job: Some(addition.id),
            kind: event,
        });
        batch
            .insert
            .push(Job::new(addition.id, run, Arc::new(addition.spec), phase, now));
    }
    batch.touch.extend(touched);
}

/// Agents by name, and the names there are, for a helpful refusal.
pub trait Agents {
    /// The agent of that name.
    fn get(&self, name: &str) -> Option<Arc<AgentSpec>>;
    /// All names.
    fn names(&self) -> Vec<String>;
    /// These agents and those that they may hand work to, and so on.
    fn reachable(&self, names: &[String]) -> Vec<Arc<AgentSpec>> {
        let mut found: BTreeMap<String, Arc<AgentSpec>> = BTreeMap::new();
        let mut open: Vec<String> = names.to_vec();
        while let Some(name) = open.pop() {
            if found.contains_key(&name) {
                continue;
            }
            if let Some(agent) = self.get(&name) {
                open.extend(agent.agents.iter().flatten().cloned());
                found.insert(name, agent);
            }
        }
        found.into_values().collect()
    }
}

impl Agents for BTreeMap<String, Arc<AgentSpec>> {
    fn get(&self, name: &str) -> Option<Arc<AgentSpec>> {
        BTreeMap::get(self, name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}

/// A run that is ready to be committed.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// Its id.
    pub run: RunId,
    /// Its jobs by name, in the order of the plan.
    pub jobs: Vec<(String, JobId)>,
    /// All of it.
    pub batch: Batch,
}

/// Checks `plan` and makes a new run of it at `now`.
///
/// # Errors
/// The first [`Fault`] found; its place is the field of the plan.
pub fn new_run(
    plan: &Plan,
    agents: &dyn Agents,
    tenant: &str,
    now: Timestamp,
    entropy: u128,
) -> Result<Submission, Fault> {
    if plan.jobs.is_empty() {
        return Err(Fault::new(
            Code::WrongValue,
            "the plan has no jobs",
            "add at least one under `jobs`",
        ));
    }
    let own = PlanAgents { plan, agents };
    let run_id = RunId::new(now, entropy);
    let ids: Vec<(String, JobId)> = (0_u32..)
        .zip(&plan.jobs)
        .map(|(index, job)| (job.id.clone(), JobId::nth(now, index, entropy.rotate_left(64))))
        .collect();
    let jobs: Vec<&PlannedJob> = plan.jobs.iter().collect();
    let additions = additions_of(&jobs, &own, &BTreeMap::new(), &ids, now)?;
    let mut limits = plan.limits;
    limits.jobs.get_or_insert(plan.jobs.len() as u64 + DELEGATED_JOBS_MAX);
    let mut batch = Batch::at(now);
    batch.events.push(NewEvent {
        run: run_id,
        job: None,
        kind: EventKind::Submitted,
    });
    let names: Vec<String> = additions.iter().map(|addition| addition.spec.agent.clone()).collect();
    let used = own.reachable(&names);
    let results = results_of(plan, &ids)?;
    add_jobs(&mut batch, run_id, &limits, additions);
    batch.runs.push(Run {
        id: run_id,
        tenant: tenant.to_owned(),
        version: 1,
        title: title_of(plan),
        agents: used.into_iter().map(|agent| (agent.name.clone(), agent)).collect(),
        limits,
        model: plan.model.clone(),
        sources: plan.sources.clone(),
        results,
        created_at: now,
    });
    Ok(Submission {
        run: run_id,
        jobs: ids,
        batch,
    })
}

/// Checks the jobs of `plan` and adds them to `run`, whose jobs of the plan's level are `existing`.
///
/// New jobs may depend on existing ones, ended or not; existing ones gain no dependencies, so no ring can arise.
///
/// # Errors
/// As [`new_run`].
pub fn extend_run(
    plan: &Plan,
    agents: &dyn Agents,
    run: &Run,
    existing: &[Job],
    now: Timestamp,
    entropy: u128,
) -> Result<Submission, Fault> {
    if plan.jobs.is_empty() {
        return Err(Fault::new(
            Code::WrongValue,
            "the plan has no jobs",
            "add at least one under `jobs`",
        ));
    }
    let own = PlanAgents { plan, agents };
    let known: BTreeMap<&str, &Job> = existing.iter().map(|job| (job.spec.name.as_str(), job)).collect();
    let mut fresh: Vec<&PlannedJob> = Vec::new();
    let mut ids: Vec<(String, JobId)> = Vec::new();
    for (index, job) in (0_u32..).zip(&plan.jobs) {
        let id = if let Some(before) = known_by_key(job, existing)? {
            before.id
        } else {
            fresh.push(job);
            JobId::nth(now, index, entropy)
        };
        ids.push((job.id.clone(), id));
    }
    let additions = additions_of(&fresh, &own, &known, &ids, now)?;
    let mut next = run.clone();
    next.version += 1;
    let names: Vec<String> = additions.iter().map(|addition| addition.spec.agent.clone()).collect();
    for agent in own.reachable(&names) {
        next.agents.entry(agent.name.clone()).or_insert(agent);
    }
    next.results = results_of(plan, &ids)?;
    let mut batch = Batch::at(now);
    add_jobs(&mut batch, run.id, &run.limits, additions);
    batch.runs.push(next);
    Ok(Submission {
        run: run.id,
        jobs: ids,
        batch,
    })
}

/// The plan's own agents first, then the given ones.
struct PlanAgents<'a> {
    plan: &'a Plan,
    agents: &'a dyn Agents,
}

impl Agents for PlanAgents<'_> {
    fn get(&self, name: &str) -> Option<Arc<AgentSpec>> {
        match self.plan.agents.get(name) {
            Some(agent) => Some(Arc::new(AgentSpec {
                name: name.to_owned(),
                ..agent.clone()
            })),
            None => self.agents.get(name),
        }
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.plan.agents.keys().cloned().chain(self.agents.names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn title_of(plan: &Plan) -> String {
    let text = plan
        .title
        .as_deref()
        .or_else(|| plan.jobs.first().map(|job| job.description.as_str()));
    let line = text
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    line.chars().take(120).collect()
}

fn results_of(plan: &Plan, ids: &[(String, JobId)]) -> Result<Vec<JobId>, Fault> {
    if let Some(wanted) = &plan.result {
        if let Some((_, id)) = ids.iter().find(|(name, _)| name == wanted) {
            return Ok(vec![*id]);
        }
        let nearest = crate::nearest::nearest(wanted, ids.iter().map(|(name, _)| name.as_str()));
        let help = nearest.map_or("name one of the plan's jobs".to_owned(), |n| {
            format!("did you mean `{n}`?")
        });
        let message = format!("`{wanted}` is not a job of the plan");
        return Err(Fault::new(Code::UnknownDependency, message, help).at("result"));
    }
    let needed: std::collections::BTreeSet<&str> = plan
        .jobs
        .iter()
        .flat_map(|job| job.depends_on.iter().map(crate::plan::Need::job))
        .collect();
    Ok(ids
        .iter()
        .filter(|(name, _)| !needed.contains(name.as_str()))
        .map(|(_, id)| *id)
        .collect())
}

/// The job that was added under the same key before, if there is one.
fn known_by_key<'a>(job: &PlannedJob, existing: &'a [Job]) -> Result<Option<&'a Job>, Fault> {
    let Some(wanted) = key_of(job) else { return Ok(None) };
    for before in existing {
        match &before.spec.key {
            Some(key) if *key == wanted => return Ok(Some(before)),
            Some(key) if key.key == wanted.key => {
                let message = format!(
                    "the idempotency key `{}` was already used with another payload",
                    key.key
                );
                let help = "send the first payload again or use a new key";
                return Err(Fault::new(Code::KeyConflict, message, help));
            }
            Some(_) | None => {}
        }
    }
    Ok(None)
}

fn key_of(job: &PlannedJob) -> Option<JobKey> {
    job.idempotency_key.as_ref().map(|key| JobKey {
        key: key.clone(),
        fingerprint: fingerprint(job),
    })
}

/// SHA-256, in hex, of a payload as JSON: what an idempotency key is bound to.
pub fn fingerprint(payload: &impl Serialize) -> String {
    // Plans consist of strings, numbers and maps with string keys, which always have a JSON form.
    let bytes = serde_json::to_vec(payload).unwrap_or_default();
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(&bytes) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn additions_of(
    jobs: &[&PlannedJob],
    agents: &dyn Agents,
    known: &BTreeMap<&str, &Job>,
    ids: &[(String, JobId)],
    now: Timestamp,
) -> Result<Vec<Addition>, Fault> {
    let nodes: Vec<Node<'_>> = jobs
        .iter()
        .map(|job| Node {
            name: &job.id,
            needs: job
                .depends_on
                .iter()
                .map(|need| (need.job(), need.condition()))
                .collect(),
        })
        .collect();
    let edges = dag::validate(&nodes, &|name| known.contains_key(name)).map_err(Fault::from)?;
    let id_of: BTreeMap<&str, JobId> = ids.iter().map(|(name, id)| (name.as_str(), *id)).collect();
    let parent_of = |(name, condition): &(&str, Condition)| match (id_of.get(name), known.get(name)) {
        (Some(id), _) => Some(Parent {
            id: *id,
            condition: *condition,
            state: JobState::Queued,
            version: None,
        }),
        (None, Some(job)) => Some(Parent {
            id: job.id,
            condition: *condition,
            state: job.state(),
            version: Some(job.version),
        }),
        (None, None) => None,
    };
    let mut additions = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        let spec = spec_of(job, agents, now).map_err(|fault| match fault.place.clone() {
            Some(field) => fault.at(format!("jobs[{index}].{field}")),
            None => fault.at(format!("jobs[{index}]")),
        })?;
        let parents = edges[index].iter().filter_map(parent_of).collect();
        additions.push(Addition {
            id: ids[index].1,
            spec,
            parents,
        });
    }
    Ok(additions)
}

fn spec_of(job: &PlannedJob, agents: &dyn Agents, now: Timestamp) -> Result<JobSpec, Fault> {
    if job.id.len() > NAME_BYTES_MAX || job.id.contains(|c: char| c.is_control()) {
        let message = format!("the id has {} bytes or control characters", job.id.len());
        return Err(Fault::new(
            Code::WrongValue,
            message,
            format!("use at most {NAME_BYTES_MAX} printable bytes"),
        )
        .at("id"));
    }
    check_description(&job.description).map_err(|fault| fault.at("description"))?;
    let name = job.agent.as_deref().unwrap_or(DEFAULT_AGENT);
    let Some(agent) = agents.get(name) else {
        let names = agents.names();
        let help = match crate::nearest::nearest(name, names.iter().map(String::as_str)) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("use one of {}", names.join(", ")),
        };
        return Err(Fault::new(Code::UnknownAgent, format!("there is no agent `{name}`"), help).at("agent"));
    };
    let queue = job
        .queue
        .clone()
        .or_else(|| agent.queue.clone())
        .unwrap_or_else(|| DEFAULT_QUEUE.to_owned());
    Ok(JobSpec {
        name: job.id.clone(),
        agent: name.to_owned(),
        ad_hoc: None,
        description: job.description.clone(),
        context: job.context.clone(),
        queue,
        priority: job.priority,
        start_at: job.delay_ms.map(|ms| now + ms),
        parent: None,
        depth: 0,
        call: None,
        limits: job.limits.or(&agent.limits),
        key: key_of(job),
    })
}

/// Whether a description can be given to an agent.
///
/// # Errors
/// [`Code::EmptyPrompt`] or [`Code::LongPrompt`].
pub fn check_description(description: &str) -> Result<(), Fault> {
    if description.trim().is_empty() {
        return Err(Fault::new(
            Code::EmptyPrompt,
            "the description is empty",
            "say what is to be done",
        ));
    }
    if description.len() > DESCRIPTION_BYTES_MAX {
        let message = format!(
            "the description has {} bytes, at most {DESCRIPTION_BYTES_MAX} are accepted",
            description.len()
        );
        return Err(Fault::new(
            Code::LongPrompt,
            message,
            "put the long part into a file and pass it with --sources",
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "submit_tests.rs"]
mod tests;
