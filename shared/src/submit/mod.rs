//! Turns plans into batches: every check first, then one commit. Pure.

mod addition;
mod agents;
mod planned;

pub use addition::{Addition, Parent, add_jobs};
pub use agents::{Agents, PlanAgents};
pub use planned::{check_description, check_sources, fingerprint};

use std::collections::{BTreeMap, BTreeSet};

use crate::batch::{Batch, KeyClaim, NewEvent};
use crate::fault::{Code, Fault};
use crate::id::{JobId, RunId};
use crate::job::{EventKind, Job};
use crate::plan::{Need, Plan, PlannedJob};
use crate::run::Run;
use crate::time::Timestamp;
use planned::{additions_of, check_key, known_by_key};

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
    check_key(plan.idempotency_key.as_deref()).map_err(|fault| fault.at("idempotency_key"))?;
    let own = PlanAgents { plan, agents };
    let mut run_id = RunId::new(now, entropy);
    if let Some(key) = &plan.idempotency_key {
        run_id = run_id.with_slot(KeyClaim::slot_of(tenant, key));
    }
    let ids: Vec<(String, JobId)> = (0_u32..)
        .zip(&plan.jobs)
        .map(|(index, job)| {
            let id = JobId::nth(now, index, entropy.rotate_left(64));
            (job.id.clone(), id.with_slot(run_id.slot()))
        })
        .collect();
    let jobs: Vec<(usize, &PlannedJob)> = plan.jobs.iter().enumerate().collect();
    let additions = additions_of(&jobs, &own, &BTreeMap::new(), &ids, now)?;
    check_sources(&plan.jobs, &own, &plan.sources)?;
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
        on_failure: plan.on_failure,
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
    if let Some(stranger) = plan.sources.iter().find(|source| !run.sources.contains(source)) {
        // Its agents know the files by paths that depend on which folders there are.
        let message = format!("the run does not have the source {stranger}, and none can be added to it");
        return Err(Fault::new(Code::WrongValue, message, "start a run of its own with these sources").at("sources"));
    }
    let own = PlanAgents { plan, agents };
    let known: BTreeMap<&str, &Job> = existing.iter().map(|job| (job.spec.name.as_str(), job)).collect();
    let mut fresh: Vec<(usize, &PlannedJob)> = Vec::new();
    let mut ids: Vec<(String, JobId)> = Vec::new();
    for ((index, job), place) in (0_u32..).zip(&plan.jobs).zip(0..) {
        let id = if let Some(before) = known_by_key(job, existing)? {
            before.id
        } else {
            fresh.push((place, job));
            JobId::nth(now, index, entropy).with_slot(run.id.slot())
        };
        ids.push((job.id.clone(), id));
    }
    let additions = additions_of(&fresh, &own, &known, &ids, now)?;
    check_sources(fresh.iter().map(|(_, job)| *job), &own, &run.sources)?;
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
    let needed: BTreeSet<&str> = plan
        .jobs
        .iter()
        .flat_map(|job| job.depends_on.iter().map(Need::job))
        .collect();
    Ok(ids
        .iter()
        .filter(|(name, _)| !needed.contains(name.as_str()))
        .map(|(_, id)| *id)
        .collect())
}

#[cfg(test)]
mod tests;
