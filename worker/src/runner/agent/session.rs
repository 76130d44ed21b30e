//! One attempt of an agent: action by action, each with its line in the journal.

use std::sync::Arc;

use futures::StreamExt;
use legwork_shared::agent::machine::{Action, Entry, Input, Machine, Update};
use legwork_shared::agent::{AgentSpec, ModelReply, ModelRequest, ToolCall};
use legwork_shared::budget::{Reservation, Usage, estimate_tokens};
use legwork_shared::id::UpdateId;
use legwork_shared::job::{FailReason, JobError, Todo, Verdict, retry};
use serde_json::Value;

use super::mind::estimate;
use super::{Mind, Stop, Turn, begin};
use crate::attempt::{Attempt, AttemptError, Report, Signals};
use crate::model::ModelError;
use crate::tool::{ToolBox, ToolContext};

/// How many calls of one reply run at the same time: enough for a model's usual handful, too few to starve the machine.
const TOOLS_AT_ONCE: usize = 8;
/// The smallest ceiling of a reply that is worth a call; with less left the budget is used up.
const CEILING_MIN: u32 = 512;

/// What happened and is not in the store yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub entries: Vec<Value>,
    pub applied: Vec<UpdateId>,
    pub spent: Usage,
    pub todos: Option<Vec<Todo>>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.applied.is_empty() && self.spent == Usage::default() && self.todos.is_none()
    }
}

/// An attempt at work.
pub(super) struct Session<'a> {
    pub attempt: &'a Attempt,
    pub agent: &'a Arc<AgentSpec>,
    pub mind: &'a dyn Mind,
    pub machine: Machine,
    pub tools: ToolBox,
    pub context: ToolContext,
    pub pending: Pending,
    /// How many attempts have begun since the journal last grew.
    pub tries: u32,
    /// Whether this attempt had a reply of the model.
    pub has_replied: bool,
}

/// How a model call ended.
enum Asked {
    Replied(ModelReply),
    Failed(ModelError),
    Interrupted,
}

