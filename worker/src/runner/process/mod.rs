//! Any program as an agent: JSON lines on its stdin and stdout. `ops/docs/process-runner.md` describes them.

mod conversation;
mod lines;
mod outbox;
mod program;
mod protocol;
mod tail;
mod tree;

use std::time::Duration;

use async_trait::async_trait;
use legwork_shared::agent::{AgentSpec, RunnerSpec};
use legwork_shared::job::{FailReason, JobError, Verdict};

use crate::attempt::{Attempt, AttemptError};
use crate::runner::Runner;
use conversation::Conversation;
use program::Program;
use protocol::Start;

/// How a program is brought to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// How long after the message `cancel` it gets SIGTERM.
    pub terminate_after: Duration,
    /// How long after that it gets SIGKILL, with all that it has started.
    pub kill_after: Duration,
    /// How long it may live after its result.
    pub leave_after: Duration,
}

impl Default for ProcessLimits {
    /// Together within the grace that a worker gives: it drops the runner after ten seconds.
    fn default() -> Self {
        Self {
            terminate_after: Duration::from_millis(500),
            kill_after: Duration::from_secs(5),
            leave_after: Duration::from_secs(2),
        }
    }
}

/// Runs programs.
#[derive(Debug, Clone, Default)]
pub struct ProcessRunner {
    limits: ProcessLimits,
}

impl ProcessRunner {
    /// A runner with limits of its own.
    #[must_use]
    pub fn new(limits: ProcessLimits) -> Self {
        Self { limits }
    }

    async fn converse(&self, attempt: &Attempt) -> Result<Verdict, AttemptError> {
        let agent = match attempt.agent() {
            Ok(agent) => agent,
            Err(error) => return Ok(Verdict::Failed(error)),
        };
        let RunnerSpec::Process { command, env } = &agent.runner else {
            return Ok(Verdict::Failed(not_a_program(&agent)));
        };
        let start = Start::of(attempt, &agent).await?;
        let program = match Program::start(command, env) {
            Ok(program) => program,
            Err(error) => return Ok(Verdict::Failed(error)),
        };
        Conversation::new(attempt, program, self.limits).hold(&start).await
    }
}

#[async_trait]
impl Runner for ProcessRunner {
    async fn run(&self, attempt: &Attempt) -> Verdict {
        self.converse(attempt).await.unwrap_or_else(AttemptError::into_verdict)
    }
}

fn not_a_program(agent: &AgentSpec) -> JobError {
    let message = format!(
        "agent `{}` is run as a program but names none; give its runner a `command`",
        agent.name
    );
    JobError::fatal(FailReason::Error, "no_command", message)
}

#[cfg(test)]
mod tests;
