//! One span around each attempt. Names follow the conventions for generative AI; no prompts, replies or results.

use legwork_shared::job::Verdict;
use tracing::{Instrument as _, field};

use super::{Around, Inner};
use crate::pump::Work;

/// Puts each attempt into a span of its own.
#[derive(Debug, Clone, Copy)]
pub struct Trace;

impl Around for Trace {
    async fn around(self, work: Work, inner: Inner) -> Verdict {
        let job = work.attempt.job();
        let span = tracing::info_span!(
            "invoke_agent",
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = %job.spec.agent,
            gen_ai.conversation.id = %job.id,
            job.id = %job.id,
            run.id = %job.run,
            attempt = job.attempt,
            error.type = field::Empty,
        );
        let verdict = inner.instrument(span.clone()).await;
        if let Verdict::Failed(error) = &verdict {
            span.record("error.type", error.code.as_str());
        }
        verdict
    }
}
