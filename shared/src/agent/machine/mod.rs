//! The loop of an agent without its I/O: what to do next, and what to write into the journal.
//!
//! [`Machine::next`] says what is to be done; whoever does it tells [`Machine::on`] what came of it and gets the journal
//! entries that say so; once these are committed, [`Machine::apply`] folds them in. The state is a fold over the
//! entries and over nothing else, so a job that is taken over by another worker stands exactly where it stood.
//!
//! A model's reply is untrusted input: whatever it holds, each call gets exactly one result, in the order of the calls,
//! and every way of going round in circles is bounded by a constant of [`bounds`].

mod answer;
pub mod bounds;
mod children;
mod entry;
mod judge;
mod setup;
mod state;
mod turn;

#[cfg(test)]
mod tests;

pub use entry::{
    Child, ChildMode, ChildRequest, Control, ControlCall, Entry, JOURNAL_VERSION, JournalError, Need, Nudge, Replied,
    Then, Update, read,
};
pub use setup::{AgentCard, Check, Setup};

use std::sync::Arc;

use crate::agent::outcome;
use crate::agent::tool::{CallId, ToolCall, ToolReply, ToolSpec};
use crate::agent::transcript::{Message, ModelReply, ModelRequest};
use crate::id::JobId;
use crate::job::{FailReason, JobError, JobResult, Outcome, Progress, Todo, TodoStatus};
use state::{Stage, State};

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Compose the system prompt and the first message; answer with [`Input::Opened`].
    Open,
    /// Ask the model; answer with [`Input::Replied`].
    CallModel(ModelRequest),
    /// Run these calls of ordinary tools, at once if you like; answer with [`Input::Answered`], in any portions.
    RunTools(Vec<ToolCall>),
    /// Ask these things of jobs in the background; answer with [`Input::Answered`].
    Control(Vec<ControlCall>),
    /// Queue these jobs in one commit; answer with [`Input::Delegated`], or with [`Input::Refused`] if it was refused.
    Delegate(Vec<ChildRequest>),
    /// Sleep until these children have ended, holding nothing; answer with [`Input::Ended`].
    Await(Vec<Child>),
    /// The job has succeeded.
    Finish(JobResult),
    /// The job has failed.
    Fail(JobError),
}

/// What came of an action, or what else happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The conversation begins.
    Opened {
        /// The system prompt.
        system: String,
        /// The first message.
        text: String,
    },
    /// The model replied.
    Replied(ModelReply),
    /// Calls were answered.
    Answered(Vec<ToolReply>),
    /// The jobs of these calls are queued by the commit that holds the resulting entries.
    Delegated(Vec<(CallId, JobId)>),
    /// The run takes only the first `room` of the jobs to be queued.
    Refused {
        /// How many there is room for.
        room: usize,
        /// Why there is no more, for the model.
        why: String,
    },
    /// Awaited children have ended.
    Ended(Vec<(CallId, Outcome)>),
    /// The open calls will never be answered: they were interrupted or lost.
    Abandoned {
        /// Why, for the model.
        why: String,
    },
    /// Updates arrived.
    Updates(Vec<Update>),
    /// A person opened a new generation of the job.
    Retried {
        /// Its number.
        generation: u32,
    },
}

/// The loop of one agent's job.
#[derive(Debug, Clone)]
pub struct Machine {
    setup: Setup,
    tools: Arc<[Arc<ToolSpec>]>,
    state: State,
}

