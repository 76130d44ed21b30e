//! The loop, driven by scripted replies.

mod answers;
mod calls;
mod delegation;
mod replay;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::agent::spec::AgentSpec;
use crate::agent::tool::{Effect, ToolSpec};
use crate::agent::transcript::StopReason;
use crate::budget::Usage;
use crate::time::Timestamp;

/// A machine with the journal that brought it where it is.
pub struct Stage {
    pub machine: Machine,
    pub journal: Vec<Entry>,
}

impl Stage {
    pub fn with(setup: Setup) -> Self {
        let mut stage = Self {
            machine: Machine::new(setup),
            journal: Vec::new(),
        };
        stage.on(Input::Opened {
            system: "You are a test.".to_owned(),
            text: "Do it.".to_owned(),
        });
        stage
    }

    pub fn on(&mut self, input: Input) -> &mut Self {
        let entries = self.machine.on(input);
        self.machine.apply(&entries).unwrap();
        self.journal.extend(entries);
        self
    }

    pub fn replies(&mut self, reply: ModelReply) -> &mut Self {
        assert!(
            matches!(self.machine.next(), Action::CallModel(_)),
            "{:?}",
            self.machine.next()
        );
        self.on(Input::Replied(reply))
    }

    pub fn answers(&mut self, answers: &[(&str, &str)]) -> &mut Self {
        let replies = answers.iter().map(|(id, content)| ToolReply {
            call_id: (*id).to_owned(),
            name: "look".to_owned(),
            content: (*content).to_owned(),
            error: false,
        });
        self.on(Input::Answered(replies.collect()))
    }

    /// The request that the model would get now.
    pub fn request(&self) -> ModelRequest {
        match self.machine.next() {
            Action::CallModel(request) => request,
            other => panic!("the model is not asked: {other:?}"),
        }
    }

    /// The results at the end of the conversation: call id, content, error.
    pub fn results(&self) -> Vec<(String, String, bool)> {
        let from_the_end = self.machine.messages().iter().rev();
        let mut results: Vec<_> = from_the_end
            .skip_while(|message| matches!(message, Message::User { .. }))
            .map_while(|message| match message {
                Message::Tool(reply) => Some((reply.call_id.clone(), reply.content.clone(), reply.error)),
                Message::User { .. } | Message::Assistant { .. } => None,
            })
            .collect();
        results.reverse();
        results
    }

    pub fn result(&self) -> JobResult {
        match self.machine.next() {
            Action::Finish(result) => result,
            other => panic!("not finished: {other:?}"),
        }
    }

    pub fn failure(&self) -> JobError {
        match self.machine.next() {
            Action::Fail(error) => error,
            other => panic!("not failed: {other:?}"),
        }
    }
}

pub fn setup() -> Setup {
    let mut setup = Setup::new("lead", &AgentSpec::default(), "test:model");
    setup.tools = vec![Arc::new(tool("look")), Arc::new(tool("write_file"))];
    setup
}

pub fn coordinator() -> Setup {
    let card = |name: &str| AgentCard {
        name: name.to_owned(),
        description: format!("the {name}"),
        accepts: None,
    };
    let mut setup = setup();
    setup.agents = ["researcher", "reviewer", "analyst", "planner"].map(card).to_vec();
    setup.depth_max = 3;
    setup
}

pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "a tool".to_owned(),
        parameters: json!({"type": "object"}),
        effect: Effect::None,
    }
}

pub fn call(id: &str, name: &str, arguments: impl std::fmt::Display) -> ToolCall {
    raw_call(id, name, &arguments.to_string())
}

pub fn raw_call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

pub fn calls(calls: impl Into<Vec<ToolCall>>) -> ModelReply {
    reply("", StopReason::ToolCalls, calls.into())
}

pub fn says(text: &str) -> ModelReply {
    reply(text, StopReason::End, Vec::new())
}

pub fn reply(text: &str, stop: StopReason, calls: Vec<ToolCall>) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        calls,
        stop,
        usage: Usage::default(),
        model: "test".to_owned(),
    }
}

pub fn job(number: u128) -> JobId {
    JobId::new(Timestamp(0), number << 64)
}

pub fn tool_result(call_id: &str, content: &str, error: bool) -> (String, String, bool) {
    (call_id.to_owned(), content.to_owned(), error)
}