impl Session<'_> {
    /// Carries out action after action until the attempt is over.
    pub(super) async fn run(mut self) -> Result<Verdict, Stop> {
        loop {
            if self.attempt.cancelled().is_cancelled() {
                return Err(Stop::Cancelled);
            }
            if let Some(verdict) = self.step().await? {
                return Ok(verdict);
            }
        }
    }

    /// Carries out the next action.
    ///
    /// What an attempt seldom does, or for a moment only, has a box of its own: ten thousand of them that wait for a model
    /// should not each hold the room for all that they might do.
    async fn step(&mut self) -> Result<Option<Verdict>, Stop> {
        match self.machine.next() {
            Action::Open => {
                let opening = Box::pin(begin::opening(self.attempt, self.agent, &self.context)).await?;
                self.note(opening)?;
                Ok(None)
            }
            Action::CallModel(_) if Box::pin(self.read_mail()).await? => Ok(None),
            Action::CallModel(request) => self.ask(request).await,
            Action::RunTools(calls) => Box::pin(self.run_tools(calls)).await.map(|()| None),
            Action::Control(calls) => Box::pin(self.control(calls)).await.map(|()| None),
            Action::Delegate(children) => Box::pin(self.delegate(children)).await,
            Action::Await(children) => Box::pin(self.wake(&children)).await,
            Action::Finish(result) => {
                Box::pin(self.flush_rest()).await?;
                // An update that came in time goes on with the conversation.
                if Box::pin(self.read_mail()).await? {
                    return Ok(None);
                }
                // One that comes between here and the settle is the settle's to see.
                Ok(Some(Verdict::Answered(result)))
            }
            Action::Fail(error) => {
                Box::pin(self.flush_rest()).await?;
                Ok(Some(Verdict::Failed(error)))
            }
        }
    }

    /// Folds an input into the loop; the next report writes it down.
    pub(super) fn note(&mut self, input: Input) -> Result<(), Stop> {
        let entries = self.machine.on(input);
        self.believe(&entries)?;
        self.keep(&entries);
        Ok(())
    }

    /// Folds in entries that were written together with all that was pending.
    pub(super) fn written(&mut self, entries: &[Entry]) -> Result<(), Stop> {
        self.pending = Pending::default();
        self.believe(entries)
    }

    fn believe(&mut self, entries: &[Entry]) -> Result<(), Stop> {
        self.machine
            .apply(entries)
            .map_err(|error| JobError::fatal(FailReason::Error, "journal", error.to_string()).into())
    }

    fn keep(&mut self, entries: &[Entry]) {
        for entry in entries {
            match entry {
                Entry::Replied(replied) if replied.todos.is_some() => self.pending.todos.clone_from(&replied.todos),
                Entry::Applied { updates } => self.pending.applied.extend(updates.iter().map(|update| update.id)),
                Entry::Opened { .. }
                | Entry::Replied(_)
                | Entry::Answered { .. }
                | Entry::Delegated { .. }
                | Entry::Retried { .. } => {}
            }
            self.pending.entries.push(entry.to_value());
        }
    }

    /// The report of what is pending and of `more`.
    pub(super) fn report(&self, more: &[Entry], reserve: Option<Reservation>) -> Report {
        let more = more.iter().map(Entry::to_value);
        Report {
            entries: self.pending.entries.iter().cloned().chain(more).collect(),
            spent: self.pending.spent,
            reserve,
            applied: self.pending.applied.clone(),
            progress: Some(self.machine.progress()),
            todos: self.pending.todos.clone(),
        }
    }

    /// Writes what is pending, and reserves what the next model call may spend.
    pub(super) async fn flush(&mut self, reserve: Option<Reservation>) -> Result<Signals, AttemptError> {
        let signals = self.attempt.checkpoint(self.report(&[], reserve)).await?;
        self.pending = Pending::default();
        Ok(signals)
    }

    /// Writes what is pending, if anything is.
    async fn flush_rest(&mut self) -> Result<(), AttemptError> {
        if !self.pending.is_empty() {
            self.flush(None).await?;
        }
        Ok(())
    }

    /// Reads the updates that have come; says whether there were any.
    async fn read_mail(&mut self) -> Result<bool, Stop> {
        let waiting = self.attempt.job().mail_waiting() as usize;
        if waiting <= self.pending.applied.len() {
            return Ok(false);
        }
        let mail = self.attempt.mail().await?;
        let unread: Vec<Update> = mail
            .into_iter()
            .filter(|mail| !self.pending.applied.contains(&mail.id))
            .map(|mail| Update {
                id: mail.id,
                text: mail.text,
                data: mail.data,
            })
            .collect();
        let is_news = !unread.is_empty();
        self.note(Input::Updates(unread))?;
        Ok(is_news)
    }

    async fn ask(&mut self, request: ModelRequest) -> Result<Option<Verdict>, Stop> {
        let (request, reserved) = match Box::pin(self.reserve(request)).await? {
            Ok(reserved) => reserved,
            Err(error) => return Ok(Some(Verdict::Failed(error))),
        };
        let turn = Turn {
            step: self.machine.progress().step,
            tries: self.tries,
        };
        let cancelled = self.attempt.cancelled();
        let asked = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(Stop::Cancelled),
            () = self.attempt.interrupted() => Asked::Interrupted,
            reply = self.mind.reply(turn, &request) => match reply {
                Ok(reply) => Asked::Replied(reply),
                Err(error) => Asked::Failed(error),
            },
        };
        match asked {
            Asked::Replied(mut reply) => {
                reply.usage = counted(&reply, &reserved);
                self.pending.spent = self.pending.spent.plus(&reply.usage);
                (self.tries, self.has_replied) = (0, true);
                self.note(Input::Replied(reply))?;
                Box::pin(self.flush(None)).await?;
                Ok(None)
            }
            Asked::Interrupted => {
                // The provider may bill what it had begun.
                self.pending.spent = self.pending.spent.plus(&reserved.as_usage());
                Box::pin(self.read_mail_that_interrupts()).await?;
                Ok(None)
            }
            Asked::Failed(error) => {
                self.pending.spent = self.pending.spent.plus(&spent_by_failure(&error, &reserved));
                Box::pin(self.flush(None)).await?;
                Ok(Some(self.without_reply(&error)))
            }
        }
    }

    /// The signal of an interrupt may be here before the record that counts it: the report brings the record.
    async fn read_mail_that_interrupts(&mut self) -> Result<(), Stop> {
        self.flush(None).await?;
        self.read_mail().await?;
        self.flush(None).await?;
        Ok(())
    }

    /// Sets aside what the call may spend; a smaller ceiling where the whole one does not fit into the budget.
    async fn reserve(
        &mut self,
        mut request: ModelRequest,
    ) -> Result<Result<(ModelRequest, Reservation), JobError>, Stop> {
        loop {
            let mut ahead = estimate(&request);
            ahead.cost_micro_usd = self.mind.cost_micro_usd(&ahead);
            match self.flush(Some(ahead)).await {
                Ok(_) => return Ok(Ok((request, ahead))),
                Err(AttemptError::Budget { .. }) if request.max_output_tokens / 2 >= CEILING_MIN => {
                    request.max_output_tokens /= 2;
                }
                Err(AttemptError::Budget { message }) => {
                    self.flush(None).await?;
                    let mut error = JobError::fatal(FailReason::Budget, "budget", message);
                    error.partial = self.machine.partial().map(str::to_owned);
                    return Ok(Err(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The verdict where the model gave no reply: another attempt, or none.
    ///
    /// An attempt that had a reply before has made progress, so its provider's pause is not counted as a failure: the
    /// slot goes back until then. One without any progress fails, which the job's attempts bound.
    fn without_reply(&self, error: &ModelError) -> Verdict {
        if error.is_retryable() && self.has_replied {
            let seed = self.attempt.token().job.seed() ^ u64::from(self.attempt.token().attempt);
            let wait_ms = retry::delay_ms(1, error.retry_after_ms(), seed);
            return Verdict::Yielded {
                due: self.attempt.now() + wait_ms,
            };
        }
        let mut failure = if error.is_retryable() {
            JobError::retryable(error.code.as_str(), &error.message)
        } else {
            JobError::fatal(FailReason::Error, error.code.as_str(), &error.message)
        };
        failure.retry_after_ms = error.retry_after_ms();
        let partial = self.machine.partial().unwrap_or(&error.partial);
        failure.partial = Some(partial.to_owned()).filter(|partial| !partial.is_empty());
        Verdict::Failed(failure)
    }

    /// Runs calls at the same time; each result is written as soon as it is there.
    async fn run_tools(&mut self, calls: Vec<ToolCall>) -> Result<(), Stop> {
        let step = self.machine.progress().step;
        let job = self.attempt.token().job;
        let total = calls.len();
        let cancelled = self.attempt.cancelled();
        // Taken out for the time of the calls, so that the results can be noted while others still run.
        let tools = std::mem::take(&mut self.tools);
        let base = self.context.clone();
        let running = futures::stream::iter(calls).map(|call| {
            let context = ToolContext {
                call_key: format!("{job}/{step}/{}", call.id),
                ..base.clone()
            };
            let tools = &tools;
            async move { tools.dispatch(&call, &context).await }
        });
        let mut running = running.buffer_unordered(TOOLS_AT_ONCE);
        let mut done = 0;
        while done < total {
            let reply = tokio::select! {
                biased;
                () = cancelled.cancelled() => return Err(Stop::Cancelled),
                reply = running.next() => reply,
            };
            let Some(reply) = reply else { break };
            done += 1;
            self.pending.spent.tool_calls += 1;
            self.note(Input::Answered(vec![reply]))?;
            // The last one is written together with the reservation of the next call.
            if done < total {
                self.flush(None).await?;
            }
        }
        drop(running);
        self.tools = tools;
        Ok(())
    }
}

/// The usage of a reply; estimated where the provider did not count.
fn counted(reply: &ModelReply, reserved: &Reservation) -> Usage {
    let mut usage = reply.usage;
    usage.model_calls = usage.model_calls.max(1);
    if usage.total_tokens() == 0 {
        let arguments = reply.calls.iter().map(|call| estimate_tokens(&call.arguments));
        usage.input_tokens = reserved.input_tokens;
        usage.output_tokens = arguments.fold(estimate_tokens(&reply.text), u64::saturating_add);
    }
    usage
}

/// What a failed call has cost: what the provider counted; all that was reserved where it broke off in the middle; else
/// nothing but the call.
fn spent_by_failure(error: &ModelError, reserved: &Reservation) -> Usage {
    match error.usage {
        Some(usage) => usage,
        None if !error.partial.is_empty() => reserved.as_usage(),
        None => Usage {
            model_calls: 1,
            ..Usage::default()
        },
    }
}
