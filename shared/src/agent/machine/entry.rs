//! The journal of an agent's job: what has to be kept so that another worker can go on from it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::tool::{CallId, ToolReply};
use crate::agent::transcript::ModelReply;
use crate::dag::Condition;
use crate::id::{JobId, UpdateId};
use crate::job::{JobError, Todo};

/// The version of the journal's form; the first entry carries it.
pub const JOURNAL_VERSION: u32 = 1;

/// One step of an agent's job. The conversation is a pure function of the entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// The conversation began. Kept as text, so that neither a changed file nor a newer version changes it.
    Opened {
        /// The form of this journal.
        v: u32,
        /// The system prompt.
        system: String,
        /// The first message.
        text: String,
    },
    /// The model replied.
    Replied(Box<Replied>),
    /// Calls were answered. Each call of a reply is answered once, in any order and in any portions.
    Answered {
        /// The answers.
        replies: Vec<ToolReply>,
    },
    /// Children were queued in the same commit.
    Delegated {
        /// The children.
        children: Vec<Child>,
    },
    /// Updates from the mailbox were read.
    Applied {
        /// The updates, in the order they were sent.
        updates: Vec<Update>,
    },
    /// A person opened a new generation of the job: its limits count anew.
    Retried {
        /// The number of the generation.
        generation: u32,
    },
}

/// A reply of the model, and what was made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replied {
    /// The reply; the ids of its calls are repaired, all else is as received.
    pub reply: ModelReply,
    /// The calls that are answered already: refused ones and those of the agent's own list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<ToolReply>,
    /// The agent's list, where the reply changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// The jobs that the reply hands out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildRequest>,
    /// What it asks of jobs in the background.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<ControlCall>,
    /// How the conversation goes on.
    pub then: Then,
}

/// How the conversation goes on after a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Then {
    /// The model is asked again once all its calls are answered.
    GoOn,
    /// The model is asked again with a remark of ours.
    Ask {
        /// Why.
        why: Nudge,
        /// What it is told.
        text: String,
    },
    /// The reply was the final one.
    Finish {
        /// What a reader must know about the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// The job has failed.
    Fail {
        /// Why.
        error: JobError,
    },
}

/// Why a model is asked again although it called no tool. Each kind is bounded on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nudge {
    /// Its text was cut by the length limit; it shall go on where it was cut.
    Continue,
    /// Its answer does not fit the schema.
    Schema,
}

/// A job that a reply hands out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildRequest {
    /// The call that asks for it.
    pub call_id: CallId,
    /// Its id among this job's children: given by the model, or made from the agent's name.
    pub id: String,
    /// Its name in the run: this job's name, a slash and the id.
    pub name: String,
    /// The agent that shall do it.
    pub agent: String,
    /// What to do.
    pub description: String,
    /// Structured data for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The other children that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Whether its answer is waited for.
    pub mode: ChildMode,
}

/// A dependency between children of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// The id of the child that is waited for.
    pub id: String,
    /// Its job, where it was handed out by an earlier reply; absent for one of the same reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// Which outcome is needed.
    pub condition: Condition,
}

/// Whether the answer of a child is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildMode {
    /// `task`: the job sleeps until the child has ended.
    Awaited,
    /// `start_async_task`: the job goes on.
    Background,
}

/// A child that was queued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// The call that asked for it.
    pub call_id: CallId,
    /// Its id among this job's children.
    pub id: String,
    /// Its job.
    pub job: JobId,
    /// Its agent.
    pub agent: String,
    /// Whether its answer is waited for.
    pub mode: ChildMode,
}

/// What a reply asks of jobs in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlCall {
    /// The call that asks.
    pub call_id: CallId,
    /// What.
    pub control: Control,
}

/// One thing to ask of jobs in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Control {
    /// How far is it, and what did it find?
    Check {
        /// Its id.
        id: String,
        /// Its job.
        job: JobId,
    },
    /// Tell it something.
    Update {
        /// Its id.
        id: String,
        /// Its job.
        job: JobId,
        /// What to tell it.
        message: String,
    },
    /// Stop it.
    Cancel {
        /// Its id.
        id: String,
        /// Its job.
        job: JobId,
    },
    /// How far are they?
    List {
        /// Only those of this status; absent for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
    },
}

/// An update that the agent has read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Its id.
    pub id: UpdateId,
    /// What it says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Structured data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Why a journal cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// An entry is not one of ours.
    #[error("journal entry {place} cannot be read: {problem}")]
    Unreadable {
        /// Its place, from 0.
        place: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The journal was written by a newer version.
    #[error("the journal has form {found}, and this version reads up to {JOURNAL_VERSION}; use the newer version")]
    TooNew {
        /// The form it has.
        found: u32,
    },
    /// An entry does not follow from those before it.
    #[error("journal entry {place} does not fit what came before: {problem}")]
    Misplaced {
        /// Its place, from 0.
        place: usize,
        /// Why it does not fit.
        problem: String,
    },
}

/// Reads a stored journal.
///
/// # Errors
/// [`JournalError::Unreadable`] or [`JournalError::TooNew`].
pub fn read<'a>(stored: impl IntoIterator<Item = &'a Value>) -> Result<Vec<Entry>, JournalError> {
    let entries = stored.into_iter().enumerate().map(|(place, value)| {
        // The version first: an entry of a newer form may not even parse.
        match value.get("v").and_then(Value::as_u64).map(u32::try_from) {
            Some(Ok(found)) if found > JOURNAL_VERSION => return Err(JournalError::TooNew { found }),
            Some(_) | None => {}
        }
        Entry::deserialize(value).map_err(|error| JournalError::Unreadable {
            place,
            problem: error.to_string(),
        })
    });
    entries.collect()
}

impl Entry {
    /// The entry in the form in which it is stored.
    ///
    /// # Panics
    /// Never: every field of an entry is a JSON value or a text.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("an entry has only string keys and finite numbers")
    }
}
