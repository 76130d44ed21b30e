//! The jobs that a reply hands out: one graph over the children of this job.
//!
//! A child can only wait for other children of the same job, which never wait for their parent, so no delegation can
//! wait for itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::bounds;
use super::entry::{ChildMode, ChildRequest, Need};
use super::judge::shown;
use super::setup::{AgentCard, Setup};
use super::state::State;
use crate::agent::delegation;
use crate::agent::tool::{ToolCall, ToolReply};
use crate::dag::{self, Condition, Node};

/// What a call asks for, checked on its own.
pub(super) struct Wanted {
    call: ToolCall,
    mode: ChildMode,
    id: Option<String>,
    agent: String,
    description: String,
    context: Option<Value>,
    needs: Vec<(String, Condition)>,
}

/// Whether the answer of that tool's job is waited for; `None` if the tool hands out none.
pub(super) fn mode_of(tool: &str) -> Option<ChildMode> {
    match tool {
        delegation::TASK => Some(ChildMode::Awaited),
        delegation::START => Some(ChildMode::Background),
        _ => None,
    }
}

/// Reads one call on its own: its fields, its agent, its context.
pub(super) fn read(
    setup: &Setup,
    call: &ToolCall,
    mode: ChildMode,
    arguments: &Map<String, Value>,
) -> Result<Wanted, String> {
    let card = agent(setup, mode, arguments.get("subagent_type"))?;
    let asked = delegation::read(arguments)?;
    if let (Some(check), context) = (&card.accepts, &asked.context) {
        check
            .run(context.as_ref().unwrap_or(&Value::Null))
            .map_err(|violations| {
                let told = violations
                    .iter()
                    .take(bounds::VIOLATIONS_MAX)
                    .map(|violation| shown_violation(violation));
                format!(
                    "`context` does not fit what `{}` takes: {}; nothing was queued for this call",
                    card.name,
                    told.collect::<Vec<_>>().join("; ")
                )
            })?;
    }
    Ok(Wanted {
        call: call.clone(),
        mode,
        id: asked.id,
        agent: card.name.clone(),
        description: asked.description,
        context: asked.context,
        needs: asked.needs,
    })
}

fn shown_violation(violation: &str) -> String {
    violation.chars().take(bounds::VIOLATION_CHARS_MAX).collect()
}

fn agent<'a>(setup: &'a Setup, mode: ChildMode, wanted: Option<&Value>) -> Result<&'a AgentCard, String> {
    let name = wanted.and_then(Value::as_str).unwrap_or_default();
    if let Some(card) = setup.agents.iter().find(|card| card.name == name) {
        return Ok(card);
    }
    let names: Vec<&str> = setup.agents.iter().map(|card| card.name.as_str()).collect();
    let allowed = names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let hint = crate::nearest::nearest(&shown(name), names)
        .map(|name| format!(" Did you mean `{name}`?"))
        .unwrap_or_default();
    Err(match mode {
        _ if name.is_empty() => format!("`subagent_type` is missing; the only allowed types are {allowed}"),
        ChildMode::Awaited => format!(
            "We cannot invoke subagent {} because it does not exist, the only allowed types are {allowed}.{hint}",
            shown(name)
        ),
        ChildMode::Background => {
            format!(
                "Unknown async subagent type `{}`. Available types: {allowed}.{hint}",
                shown(name)
            )
        }
    })
}

/// Makes jobs of the calls, and refuses those that cannot be: over a limit, in a broken graph, after a refused one.
///
/// `lost` are the ids of calls that were refused before.
pub(super) fn plan(
    setup: &Setup,
    state: &State,
    wanted: Vec<Wanted>,
    lost: &[String],
) -> (Vec<ChildRequest>, Vec<ToolReply>) {
    if setup.depth >= setup.depth_max {
        let why = format!(
            "this job is at depth {} and the run allows {}: do the work yourself instead of handing it out",
            setup.depth, setup.depth_max
        );
        return (
            Vec::new(),
            wanted.iter().map(|wanted| bounds::refuse(&wanted.call, &why)).collect(),
        );
    }
    let fan_out = setup.limits.fan_out() as usize;
    let why = format!("one reply may hand out {fan_out} jobs at most; this one was not queued, call it again later");
    let mut named = name(state, wanted);
    let over = named.split_off(fan_out.min(named.len()));
    let gone = over
        .iter()
        .map(|(id, _)| id.clone())
        .chain(lost.iter().cloned())
        .collect();
    let mut answers: Vec<ToolReply> = over
        .iter()
        .map(|(_, wanted)| bounds::refuse(&wanted.call, &why))
        .collect();
    let (named, orphans) = without_orphans(state, named, gone);
    answers.extend(orphans);
    match requests(setup, state, &named) {
        Ok(requests) => (requests, answers),
        Err(problem) => {
            let why = format!("{problem}; none of the jobs of this reply was queued");
            answers.extend(named.iter().map(|(_, wanted)| bounds::refuse(&wanted.call, &why)));
            (Vec::new(), answers)
        }
    }
}

