//! What an attempt starts from: the outcomes of the jobs that its own job waited for.

use futures::{StreamExt, TryStreamExt, stream};
use legwork_shared::dag::{Edge, EdgeKind};
use legwork_shared::id::JobId;
use legwork_shared::job::{Job, Outcome};

use super::{Attempt, AttemptError};

/// How many records are loaded at a time: enough to hide the store's latency, few enough to leave room for others.
const LOADS: usize = 16;

/// The outcome of a job that was waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The job.
    pub job: JobId,
    /// Its name in the run.
    pub name: String,
    /// The agent that did it.
    pub agent: String,
    /// The tool call that handed it out, if one did.
    pub call: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
}

/// The outcomes that a job has waited for, each list in the order in which the jobs were submitted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inputs {
    /// Of its dependencies.
    pub parents: Vec<Input>,
    /// Of the jobs that it handed out and waited for.
    pub children: Vec<Input>,
}

impl Attempt {
    /// The outcomes of the parents and of the awaited children.
    ///
    /// # Errors
    /// [`AttemptError::Store`].
    pub async fn inputs(&self) -> Result<Inputs, AttemptError> {
        let edges = self.host.store.dependencies(self.token.job).await?;
        let loads = edges.into_iter().map(|edge| self.input(edge));
        let loaded: Vec<Option<(EdgeKind, Input)>> = stream::iter(loads).buffered(LOADS).try_collect().await?;
        let mut inputs = Inputs::default();
        for (kind, input) in loaded.into_iter().flatten() {
            match kind {
                EdgeKind::Dependency => inputs.parents.push(input),
                EdgeKind::Await => inputs.children.push(input),
            }
        }
        Ok(inputs)
    }

    async fn input(&self, edge: Edge) -> Result<Option<(EdgeKind, Input)>, AttemptError> {
        let job = self.host.store.job(edge.parent).await?;
        Ok(job.as_ref().and_then(of_ended).map(|input| (edge.kind, input)))
    }
}

fn of_ended(job: &Job) -> Option<Input> {
    let outcome = job.phase.outcome()?.clone();
    Some(Input {
        job: job.id,
        name: job.spec.name.clone(),
        agent: job.spec.agent.clone(),
        call: job.spec.call.clone(),
        outcome,
    })
}
