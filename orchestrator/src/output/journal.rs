//! A job's journal as a conversation.

use chrono::TimeZone;
use legwork_shared::agent::machine::{Child, Entry, Replied, Then, Update};
use legwork_shared::agent::{StopReason, ToolCall, ToolReply};
use legwork_shared::batch::JournalEntry;
use legwork_shared::job::{Job, JobState, TodoStatus};
use serde::Deserialize as _;
use serde_json::Value;

use super::{dim, human, paint_job_state, strong, without_controls};

/// How much of long texts is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The beginning of prompts and of what tools gave back.
    Short,
    /// Everything.
    Full,
}

/// Lines of a prompt or of a tool's output that a short log shows.
const SHORT_LINES_MAX: usize = 6;
/// Characters of a line of a tool's output that a short log shows.
const SHORT_CHARS_MAX: usize = 200;

/// What a job was asked, before its journal begins.
#[must_use]
pub fn opening<Z: TimeZone>(job: &Job, detail: Detail, zone: &Z) -> String {
    let mut text = heading(&human::clock_time(job.created_at, zone), "request", &job.spec.agent);
    text += &body(&job.spec.description, detail);
    if let Some(context) = &job.spec.context {
        text += &body(&format!("context: {context}"), detail);
    }
    text
}

/// Whether an entry holds what the job was asked.
#[must_use]
pub fn is_opening(entry: &JournalEntry) -> bool {
    entry.entry.get("entry").and_then(Value::as_str) == Some("opened")
}

/// An entry of a journal as a part of the conversation; one that is not of the agent loop is shown as it is.
#[must_use]
pub fn journal_entry<Z: TimeZone>(entry: &JournalEntry, detail: Detail, zone: &Z) -> String {
    let time = human::clock_time(entry.at, zone);
    match Entry::deserialize(&entry.entry) {
        Ok(Entry::Opened { system, text, .. }) => {
            heading(&time, "system", "") + &body(&system, detail) + &heading(&time, "user", "") + &body(&text, detail)
        }
        Ok(Entry::Replied(reply)) => replied(&time, &reply, detail) + &answers(&reply.answered, detail),
        Ok(Entry::Answered { replies }) => answers(&replies, detail),
        Ok(Entry::Delegated { children }) => {
            let line = |child: &Child| format!("handed out {} to {}\n", child.id, child.agent);
            indented(&children.iter().map(line).collect::<String>())
        }
        Ok(Entry::Applied { updates }) => updates.iter().map(|update| updated(&time, update, detail)).collect(),
        Ok(Entry::Retried { generation }) => heading(&time, "retried", &format!("generation {generation}")),
        Err(_) => heading(&time, "step", "") + &body(&pretty(&entry.entry), detail),
    }
}

fn replied(time: &str, replied: &Replied, detail: Detail) -> String {
    let reply = &replied.reply;
    let tokens = human::tokens(reply.usage.total_tokens());
    let mut text = heading(time, "assistant", &format!("{} · {tokens}", reply.model));
    // What the agent says is what the reader came for: never cut.
    text += &body(&reply.text, Detail::Full);
    for call in &reply.calls {
        text += &called(call, detail);
    }
    for todo in replied.todos.iter().flatten() {
        let mark = match todo.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Completed => "[x]",
        };
        text += &indented(&format!("{mark} {}\n", without_controls(&todo.content)));
    }
    text += &stopped(&reply.stop);
    let remark = match &replied.then {
        Then::GoOn | Then::Finish { .. } => return text,
        Then::Ask { text, .. } => text,
        Then::Fail { error } => &error.message,
    };
    text + &indented(&format!(
        "→ {}\n",
        human::first_line(&without_controls(remark), SHORT_CHARS_MAX)
    ))
}

fn called(call: &ToolCall, detail: Detail) -> String {
    let arguments = without_controls(&call.arguments);
    let shown = match detail {
        Detail::Short => human::first_line(&arguments, SHORT_CHARS_MAX),
        Detail::Full => arguments.into_owned(),
    };
    indented(&format!("{} {shown}\n", strong(&without_controls(&call.name))))
}

fn stopped(stop: &StopReason) -> String {
    let why = match stop {
        StopReason::End | StopReason::ToolCalls => return String::new(),
        StopReason::Length => "cut by the length limit",
        StopReason::ContentFilter => "stopped by the provider's filter",
        StopReason::Other(_) => "stopped for a reason of the provider",
    };
    indented(&format!("→ {why}\n"))
}

