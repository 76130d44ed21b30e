//! Research without a language model: search, quote, compare, write. Each part of it is a job of its own.

use std::path::PathBuf;

use async_trait::async_trait;
use legwork_shared::agent::RunnerSpec;
use legwork_shared::job::{FailReason, JobError, JobResult, Progress, Verdict};
use serde::{Deserialize, Serialize};

use super::Runner;
use crate::attempt::{Attempt, AttemptError, Inputs, Report};
use crate::docs::{Bounds, DocIndex, Roots, load};
use crate::extract::{Analysis, Findings, Question, Review, analyse, report, research, review};

/// The note that each result carries: a reader must know what made it.
pub const NO_MODEL: &str = "no language model was used: sentences are quoted from the sources";

/// Runs the agents whose runner is `extractive`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extractive;

/// A part of the research.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Researcher,
    Reviewer,
    Analyst,
    Writer,
}

impl Role {
    fn parse(word: &str) -> Result<Self, JobError> {
        match word {
            "researcher" => Ok(Self::Researcher),
            "reviewer" => Ok(Self::Reviewer),
            "analyst" => Ok(Self::Analyst),
            "writer" => Ok(Self::Writer),
            other => {
                let message = format!("`{other}` is no extractive role; use researcher, reviewer, analyst or writer");
                Err(JobError::fatal(FailReason::Error, "unknown_role", message))
            }
        }
    }
}

/// What the parts hand to each other, as the `data` of their results.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
enum Part {
    Findings(Findings),
    Review(Review),
    Analysis(Analysis),
}

/// Why an attempt ends without a result.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error(transparent)]
    Attempt(#[from] AttemptError),
    #[error(transparent)]
    Failed(#[from] JobError),
    #[error("cancelled")]
    Cancelled,
}

#[async_trait]
impl Runner for Extractive {
    async fn run(&self, attempt: &Attempt) -> Verdict {
        match perform(attempt).await {
            Ok(result) => Verdict::Succeeded(result),
            Err(Stop::Attempt(error)) => error.into_verdict(),
            Err(Stop::Failed(error)) => Verdict::Failed(error),
            Err(Stop::Cancelled) => Verdict::Cancelled,
        }
    }
}

async fn perform(attempt: &Attempt) -> Result<JobResult, Stop> {
    let agent = attempt.agent()?;
    let RunnerSpec::Extractive { role } = &agent.runner else {
        let message = format!("the agent `{}` is not extractive", agent.name);
        return Err(JobError::fatal(FailReason::Error, "unknown_role", message).into());
    };
    let question = attempt.job().spec.description.clone();
    let role = Role::parse(role)?;
    match role {
        Role::Researcher | Role::Reviewer => {
            note(attempt, "reading the sources").await?;
            let sources: Vec<PathBuf> = attempt.run().sources.iter().map(PathBuf::from).collect();
            blocking(attempt, move || read_and_look(role, &question, &sources)).await
        }
        Role::Analyst => {
            note(attempt, "comparing what was found").await?;
            let (findings, review) = found(&attempt.inputs().await?)?;
            blocking(attempt, move || {
                let analysis = analyse(&Question::parse(&question), &findings, &review);
                let text = format!("{} groups of findings compared", analysis.groups.len());
                result(text, Some(&Part::Analysis(analysis)))
            })
            .await
        }
        Role::Writer => {
            let analysis = analysed(&attempt.inputs().await?)?;
            result(report(&Question::parse(&question), &analysis), None).map_err(Stop::from)
        }
    }
}

/// The researcher's and the reviewer's part: both read the sources, each on its own.
fn read_and_look(role: Role, question: &str, sources: &[PathBuf]) -> Result<JobResult, JobError> {
    let unreadable = |error: String| JobError::fatal(FailReason::Error, "sources_unreadable", error);
    let corpus = load(&Roots::many(sources), &Bounds::default()).map_err(|error| unreadable(error.to_string()))?;
    if corpus.documents.is_empty() {
        let message = "there is no document to quote from; submit it again with a folder of texts under `sources`";
        return Err(JobError::fatal(FailReason::Error, "no_documents", message));
    }
    let index = DocIndex::build(corpus).map_err(|error| unreadable(error.to_string()))?;
    let question = Question::parse(question);
    if role == Role::Reviewer {
        let review = review(&question, &index).map_err(|error| unreadable(error.to_string()))?;
        let text = format!("{} disagreements between the documents", review.disagreements.len());
        return result(text, Some(&Part::Review(review)));
    }
    let findings = research(&question, &index).map_err(|error| unreadable(error.to_string()))?;
    let text = format!(
        "{} findings in {} documents",
        findings.findings.len(),
        index.corpus().documents.len()
    );
    result(text, Some(&Part::Findings(findings)))
}

fn result(text: String, part: Option<&Part>) -> Result<JobResult, JobError> {
    let data = part.map(serde_json::to_value).transpose();
    let data = data.map_err(|error| JobError::fatal(FailReason::Error, "unserializable", error.to_string()))?;
    Ok(JobResult {
        text,
        data,
        file: None,
        notes: vec![NO_MODEL.to_owned()],
    })
}

/// The parts that the parents hand over.
fn parts(inputs: &Inputs) -> impl Iterator<Item = Part> + '_ {
    let data = inputs
        .parents
        .iter()
        .filter_map(|input| input.outcome.result()?.data.clone());
    data.filter_map(|data| serde_json::from_value(data).ok())
}

fn found(inputs: &Inputs) -> Result<(Findings, Review), JobError> {
    let (mut findings, mut review) = (None, None);
    for part in parts(inputs) {
        match part {
            Part::Findings(part) => findings = Some(part),
            Part::Review(part) => review = Some(part),
            Part::Analysis(_) => {}
        }
    }
    findings
        .zip(review)
        .ok_or_else(|| missing("an extractive analyst", "a researcher and a reviewer"))
}

fn analysed(inputs: &Inputs) -> Result<Analysis, JobError> {
    let found = parts(inputs).find_map(|part| match part {
        Part::Analysis(analysis) => Some(analysis),
        Part::Findings(_) | Part::Review(_) => None,
    });
    found.ok_or_else(|| missing("an extractive writer", "an analyst"))
}

fn missing(who: &str, whom: &str) -> JobError {
    let message = format!("{who} needs the results of {whom}; add them to its depends_on");
    JobError::fatal(FailReason::Error, "missing_input", message)
}

async fn note(attempt: &Attempt, doing: &str) -> Result<(), Stop> {
    let progress = Progress {
        step: 0,
        last_tool: None,
        note: Some(doing.to_owned()),
    };
    attempt
        .checkpoint(Report {
            progress: Some(progress),
            ..Report::default()
        })
        .await?;
    Ok(())
}

/// Does `work` on a thread of its own, and stops waiting for it when the job is cancelled.
async fn blocking(
    attempt: &Attempt,
    work: impl FnOnce() -> Result<JobResult, JobError> + Send + 'static,
) -> Result<JobResult, Stop> {
    let cancelled = attempt.cancelled();
    tokio::select! {
        () = cancelled.cancelled() => Err(Stop::Cancelled),
        done = tokio::task::spawn_blocking(work) => match done {
            Ok(result) => result.map_err(Stop::from),
            Err(error) => {
                let message = format!("the search stopped unexpectedly: {error}");
                Err(JobError::retryable("panic", message).into())
            }
        },
    }
}
