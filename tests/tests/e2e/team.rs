//! A team of agents whose model follows a script: a coordinator hands out the whole graph in one reply.

use legwork_shared::job::EventKind;
use legwork_shared::wire::EventView;
use legwork_tests::model_server::{Asked, Recorded, Turn, Wire};

/// Both wires, for tests that hold on each.
pub const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Anthropic];
/// The key that the program is given.
pub const KEY: &str = "key-of-the-tests";
/// What the team is asked.
pub const QUESTION: &str = "Are vector databases worth it?";
/// Who is on the team, in the order of their first words.
pub const MEMBERS: [&str; 5] = ["coordinator", "researcher", "reviewer", "analyst", "writer"];
/// The calls that the whole team makes: two of each member.
pub const CALLS: usize = 2 * MEMBERS.len();

/// The graph that the coordinator hands out.
const GRAPH: [(&str, &str); 4] = [
    (
        "task",
        r#"{"id": "researcher", "subagent_type": "researcher", "description": "Look for what speaks for it."}"#,
    ),
    (
        "task",
        r#"{"id": "reviewer", "subagent_type": "reviewer", "description": "Look for what speaks against it."}"#,
    ),
    (
        "task",
        r#"{"id": "analyst", "subagent_type": "analyst", "description": "Weigh both.",
            "depends_on": ["researcher", "reviewer"], "context": {"readers": "engineers"}}"#,
    ),
    (
        "task",
        r#"{"id": "writer", "subagent_type": "writer", "description": "Write it down.", "depends_on": ["analyst"]}"#,
    ),
];

/// The jobs of the team, by their names: those that the coordinator handed out stand under it.
pub const JOBS: [&str; 5] = [
    "coordinator",
    "coordinator/researcher",
    "coordinator/reviewer",
    "coordinator/analyst",
    "coordinator/writer",
];

/// Whose call it is, by the words of its system prompt.
pub fn member(prompt: &str) -> &'static str {
    let is = |name: &&&str| {
        let opening = format!("You are a{} {name}.", if **name == "analyst" { "n" } else { "" });
        prompt.contains(&opening)
    };
    MEMBERS.iter().find(is).expect("a prompt of the team")
}

/// Whose call a recorded one was.
pub fn member_of(request: &Recorded) -> &'static str {
    member(&request.body.to_string())
}

/// What the model says.
pub fn turn(asked: &Asked) -> Turn {
    let heard = |words: &str| asked.messages.iter().any(|said| said.text.contains(words));
    let text = |words: &str, needs: &[&str]| {
        let missing: Vec<_> = needs.iter().filter(|need| !heard(need)).collect();
        Turn::text(format!("{words} Missing: {missing:?}."))
    };
    match (member(&asked.system), asked.turn) {
        ("coordinator", 1) => Turn::calls(GRAPH),
        ("coordinator", _) => text("The team is done.", &["For it:", "Against it:", "Weighed:", "Written:"]),
        ("researcher", 1) => Turn::calls([("search_docs", r#"{"query": "recall of HNSW"}"#)]),
        ("researcher", _) => text("For it: recall.", &[]),
        ("reviewer", 1) => Turn::calls([("search_docs", r#"{"query": "memory cost"}"#)]),
        ("reviewer", _) => text("Against it: memory.", &[]),
        ("analyst", 1) => Turn::calls([("calculate", r#"{"expression": "6 * 7"}"#)]),
        ("analyst", _) => text(
            "Weighed: 42.",
            &["For it: recall.", "Against it: memory.", "engineers", "42"],
        ),
        ("writer", 1) => Turn::calls([("write_file", r##"{"path": "draft.md", "content": "# Worth it"}"##)]),
        (_, _) => text("Written: yes.", &["Weighed: 42."]),
    }
}

/// What the team answers when nothing was lost on the way.
pub const ANSWER: &str = "The team is done. Missing: [].\n";

/// The place of the first event of a job that `wanted` knows.
pub fn place(events: &[EventView], job: &str, wanted: impl Fn(&EventKind) -> bool) -> usize {
    let is = |event: &EventView| event.name.as_deref() == Some(job) && wanted(&event.kind);
    events
        .iter()
        .position(is)
        .unwrap_or_else(|| panic!("no such event of {job} among {events:#?}"))
}
