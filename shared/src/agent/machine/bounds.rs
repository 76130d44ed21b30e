//! Where a model that goes round in circles is stopped, and what it is told.

use crate::agent::tool::{ToolCall, ToolReply};
use crate::agent::transcript::Message;
use crate::job::{FailReason, JobError};

/// The most tokens of one reply where the agent does not say: a long report, and still a small part of a budget.
pub const OUTPUT_TOKENS: u32 = 8_192;
/// Replies in a row of whose calls none could be used. A model that has read four error messages will not heed a fifth.
pub const BAD_TURNS_MAX: u32 = 5;
/// Replies in a row whose calls were cut by the length limit; the third one shows that asking for less does not help.
pub const CUT_TURNS_MAX: u32 = 3;
/// How often a cut answer is continued: with the default ceiling that makes 40,000 tokens, a small book.
pub const CONTINUATIONS_MAX: u32 = 4;
/// How often an answer that does not fit the schema goes back.
pub const REJECTIONS_MAX: u32 = 3;
/// How many violations of a schema are told at once, and how much of each: a model repairs a few at a time.
pub const VIOLATIONS_MAX: usize = 8;
/// How much of one violation is told: it may quote the whole offending value.
pub const VIOLATION_CHARS_MAX: usize = 300;
/// How much of an unfinished answer is kept with an error.
pub const PARTIAL_BYTES_MAX: usize = 64 * 1024;
/// The longest id of a call that is taken over from a model; providers refuse longer ones.
pub const CALL_ID_CHARS_MAX: usize = 64;

/// What the refusal of malformed arguments begins with.
pub(super) const MALFORMED: &str = "malformed_arguments";

/// The error result of a call that was not run.
pub(super) fn refuse(call: &ToolCall, why: impl Into<String>) -> ToolReply {
    ToolReply {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: why.into(),
        error: true,
    }
}

/// Tells the model that this is its last reply. Part of the request only: no reply comes after it.
pub(super) fn ask_for_the_last_reply(messages: &mut Vec<Message>) {
    let text = "This is your last reply: the limit of steps is reached. Do not call tools, they will not run. Give your \
                final answer now from what you have, and say what is missing.";
    if let Some(Message::User { text: before }) = messages.last_mut() {
        before.push_str("\n\n");
        before.push_str(text);
    } else {
        messages.push(Message::User { text: text.to_owned() });
    }
}

/// The error of a job that has used all its steps.
pub(super) fn out_of_steps(limit: u32) -> JobError {
    JobError::fatal(
        FailReason::Limit,
        "steps",
        format!("the agent gave no final answer within its limit of {limit} steps; raise `max_steps` or ask for less"),
    )
}

/// The error of a job whose model cannot call tools; `last` is what the last call was told.
pub(super) fn bad_turns(last: &str) -> JobError {
    let code = if last.starts_with(MALFORMED) {
        "malformed_tool_calls"
    } else {
        "refused_tool_calls"
    };
    JobError::fatal(
        FailReason::Error,
        code,
        format!("none of the tool calls in {BAD_TURNS_MAX} replies in a row could be used; the last one: {last}"),
    )
}

/// The error of a job whose calls are always cut.
pub(super) fn cut_turns() -> JobError {
    JobError::fatal(
        FailReason::Limit,
        "truncated",
        format!(
            "the tool calls of {CUT_TURNS_MAX} replies in a row were cut by the length limit; raise `max_output_tokens`"
        ),
    )
}

/// The error of a job whose answer is nothing but a cut.
pub(super) fn nothing_but_a_cut() -> JobError {
    JobError::fatal(
        FailReason::Limit,
        "truncated",
        "the model used up its whole length limit without writing any text; raise `max_output_tokens`",
    )
}

/// The error of a job whose answer the provider's filter stopped.
pub(super) fn filtered() -> JobError {
    JobError::fatal(
        FailReason::Error,
        "content_filtered",
        "the provider's content filter stopped the reply; change the task or the model",
    )
}

/// As much of an unfinished answer as an error keeps.
pub(super) fn partial(text: &str) -> String {
    text[..text.floor_char_boundary(PARTIAL_BYTES_MAX)].to_owned()
}