fn answers(replies: &[ToolReply], detail: Detail) -> String {
    let answer = |reply: &ToolReply| {
        let name = without_controls(&reply.name).into_owned();
        let mark = if reply.error {
            paint_job_state(JobState::Failed, &format!("✗ {name}"))
        } else {
            dim(&format!("← {name}"))
        };
        indented(&format!("{mark}\n")) + &body(&reply.content, detail)
    };
    replies.iter().map(answer).collect()
}

fn updated(time: &str, update: &Update, detail: Detail) -> String {
    let mut text = heading(time, "update", "") + &body(&update.text, detail);
    if let Some(data) = &update.data {
        text += &body(&format!("data: {data}"), detail);
    }
    text
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

fn heading(time: &str, who: &str, about: &str) -> String {
    let about = human::first_line(&without_controls(about), SHORT_CHARS_MAX);
    let about = if about.is_empty() {
        about
    } else {
        format!(" {}", dim(&about))
    };
    format!("{} {}{about}\n", dim(time), strong(who))
}

/// A text under its heading, cut if only its beginning is wanted.
#[must_use]
pub fn body(text: &str, detail: Detail) -> String {
    let text = without_controls(text.trim_end());
    if text.is_empty() {
        return String::new();
    }
    let lines_max = match detail {
        Detail::Short => SHORT_LINES_MAX,
        Detail::Full => usize::MAX,
    };
    let mut out = String::new();
    for line in text.lines().take(lines_max) {
        let line = match detail {
            Detail::Short => human::cut(line, SHORT_CHARS_MAX),
            Detail::Full => line.to_owned(),
        };
        out += &indented(&(line + "\n"));
    }
    let left_out = text.lines().count().saturating_sub(lines_max);
    if left_out > 0 {
        out += &indented(&(dim(&format!("… {}", human::counted(left_out as u64, "more line"))) + "\n"));
    }
    out
}

fn indented(text: &str) -> String {
    text.split_inclusive('\n').map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use chrono::Utc;
    use legwork_shared::id::UpdateId;
    use serde_json::json;

    use super::*;
    use crate::output::samples;

    fn entries() -> Vec<JournalEntry> {
        let usage = json!({"input_tokens": 900, "output_tokens": 100});
        let call = json!({"id": "c1", "name": "grep", "arguments": "{\"pattern\":\"hnsw\"}"});
        let reply =
            json!({"text": "Let me look.", "calls": [call], "stop": "tool_calls", "usage": usage, "model": "m"});
        let todos = json!([{"content": "Look", "status": "in_progress"}]);
        let answer = json!({"call_id": "c1", "name": "grep", "content": "1\n2\n3\n4\n5\n6\n7\n8", "error": false});
        let refused = json!({"call_id": "c2", "name": "ls", "content": "no such folder", "error": true});
        let last = json!({"text": "Done\x1b[2J.", "stop": "length", "usage": usage, "model": "m"});
        let values = [
            json!({"entry": "opened", "v": 1, "system": "You read.", "text": "Find it."}),
            json!({"entry": "replied", "reply": reply, "todos": todos, "then": {"do": "go_on"}}),
            json!({"entry": "answered", "replies": [answer, refused]}),
            json!({"entry": "delegated", "children": [{"call_id": "c", "id": "reader", "job": samples::id(2), "agent": "researcher", "mode": "awaited"}]}),
            json!({"entry": "applied", "updates": [{"id": UpdateId::new(samples::START, 1), "text": "Mind the costs."}]}),
            json!({"entry": "replied", "reply": last, "then": {"do": "ask", "why": "continue", "text": "Go on where you were cut."}}),
            json!({"found": 3}),
        ];
        let entry = |(seq, entry)| JournalEntry {
            job: samples::id(1),
            seq,
            attempt: 1,
            at: samples::START,
            entry,
        };
        (0..).zip(values).map(entry).collect()
    }

    #[test]
    fn a_journal_reads_as_a_conversation() {
        let text: String = entries()
            .iter()
            .map(|entry| journal_entry(entry, Detail::Short, &Utc))
            .collect();
        insta::assert_snapshot!(strip_str(&text));
    }

    #[test]
    fn the_full_log_leaves_nothing_out() {
        let text = journal_entry(&entries()[2], Detail::Full, &Utc);
        assert!(text.contains("  8\n") && !text.contains('…'), "{text}");
    }
}
