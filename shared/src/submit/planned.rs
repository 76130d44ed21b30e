//! From a planned job to what is asked of its agent, with every check on the way.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Addition, Agents, DEFAULT_AGENT, DEFAULT_QUEUE, DESCRIPTION_BYTES_MAX, NAME_BYTES_MAX, Parent};
use crate::dag::{self, Condition, GraphError, Node};
use crate::fault::{Code, Fault};
use crate::id::JobId;
use crate::job::{Job, JobKey, JobSpec, JobState};
use crate::plan::PlannedJob;
use crate::time::Timestamp;

/// The jobs to add, in order, with what they wait for: each other by `ids`, or jobs that are `known` already. Each job comes
/// with its place in the plan.
pub(super) fn additions_of(
    jobs: &[(usize, &PlannedJob)],
    agents: &dyn Agents,
    known: &BTreeMap<&str, &Job>,
    ids: &[(String, JobId)],
    now: Timestamp,
) -> Result<Vec<Addition>, Fault> {
    let nodes: Vec<Node<'_>> = jobs
        .iter()
        .map(|(_, job)| Node {
            name: &job.id,
            needs: job
                .depends_on
                .iter()
                .map(|need| (need.job(), need.condition()))
                .collect(),
        })
        .collect();
    let edges = dag::validate(&nodes, &|name| known.contains_key(name)).map_err(|error| in_plan(error, jobs))?;
    let id_of: BTreeMap<&str, JobId> = ids.iter().map(|(name, id)| (name.as_str(), *id)).collect();
    let parent_of = |(name, condition): &(&str, Condition)| match (id_of.get(name), known.get(name)) {
        (Some(id), None) => Some(Parent {
            id: *id,
            condition: *condition,
            state: JobState::Queued,
            version: None,
        }),
        (_, Some(job)) => Some(Parent {
            id: job.id,
            condition: *condition,
            state: job.state(),
            version: Some(job.version),
        }),
        (None, None) => None,
    };
    let mut additions = Vec::with_capacity(jobs.len());
    for ((place, job), needs) in jobs.iter().zip(&edges) {
        let spec = spec_of(job, agents, now).map_err(|fault| match fault.place.clone() {
            Some(field) => fault.at(format!("jobs[{place}].{field}")),
            None => fault.at(format!("jobs[{place}]")),
        })?;
        let parents = needs.iter().filter_map(parent_of).collect();
        additions.push(Addition {
            id: id_of[job.id.as_str()],
            spec,
            parents,
        });
    }
    Ok(additions)
}

/// A fault of the graph with the field of the plan that it is about.
fn in_plan(error: GraphError, jobs: &[(usize, &PlannedJob)]) -> Fault {
    let named = |name: &String| jobs.iter().rev().find(|(_, job)| job.id == *name);
    let (job, field) = match &error {
        GraphError::EmptyName { index } => (jobs.get(index - 1), "id"),
        GraphError::Duplicate { name } => (named(name), "id"),
        GraphError::SelfEdge { name } | GraphError::Unknown { name, .. } | GraphError::Contradiction { name, .. } => {
            (named(name), "depends_on")
        }
        GraphError::Cycle { path } => (path.first().and_then(named), "depends_on"),
    };
    let fault = Fault::from(error);
    match job {
        Some((place, _)) => fault.at(format!("jobs[{place}].{field}")),
        None => fault,
    }
}

fn spec_of(job: &PlannedJob, agents: &dyn Agents, now: Timestamp) -> Result<JobSpec, Fault> {
    check_id(&job.id).map_err(|fault| fault.at("id"))?;
    check_key(job.idempotency_key.as_deref()).map_err(|fault| fault.at("idempotency_key"))?;
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

fn check_id(id: &str) -> Result<(), Fault> {
    let help = || format!("use at most {NAME_BYTES_MAX} printable bytes");
    if id.len() > NAME_BYTES_MAX {
        let message = format!("the id has {} bytes", id.len());
        return Err(Fault::new(Code::WrongValue, message, help()));
    }
    if id.contains(|c: char| c.is_control()) {
        let message = "the id has a line end or another control character";
        return Err(Fault::new(Code::WrongValue, message, help()));
    }
    Ok(())
}

/// Whether a key tells one submission from another: an empty one would make all that have it the same.
pub(super) fn check_key(key: Option<&str>) -> Result<(), Fault> {
    match key {
        Some(key) if key.trim().is_empty() => {
            let help = "give it a name of its own, or leave it out";
            Err(Fault::new(Code::WrongValue, "the idempotency key is empty", help))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether the jobs that can only quote have something to quote from: a report about nothing would look like a report.
///
/// # Errors
/// [`Code::Sources`], with the agent.
pub fn check_sources<'a>(
    jobs: impl IntoIterator<Item = &'a PlannedJob>,
    agents: &dyn Agents,
    sources: &[String],
) -> Result<(), Fault> {
    if !sources.is_empty() {
        return Ok(());
    }
    let names = jobs
        .into_iter()
        .map(|job| job.agent.as_deref().unwrap_or(DEFAULT_AGENT));
    let quoting = names
        .filter_map(|name| agents.get(name))
        .find(|agent| agent.runner.only_quotes());
    match quoting {
        None => Ok(()),
        Some(agent) => {
            let message = "the agent quotes from documents, and the run has none";
            let help = "name a folder with --sources, or under `sources` in the plan";
            Err(Fault::new(Code::Sources, message, help).at(format!("agent `{}`", agent.name)))
        }
    }
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

/// The job that was added under the same key before, if there is one.
pub(super) fn known_by_key<'a>(job: &PlannedJob, existing: &'a [Job]) -> Result<Option<&'a Job>, Fault> {
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
