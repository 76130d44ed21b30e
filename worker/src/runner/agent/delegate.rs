//! Handing out work, waking up with its answers, and steering what runs in the background.

use std::collections::BTreeMap;
use std::sync::Arc;

use legwork_shared::agent::control::{self, Standing};
use legwork_shared::agent::machine::{
    Child, ChildMode, ChildRequest, Control, ControlCall, Entry, Input, Machine, Need as Wish,
};
use legwork_shared::agent::{AgentSpec, ToolReply, delegation};
use legwork_shared::job::{BlockedOn, JobSpec, JobState, Outcome, Verdict};
use legwork_shared::submit::DEFAULT_QUEUE;

use super::Stop;
use super::session::Session;
use crate::attempt::{self, AfterSubmit, AttemptError, ChildJob, Need, Steer, Steered};

impl Session<'_> {
    /// Queues the jobs, all in one commit; where some are waited for, the attempt ends with that commit.
    pub(super) async fn delegate(&mut self, requests: Vec<ChildRequest>) -> Result<Option<Verdict>, Stop> {
        // Those that are waited for come first, as the commit wants them.
        let (awaited, background): (Vec<_>, Vec<_>) = requests
            .into_iter()
            .partition(|request| request.mode == ChildMode::Awaited);
        let count = awaited.len();
        let ordered: Vec<ChildRequest> = awaited.into_iter().chain(background).collect();
        let after = if count == 0 {
            AfterSubmit::Continue
        } else {
            AfterSubmit::WaitForFirst(count)
        };
        let jobs = self.child_jobs(&ordered);
        let entries = |children: &[attempt::Child]| handed_out(&self.machine, &ordered, children);
        let report = |children: &[attempt::Child]| self.report(&entries(children), None);
        match self.attempt.submit_children_noted(jobs, &report, after).await {
            Ok(children) => {
                let entries = entries(&children);
                self.written(&entries)?;
                Ok((count > 0).then_some(Verdict::Waiting(BlockedOn::Children)))
            }
            // The run has no room for all of them: what fits is handed out, the others are refused.
            Err(AttemptError::Budget { message }) => self
                .note(Input::Refused {
                    room: ordered.len() - 1,
                    why: message,
                })
                .map(|()| None),
            Err(AttemptError::Refused { message, .. }) => {
                self.note(Input::Refused { room: 0, why: message }).map(|()| None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn child_jobs(&self, ordered: &[ChildRequest]) -> Vec<ChildJob> {
        let place: BTreeMap<&str, usize> = ordered
            .iter()
            .enumerate()
            .map(|(at, child)| (child.id.as_str(), at))
            .collect();
        let need = |wish: &Wish| {
            let on = match wish.job {
                Some(job) => Need::Job(job),
                None => Need::Sibling(*place.get(wish.id.as_str())?),
            };
            Some((on, wish.condition))
        };
        let jobs = ordered.iter().map(|request| ChildJob {
            spec: self.child_spec(request),
            needs: request.needs.iter().filter_map(need).collect(),
        });
        jobs.collect()
    }

    fn child_spec(&self, request: &ChildRequest) -> JobSpec {
        let job = self.attempt.job();
        let known = self.attempt.run().agents.get(&request.agent);
        JobSpec {
            name: request.name.clone(),
            agent: request.agent.clone(),
            ad_hoc: known.and_then(|child| inherited(self.agent, child)),
            description: request.description.clone(),
            context: request.context.clone(),
            queue: known
                .and_then(|agent| agent.queue.clone())
                .unwrap_or_else(|| DEFAULT_QUEUE.to_owned()),
            priority: job.spec.priority,
            start_at: None,
            parent: Some(job.id),
            depth: job.spec.depth + 1,
            call: (request.mode == ChildMode::Awaited).then(|| request.call_id.clone()),
            limits: known.map(|agent| agent.limits).unwrap_or_default(),
            key: None,
        }
    }

    /// Goes on with the outcomes of the children that were waited for.
    pub(super) async fn wake(&mut self, awaited: &[Child]) -> Result<Option<Verdict>, Stop> {
        let inputs = self.attempt.inputs().await?;
        let outcomes: Vec<(String, Outcome)> = awaited
            .iter()
            .filter_map(|child| {
                let input = inputs.children.iter().find(|input| input.job == child.job)?;
                Some((child.call_id.clone(), input.outcome.clone()))
            })
            .collect();
        let all_ended = outcomes.len() == awaited.len();
        self.note(Input::Ended(outcomes))?;
        if all_ended {
            return Ok(None);
        }
        // Woken too early: what has ended is noted, and the job sleeps on.
        self.flush(None).await?;
        Ok(Some(Verdict::Waiting(BlockedOn::Children)))
    }

    /// Answers what the agent asks of its jobs in the background.
    pub(super) async fn control(&mut self, calls: Vec<ControlCall>) -> Result<(), Stop> {
        for call in calls {
            match call.control {
                Control::Check { id, job } => {
                    let said = match self.attempt.look_at(job).await? {
                        Some(job) => control::checked(&id, &standing(&job)),
                        None => gone(&id),
                    };
                    self.note(Input::Answered(vec![reply(&call.call_id, delegation::CHECK, said)]))?;
                }
                Control::List { status } => {
                    let said = self.list(status.as_deref()).await?;
                    self.note(Input::Answered(vec![reply(&call.call_id, delegation::LIST, said)]))?;
                }
                Control::Update { id, job, message } => {
                    let steer = Steer::Tell(message);
                    self.steer(&call.call_id, delegation::UPDATE, &id, job, &steer).await?;
                }
                Control::Cancel { id, job } => {
                    self.steer(&call.call_id, delegation::CANCEL, &id, job, &Steer::Stop)
                        .await?;
                }
            }
        }
        Ok(())
    }

    async fn list(&self, status: Option<&str>) -> Result<String, AttemptError> {
        let background = self
            .machine
            .children()
            .iter()
            .filter(|child| child.mode == ChildMode::Background);
        let mut found = Vec::new();
        for child in background {
            if let Some(job) = self.attempt.look_at(child.job).await? {
                found.push((child, standing(&job)));
            }
        }
        Ok(control::listed(
            found.iter().map(|(child, standing)| (*child, standing)),
            status,
        ))
    }

    /// Steers a job; the answer is journalled by the commit that does it, so it is done once.
    async fn steer(
        &mut self,
        call_id: &str,
        tool: &str,
        id: &str,
        job: legwork_shared::id::JobId,
        steer: &Steer,
    ) -> Result<(), Stop> {
        let entries = |steered: Steered| -> Vec<Entry> {
            let reply = match (steered, steer) {
                (Steered::Done, Steer::Tell(_)) => reply(call_id, tool, control::updated(id)),
                (Steered::Done, Steer::Stop) => reply(call_id, tool, control::cancelled(id)),
                (Steered::Ended(state), _) => ToolReply {
                    error: true,
                    ..reply(call_id, tool, ended(id, state))
                },
            };
            self.machine.on(Input::Answered(vec![reply]))
        };
        let report = |steered: Steered| self.report(&entries(steered), None);
        match self.attempt.steer(job, steer, &report).await {
            Ok(steered) => {
                let entries = entries(steered);
                self.written(&entries)
            }
            Err(AttemptError::Refused { .. }) => {
                let answer = ToolReply {
                    error: true,
                    ..reply(call_id, tool, gone(id))
                };
                self.note(Input::Answered(vec![answer]))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn handed_out(machine: &Machine, ordered: &[ChildRequest], children: &[attempt::Child]) -> Vec<Entry> {
    let jobs = ordered
        .iter()
        .zip(children)
        .map(|(request, child)| (request.call_id.clone(), child.id));
    machine.on(Input::Delegated(jobs.collect()))
}

/// The child with what it inherits of its parent; `None` if that is nothing.
///
/// A model or tools that it names itself replace the parent's.
fn inherited(parent: &AgentSpec, child: &Arc<AgentSpec>) -> Option<Arc<AgentSpec>> {
    let model = child.model.is_none() && parent.model.is_some();
    let tools = child.tools.is_none() && (parent.tools.is_some() || !parent.excluded_tools.is_empty());
    if !model && !tools {
        return None;
    }
    let mut heir = AgentSpec::clone(child);
    if model {
        heir.model.clone_from(&parent.model);
    }
    if tools {
        heir.tools.clone_from(&parent.tools);
        heir.excluded_tools.extend(parent.excluded_tools.iter().cloned());
    }
    Some(Arc::new(heir))
}

fn standing(job: &legwork_shared::job::Job) -> Standing {
    Standing {
        state: job.state(),
        outcome: job.phase.outcome().cloned(),
    }
}

fn reply(call_id: &str, tool: &str, content: String) -> ToolReply {
    ToolReply {
        call_id: call_id.to_owned(),
        name: tool.to_owned(),
        content,
        error: false,
    }
}

fn ended(id: &str, state: JobState) -> String {
    format!("Failed: task `{id}` has ended already ({state}); read its result with check_async_task")
}

fn gone(id: &str) -> String {
    format!("No tracked task found for task_id: '{id}'")
}
