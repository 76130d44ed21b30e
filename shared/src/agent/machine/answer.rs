//! The final answer of an agent: complete, fitting its schema, within its size.

use serde_json::Value;

use super::entry::{Nudge, Then};
use super::setup::Setup;
use super::state::State;
use super::{bounds, judge};
use crate::agent::transcript::{ModelReply, StopReason};
use crate::job::{FailReason, JobError, JobResult};

/// The note on an answer whose last turn had no text.
pub(super) const EMPTY_TURN: &str = "the final turn was empty; this is the last text before it";
/// The note on an answer without any text.
pub(super) const NO_TEXT: &str = "the agent ended without any text";
/// The note on an answer that is not complete.
pub(super) const CUT: &str = "the answer was cut by the length limit and is not complete";

/// What a reply without calls means.
pub(super) fn judge(setup: &Setup, state: &State, reply: &ModelReply, is_last: bool) -> Then {
    let mut notes = Vec::new();
    let said = state.answer_with(reply);
    let blank = said.trim().is_empty();
    if reply.stop == StopReason::Length {
        if !is_last && state.tally.continuations < bounds::CONTINUATIONS_MAX {
            return judge::go_on();
        }
        if blank {
            return Then::Fail {
                error: bounds::nothing_but_a_cut(),
            };
        }
        notes.push(CUT.to_owned());
    }
    if let StopReason::Other(reason) = &reply.stop {
        notes.push(format!(
            "the model stopped for another reason: {}",
            judge::shown(reason)
        ));
    }
    let text = if blank {
        notes.push(
            if state.last_text.is_empty() {
                NO_TEXT
            } else {
                EMPTY_TURN
            }
            .to_owned(),
        );
        state.last_text.as_str()
    } else {
        said.as_str()
    };
    if let Some(violations) = violations(setup, text) {
        return reject(state, &violations, is_last);
    }
    let bytes = text.trim_end().len() as u64;
    if bytes > setup.limits.output_bytes() {
        return Then::Fail {
            error: too_long(bytes, setup.limits.output_bytes()),
        };
    }
    if is_last {
        notes.push("this is the answer at the limit of steps".to_owned());
    }
    Then::Finish { notes }
}

/// The result that an answer makes. With a schema the text is the JSON as the model wrote it, decimals and all.
pub(super) fn result(setup: &Setup, text: &str, notes: &[String]) -> JobResult {
    let data = setup.answer.as_ref().and_then(|_| read(text).ok());
    let (text, data) = match data {
        Some((json, data)) => (json, Some(data)),
        None => (text.trim_end(), None),
    };
    JobResult {
        text: text.to_owned(),
        data,
        file: None,
        notes: notes.to_vec(),
    }
}

fn violations(setup: &Setup, text: &str) -> Option<Vec<String>> {
    let check = setup.answer.as_ref()?;
    let found = match read(text) {
        Ok((_, value)) => check.run(&value).err()?,
        Err(problem) => vec![problem],
    };
    let told = found.iter().take(bounds::VIOLATIONS_MAX).map(|violation| {
        let cut: String = violation.chars().take(bounds::VIOLATION_CHARS_MAX).collect();
        cut
    });
    Some(told.collect())
}

fn reject(state: &State, violations: &[String], is_last: bool) -> Then {
    let list = violations.join("\n- ");
    if is_last || state.tally.rejections >= bounds::REJECTIONS_MAX {
        let times = state.tally.rejections + 1;
        return Then::Fail {
            error: JobError::fatal(
                FailReason::Schema,
                "schema",
                format!("{times} answers in a row did not fit the schema; the last one:\n- {list}"),
            ),
        };
    }
    Then::Ask {
        why: Nudge::Schema,
        text: format!(
            "Your answer does not fit the required schema:\n- {list}\nSend the whole corrected answer: one JSON value, \
             nothing before or after it."
        ),
    }
}

/// Finds the one JSON value in an answer: the whole text, or what a code fence or some words around it enclose.
///
/// Returns it as written and as a value.
fn read(text: &str) -> Result<(&str, Value), String> {
    let whole = text.trim();
    let problem = match serde_json::from_str(whole) {
        Ok(value) => return Ok((whole, value)),
        Err(error) => format!("the answer is not JSON: {error}"),
    };
    fenced(whole)
        .into_iter()
        .chain(enclosed(whole, '{', '}'))
        .chain(enclosed(whole, '[', ']'))
        .find_map(|inner| serde_json::from_str(inner).ok().map(|value| (inner, value)))
        .ok_or(problem)
}

/// What stands in the only code fence of a text.
fn fenced(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (_language, body) = after.split_once('\n')?;
    let (inner, rest) = body.split_once("```")?;
    (!rest.contains("```")).then_some(inner.trim())
}

fn enclosed(text: &str, open: char, close: char) -> Option<&str> {
    let (from, to) = (text.find(open)?, text.rfind(close)?);
    (from < to).then(|| &text[from..=to])
}

fn too_long(bytes: u64, limit: u64) -> JobError {
    JobError::fatal(
        FailReason::Limit,
        "output_bytes",
        format!(
            "the answer has {bytes} bytes and may have {limit}; ask for a shorter one or let the agent write a file"
        ),
    )
}
