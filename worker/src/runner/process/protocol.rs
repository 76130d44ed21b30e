//! The messages, one JSON object to a line.

use legwork_shared::agent::AgentSpec;
use legwork_shared::budget::Usage;
use legwork_shared::id::{JobId, RunId, UpdateId};
use legwork_shared::job::{FailReason, JobError, JobResult, Mail, Outcome, Severity, UpdateMode, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::attempt::{Attempt, AttemptError, Input};
use crate::workspace::{FileInfo, VPath};

/// The version of the protocol; grows when a program that knew the last one could misunderstand.
pub const PROTOCOL: u32 = 1;
/// What marks an entry of the journal as written by a program.
const ENTRY_TYPE: &str = "process";

/// What a program is told at its start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Start {
    #[serde(rename = "type")]
    kind: &'static str,
    protocol: u32,
    job: AboutJob,
    agent: String,
    prompt: String,
    description: String,
    context: Option<Value>,
    inputs: Vec<InputLine>,
    /// What earlier attempts of the job have journalled.
    journal: Vec<Value>,
    files: Vec<FileInfo>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct AboutJob {
    id: JobId,
    run: RunId,
    name: String,
    attempt: u32,
}

/// The outcome of a job that was waited for.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct InputLine {
    job: String,
    agent: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<JobResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JobError>,
}

impl Start {
    /// What the program of `agent` is told.
    ///
    /// # Errors
    /// [`AttemptError::Store`].
    pub async fn of(attempt: &Attempt, agent: &AgentSpec) -> Result<Self, AttemptError> {
        let job = attempt.job();
        let inputs = attempt.inputs().await?;
        let files = attempt.workspace().list(&VPath::root()).await;
        let journal = attempt.journal(0).await?;
        Ok(Self {
            kind: "start",
            protocol: PROTOCOL,
            job: AboutJob {
                id: job.id,
                run: job.run,
                name: job.spec.name.clone(),
                attempt: attempt.token().attempt,
            },
            agent: agent.name.clone(),
            prompt: agent.prompt.clone(),
            description: job.spec.description.clone(),
            context: job.spec.context.clone(),
            inputs: inputs
                .parents
                .iter()
                .chain(&inputs.children)
                .map(InputLine::of)
                .collect(),
            journal: journal.into_iter().filter_map(|entry| data_of(entry.entry)).collect(),
            files: files.map_err(|error| {
                AttemptError::Store(legwork_shared::store::StoreError::Unavailable {
                    message: error.to_string(),
                })
            })?,
        })
    }
}

impl InputLine {
    fn of(input: &Input) -> Self {
        let (result, error) = match &input.outcome {
            Outcome::Succeeded { result } => (Some(result.clone()), None),
            Outcome::Failed { error } => (None, Some(error.clone())),
            Outcome::Cancelled { .. } | Outcome::Skipped { .. } => (None, None),
        };
        Self {
            job: input.name.clone(),
            agent: input.agent.clone(),
            state: input.outcome.state().as_str(),
            result,
            error,
        }
    }
}

/// A journal entry that holds what a program wrote.
pub fn entry_of(data: &Value) -> Value {
    json!({ "type": ENTRY_TYPE, "data": data })
}

fn data_of(mut entry: Value) -> Option<Value> {
    (entry.get("type")? == ENTRY_TYPE).then(|| entry["data"].take())
}

/// What a program is told later.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Told {
    /// Somebody sent the job an update.
    Update {
        /// Its id.
        id: UpdateId,
        /// What it says.
        text: String,
        /// Structured data.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
        /// Whether it should put down what it does.
        mode: UpdateMode,
    },
    /// What it asked to read.
    Content {
        /// The path.
        path: String,
        /// The text of the file; absent if there is none at the path, or it is not text.
        content: Option<String>,
    },
    /// It should stop; it has a few seconds.
    Cancel,
}

impl Told {
    /// The message that carries `mail`.
    pub fn update(mail: &Mail) -> Self {
        Self::Update {
            id: mail.id,
            text: mail.text.clone(),
            data: mail.data.clone(),
            mode: mail.mode,
        }
    }
}

/// What a program says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    /// How far it is.
    Progress {
        /// What it is doing, for people.
        #[serde(default)]
        note: Option<String>,
        /// Steps so far.
        #[serde(default)]
        step: Option<u32>,
    },
    /// What another attempt would need to go on from here.
    Journal {
        /// Anything; handed back at the next start.
        data: Value,
    },
    /// What it has spent since it last said so.
    Usage(Usage),
    /// A file for the workspace.
    File {
        /// Where.
        path: String,
        /// Its text.
        content: String,
    },
    /// It wants the text of a file of the workspace.
    Read {
        /// Which.
        path: String,
    },
    /// It is done.
    Result(JobResult),
    /// It has failed.
    Error {
        /// A stable word for programs.
        #[serde(default)]
        code: Option<String>,
        /// One sentence for people.
        message: String,
        /// Whether trying again can help.
        #[serde(default)]
        retryable: bool,
        /// How long to wait before that, in milliseconds.
        #[serde(default)]
        retry_after_ms: Option<u64>,
        /// What was done until then.
        #[serde(default)]
        partial: Option<String>,
    },
}

impl Said {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, and how it begins.
    pub fn parse(line: &[u8]) -> Result<Self, JobError> {
        let text = String::from_utf8_lossy(line);
        serde_json::from_str(&text).map_err(|error| {
            let beginning: String = text.chars().take(SHOWN_CHARS).collect();
            broken(&format!(
                "a line of its stdout is not a message: {error}; it begins `{beginning}`"
            ))
        })
    }
}

/// How much of a bad line an error repeats: enough to recognise it.
const SHOWN_CHARS: usize = 120;
/// The longest code that a program may give its errors: a word.
const CODE_CHARS_MAX: usize = 64;

/// The failure of a program that does not keep to the protocol; another attempt would not either.
pub fn broken(what: &str) -> JobError {
    let message = format!("the program broke the protocol: {what}; see the page on the process runner");
    JobError::fatal(FailReason::Error, "protocol", message)
}

/// The verdict of a program that says it has failed.
pub fn failed(
    code: Option<String>,
    message: &str,
    retryable: bool,
    retry_after_ms: Option<u64>,
    partial: Option<String>,
) -> Verdict {
    let code: String = code
        .unwrap_or_else(|| "program".to_owned())
        .chars()
        .take(CODE_CHARS_MAX)
        .collect();
    let mut error = JobError::retryable(&code, message);
    if !retryable {
        error.severity = Severity::Fatal;
    }
    error.retry_after_ms = retry_after_ms;
    error.partial = partial;
    Verdict::Failed(error)
}
