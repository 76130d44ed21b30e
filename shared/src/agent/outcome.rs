//! A job's outcome, as another agent reads it.

use std::borrow::Cow;

use super::data;
use super::delegation::TASK;
use super::machine::Child;
use super::tool::ToolReply;
use crate::job::{JobResult, Outcome};

/// How much of one answer is shown in a conversation; about 16,000 tokens. The rest stays in its file.
pub const SHOWN_BYTES_MAX: usize = 64 * 1024;
/// How much unfinished work is shown with a failure.
const PARTIAL_BYTES_MAX: usize = 2 * 1024;

/// The result of the `task` call that handed out the job: its answer as data, or a typed error.
#[must_use]
pub fn task_reply(child: &Child, outcome: &Outcome) -> ToolReply {
    let (content, error) = match outcome {
        Outcome::Succeeded { result } => (answer(result), false),
        Outcome::Failed { .. } | Outcome::Cancelled { .. } | Outcome::Skipped { .. } => (explain(outcome), true),
    };
    ToolReply {
        call_id: child.call_id.clone(),
        name: TASK.to_owned(),
        content: data::quote(&format!("job {} of agent {}", child.id, child.agent), &content),
        error,
    }
}

/// The answer of a job, as much of it as is shown, with what a reader must know about it.
#[must_use]
pub fn answer(result: &JobResult) -> String {
    answer_within(result, SHOWN_BYTES_MAX)
}

/// [`answer`] with a bound of the caller's.
#[must_use]
pub fn answer_within(result: &JobResult, bytes_max: usize) -> String {
    let data = result.data.as_ref().filter(|_| result.text.is_empty());
    let text = data.map_or_else(|| Cow::from(&result.text), |data| Cow::from(data.to_string()));
    let mut shown = data::disarm(&cut(&text, bytes_max));
    for note in &result.notes {
        shown.push_str("\n[note: ");
        shown.push_str(&data::disarm(note));
        shown.push(']');
    }
    if let Some(file) = &result.file {
        shown.push_str("\n[the whole answer is in the file ");
        shown.push_str(file);
        shown.push(']');
    }
    shown
}

/// Why a job did not succeed: the state, the reason, the stable code and the sentence for people.
#[must_use]
pub fn explain(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded { .. } => "succeeded".to_owned(),
        Outcome::Failed { error } => {
            let mut told = format!("failed ({}, {}): {}", error.reason.as_str(), error.code, error.message);
            if let Some(partial) = &error.partial {
                told.push_str("\nwhat it had written until then: ");
                told.push_str(&cut(partial, PARTIAL_BYTES_MAX));
            }
            data::disarm(&told)
        }
        Outcome::Cancelled { by, reason } if reason.is_empty() => format!("cancelled by {by}"),
        Outcome::Cancelled { by, reason } => data::disarm(&format!("cancelled by {by}: {reason}")),
        Outcome::Skipped { cause } => format!("skipped, because {cause} did not end as it needed"),
    }
}

/// The begin of a text, with a mark that says how long it really is.
#[must_use]
pub fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max);
    format!(
        "{}\n[cut here: the first {end} of {} bytes are shown]",
        &text[..end],
        text.len()
    )
}