/// Gives each job without an id one made from its agent's name.
fn name(state: &State, wanted: Vec<Wanted>) -> Vec<(String, Wanted)> {
    let given = wanted.iter().filter_map(|wanted| wanted.id.clone());
    let mut taken: BTreeSet<String> = state
        .children
        .iter()
        .map(|child| child.id.clone())
        .chain(given)
        .collect();
    let named = wanted.into_iter().map(|wanted| {
        let id = wanted.id.clone().unwrap_or_else(|| free_id(&wanted.agent, &taken));
        taken.insert(id.clone());
        (id, wanted)
    });
    named.collect()
}

fn free_id(agent: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (2_u32..).map(|number| format!("{agent}-{number}"));
    std::iter::once(agent.to_owned())
        .chain(numbered)
        .find(|id| !taken.contains(id))
        .unwrap_or_default()
}

type Named = Vec<(String, Wanted)>;

/// Refuses what waits for a job that is `gone`, and what waits for that, and so on.
fn without_orphans(state: &State, named: Named, gone: BTreeSet<String>) -> (Named, Vec<ToolReply>) {
    let known: BTreeSet<&str> = state.children.iter().map(|child| child.id.as_str()).collect();
    let mut gone = gone;
    let mut left = named;
    let mut orphans = Vec::new();
    loop {
        let waits_in_vain = |needs: &[(String, Condition)]| {
            let lost = needs
                .iter()
                .find(|(id, _)| gone.contains(id) && !known.contains(id.as_str()));
            lost.map(|(id, _)| id.clone())
        };
        let (bad, good): (Named, Named) = left
            .into_iter()
            .partition(|(_, wanted)| waits_in_vain(&wanted.needs).is_some());
        left = good;
        if bad.is_empty() {
            return (left, orphans);
        }
        for (_, wanted) in &bad {
            let on = waits_in_vain(&wanted.needs).unwrap_or_default();
            orphans.push(bounds::refuse(
                &wanted.call,
                format!("it depends on `{on}`, which was refused; nothing was queued for it"),
            ));
        }
        gone.extend(bad.into_iter().map(|(id, _)| id));
    }
}

fn requests(setup: &Setup, state: &State, named: &[(String, Wanted)]) -> Result<Vec<ChildRequest>, String> {
    let earlier: BTreeMap<&str, crate::id::JobId> = state
        .children
        .iter()
        .map(|child| (child.id.as_str(), child.job))
        .collect();
    let nodes: Vec<Node<'_>> = named
        .iter()
        .map(|(id, wanted)| Node {
            name: id,
            needs: wanted
                .needs
                .iter()
                .map(|(on, condition)| (on.as_str(), *condition))
                .collect(),
        })
        .collect();
    let edges = dag::validate(&nodes, &|id| earlier.contains_key(id)).map_err(|error| error.to_string())?;
    let requests = named.iter().zip(edges).map(|((id, wanted), needs)| ChildRequest {
        call_id: wanted.call.id.clone(),
        id: id.clone(),
        name: format!("{}/{id}", setup.job),
        agent: wanted.agent.clone(),
        description: wanted.description.clone(),
        context: wanted.context.clone(),
        needs: needs
            .into_iter()
            .map(|(on, condition)| Need {
                id: on.to_owned(),
                job: earlier.get(on).copied(),
                condition,
            })
            .collect(),
        mode: wanted.mode,
    });
    Ok(requests.collect())
}

/// The refusals of the jobs that find no room in the run, and of those that wait for them.
pub(super) fn without_room(unqueued: &[ChildRequest], room: usize, why: &str) -> Vec<ToolReply> {
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    let mut refused: BTreeSet<usize> = (room.min(unqueued.len())..unqueued.len()).collect();
    loop {
        gone.extend(refused.iter().map(|place| unqueued[*place].id.as_str()));
        let orphan = |(place, request): &(usize, &ChildRequest)| {
            !refused.contains(place)
                && request
                    .needs
                    .iter()
                    .any(|need| need.job.is_none() && gone.contains(need.id.as_str()))
        };
        let orphans: Vec<usize> = unqueued
            .iter()
            .enumerate()
            .filter(orphan)
            .map(|(place, _)| place)
            .collect();
        if orphans.is_empty() {
            break;
        }
        refused.extend(orphans);
    }
    let replies = refused.into_iter().map(|place| {
        let request = &unqueued[place];
        ToolReply {
            call_id: request.call_id.clone(),
            name: delegation::tool_of(request.mode).to_owned(),
            content: format!("the job was not queued: {why}"),
            error: true,
        }
    });
    replies.collect()
}
