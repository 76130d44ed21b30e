//! Records as documents: what engines that run elsewhere keep of a job beside the fields that they look at.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::budget::{Reservation, Usage};
use crate::id::{JobId, RunId};
use crate::job::{BlockedOn, CancelRequest, Delay, Job, JobError, JobSpec, Outcome, Phase, Progress, Times, Todo};
use crate::time::Timestamp;

/// What no engine looks at in a job. What is as in a new job is left out.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Rest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<BlockedOn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Cow<'a, Outcome>>,
    generation: u32,
    #[serde(skip_serializing_if = "is_default")]
    failures: u32,
    #[serde(skip_serializing_if = "is_default")]
    losses: u32,
    #[serde(skip_serializing_if = "is_default")]
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved: Option<Reservation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel: Option<Cow<'a, CancelRequest>>,
    #[serde(skip_serializing_if = "is_default")]
    journal_len: u32,
    #[serde(skip_serializing_if = "is_default")]
    progress: Cow<'a, Progress>,
    #[serde(skip_serializing_if = "is_default")]
    todos: Cow<'a, [Todo]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<Cow<'a, JobError>>,
    #[serde(skip_serializing_if = "is_default")]
    pub times: Times,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What an engine keeps of a job in fields of their own.
pub(super) struct Head {
    pub id: JobId,
    pub run: RunId,
    pub version: u64,
    pub spec: Arc<JobSpec>,
    pub phase: Phase,
    pub attempt: u32,
    pub mail_sent: u32,
    pub mail_applied: u32,
}

impl<'a> Rest<'a> {
    /// The rest of `job`; of its phase, only the outcome.
    pub fn of(job: &'a Job) -> Self {
        // Named one by one: a new field must find its place here or in the head, or it would be lost.
        let Job {
            id: _,
            run: _,
            version: _,
            spec: _,
            phase,
            generation,
            attempt: _,
            failures,
            losses,
            usage,
            reserved,
            cancel,
            mail_sent: _,
            mail_applied: _,
            journal_len,
            progress,
            todos,
            last_error,
            times,
            created_at,
            started_at,
        } = job;
        Self {
            on: None,
            delay: None,
            outcome: phase.outcome().map(Cow::Borrowed),
            generation: *generation,
            failures: *failures,
            losses: *losses,
            usage: *usage,
            reserved: *reserved,
            cancel: cancel.as_ref().map(Cow::Borrowed),
            journal_len: *journal_len,
            progress: Cow::Borrowed(progress),
            todos: Cow::Borrowed(todos),
            last_error: last_error.as_ref().map(Cow::Borrowed),
            times: *times,
            created_at: *created_at,
            started_at: *started_at,
        }
    }

    /// The job of a head and this rest.
    pub fn into_job(self, head: Head) -> Job {
        Job {
            id: head.id,
            run: head.run,
            version: head.version,
            spec: head.spec,
            phase: head.phase,
            generation: self.generation,
            attempt: head.attempt,
            failures: self.failures,
            losses: self.losses,
            usage: self.usage,
            reserved: self.reserved,
            cancel: self.cancel.map(Cow::into_owned),
            mail_sent: head.mail_sent,
            mail_applied: head.mail_applied,
            journal_len: self.journal_len,
            progress: self.progress.into_owned(),
            todos: self.todos.into_owned(),
            last_error: self.last_error.map(Cow::into_owned),
            times: self.times,
            created_at: self.created_at,
            started_at: self.started_at,
        }
    }
}

/// A record that does not fit.
pub(super) fn corrupt(what: impl std::fmt::Display, why: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt {
        message: format!("{what}: {why}"),
    }
}

/// The document of a record.
pub(super) fn encode<T: Serialize + ?Sized>(record: &T, what: &str) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(|error| corrupt(what, error))
}

/// The record of a document.
pub(super) fn decode<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, StoreError> {
    read(serde_json::Deserializer::from_str(text), what)
}

/// The record of a document that is in bytes.
#[cfg(feature = "redis")]
pub(super) fn decode_bytes<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, StoreError> {
    read(serde_json::Deserializer::from_slice(bytes), what)
}

fn read<'de, T, R>(mut parser: serde_json::Deserializer<R>, what: &str) -> Result<T, StoreError>
where
    T: DeserializeOwned,
    R: serde_json::de::Read<'de>,
{
    // We wrote it ourselves, so it is no deeper than a value that was in memory once; the parser's own limit would
    // refuse a value that just passed it on the way in and now stands a few levels deeper inside a record.
    parser.disable_recursion_limit();
    let record = T::deserialize(&mut parser).map_err(|error| corrupt(what, error))?;
    parser.end().map_err(|error| corrupt(what, error))?;
    Ok(record)
}