impl Machine {
    /// A loop that has not begun.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self {
            tools: setup.all_tools(),
            setup,
            state: State::default(),
        }
    }

    /// Folds journal entries in: those of a stored journal, or those that were just committed.
    ///
    /// # Errors
    /// [`JournalError::Misplaced`] if they do not follow from what came before; the machine is then of no use.
    pub fn apply(&mut self, entries: &[Entry]) -> Result<(), JournalError> {
        for (place, entry) in entries.iter().enumerate() {
            self.state
                .apply(entry)
                .map_err(|problem| JournalError::Misplaced { place, problem })?;
        }
        Ok(())
    }

    /// What is to be done next.
    #[must_use]
    pub fn next(&self) -> Action {
        match &self.state.stage {
            Stage::Unopened => Action::Open,
            Stage::Asking if self.state.tally.steps >= self.setup.limits.steps() => {
                Action::Fail(self.with_partial(bounds::out_of_steps(self.setup.limits.steps())))
            }
            Stage::Asking if self.state.tally.bad_turns >= bounds::BAD_TURNS_MAX => {
                Action::Fail(self.with_partial(bounds::bad_turns(&self.state.last_refusal)))
            }
            Stage::Asking => Action::CallModel(self.request()),
            Stage::Working(turn) => {
                let (tools, controls, unqueued) = (turn.tools(), turn.controls(), turn.unqueued());
                if !tools.is_empty() {
                    Action::RunTools(tools)
                } else if !controls.is_empty() {
                    Action::Control(controls)
                } else if !unqueued.is_empty() {
                    Action::Delegate(unqueued)
                } else {
                    Action::Await(turn.awaited())
                }
            }
            Stage::Finished { notes } => Action::Finish(self.result(notes)),
            Stage::Failed(error) => Action::Fail(self.with_partial(error.clone())),
        }
    }

    /// The entries that say what happened; none if it changes nothing. Nothing has changed until they are applied.
    #[must_use]
    pub fn on(&self, input: Input) -> Vec<Entry> {
        let entry = match input {
            Input::Opened { system, text } => (self.state.stage == Stage::Unopened).then_some(Entry::Opened {
                v: JOURNAL_VERSION,
                system,
                text,
            }),
            Input::Replied(reply) => {
                (self.state.stage == Stage::Asking).then(|| judge::judge(&self.setup, &self.state, reply))
            }
            Input::Answered(replies) => answered(self.only_open(replies)),
            Input::Delegated(jobs) => self.delegated(&jobs),
            Input::Refused { room, why } => answered(self.refused(room, &why)),
            Input::Ended(outcomes) => answered(self.only_open(self.ended(&outcomes))),
            Input::Abandoned { why } => answered(self.abandoned(&why)),
            Input::Updates(updates) => {
                let heard = self.state.stage != Stage::Unopened && !updates.is_empty();
                heard.then_some(Entry::Applied { updates })
            }
            Input::Retried { generation } => {
                (generation > self.state.generation.max(1)).then_some(Entry::Retried { generation })
            }
        };
        entry.into_iter().collect()
    }

    /// The agent's own list.
    #[must_use]
    pub fn todos(&self) -> &[Todo] {
        &self.state.todos
    }

    /// The children that it handed out, in the order in which they were queued.
    #[must_use]
    pub fn children(&self) -> &[Child] {
        &self.state.children
    }

    /// The conversation so far, without open results.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.state.messages
    }

    /// The generation that the journal is in.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.state.generation.max(1)
    }

    /// The last text of the model that is not blank: what is kept of work that ends before its answer.
    #[must_use]
    pub fn partial(&self) -> Option<&str> {
        Some(self.state.last_text.as_str()).filter(|text| !text.is_empty())
    }

    /// How far it is, for people.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let doing = |todo: &&Todo| todo.status == TodoStatus::InProgress;
        Progress {
            step: self.state.step,
            last_tool: self.state.last_tool.clone(),
            note: self
                .state
                .todos
                .iter()
                .find(doing)
                .map(|todo| todo.active_form.clone().unwrap_or_else(|| todo.content.clone())),
        }
    }

    fn request(&self) -> ModelRequest {
        let mut messages = self.state.messages.clone();
        let steps = self.setup.limits.steps();
        if self.state.tally.steps > 0 && self.state.tally.steps + 1 == steps {
            bounds::ask_for_the_last_reply(&mut messages);
        }
        ModelRequest {
            model: self.setup.model.clone(),
            system: self.state.system.clone(),
            messages,
            tools: Arc::clone(&self.tools),
            max_output_tokens: self.setup.max_output_tokens,
            temperature_milli: self.setup.temperature_milli,
        }
    }

    fn result(&self, notes: &[String]) -> JobResult {
        answer::result(&self.setup, &self.state.last_text, notes)
    }

    fn with_partial(&self, mut error: JobError) -> JobError {
        let useful = error.partial.is_none() && error.reason != FailReason::Budget;
        if useful {
            error.partial = self.partial().map(bounds::partial);
        }
        error
    }

    /// Without what answers no open call: a late or repeated answer changes nothing.
    fn only_open(&self, replies: Vec<ToolReply>) -> Vec<ToolReply> {
        let Stage::Working(turn) = &self.state.stage else {
            return Vec::new();
        };
        let mut kept: Vec<ToolReply> = Vec::with_capacity(replies.len());
        for reply in replies {
            let repeated = kept.iter().any(|before| before.call_id == reply.call_id);
            if turn.is_open(&reply.call_id) && !repeated {
                kept.push(reply);
            }
        }
        kept
    }

    fn delegated(&self, jobs: &[(CallId, JobId)]) -> Option<Entry> {
        let Stage::Working(turn) = &self.state.stage else {
            return None;
        };
        let children: Vec<Child> = turn
            .unqueued()
            .into_iter()
            .filter_map(|request| {
                let (_, job) = jobs.iter().find(|(call_id, _)| *call_id == request.call_id)?;
                Some(Child {
                    call_id: request.call_id,
                    id: request.id,
                    job: *job,
                    agent: request.agent,
                    mode: request.mode,
                })
            })
            .collect();
        (!children.is_empty()).then_some(Entry::Delegated { children })
    }

    fn refused(&self, room: usize, why: &str) -> Vec<ToolReply> {
        match &self.state.stage {
            Stage::Working(turn) => children::without_room(&turn.unqueued(), room, why),
            Stage::Unopened | Stage::Asking | Stage::Finished { .. } | Stage::Failed(_) => Vec::new(),
        }
    }

    fn ended(&self, outcomes: &[(CallId, Outcome)]) -> Vec<ToolReply> {
        let Stage::Working(turn) = &self.state.stage else {
            return Vec::new();
        };
        let replies = turn.awaited().into_iter().filter_map(|child| {
            let (_, outcome) = outcomes.iter().find(|(call_id, _)| *call_id == child.call_id)?;
            Some(outcome::task_reply(&child, outcome))
        });
        replies.collect()
    }

    fn abandoned(&self, why: &str) -> Vec<ToolReply> {
        match &self.state.stage {
            Stage::Working(turn) => turn
                .open()
                .map(|call| bounds::refuse(call, format!("cancelled: {why}")))
                .collect(),
            Stage::Unopened | Stage::Asking | Stage::Finished { .. } | Stage::Failed(_) => Vec::new(),
        }
    }
}

fn answered(replies: Vec<ToolReply>) -> Option<Entry> {
    (!replies.is_empty()).then_some(Entry::Answered { replies })
}
