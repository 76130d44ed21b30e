//! What is made of a model's reply. The reply is untrusted.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::entry::{ChildMode, ChildRequest, Control, ControlCall, Entry, Nudge, Replied, Then};
use super::setup::Setup;
use super::state::State;
use super::{answer, bounds, children};
use crate::agent::tool::{CallId, ToolCall, ToolReply};
use crate::agent::transcript::{ModelReply, StopReason};
use crate::agent::{arguments, control, delegation, todos};
use crate::job::Todo;
use crate::nearest::nearest;

/// How much of a name that a model wrote is repeated to it.
const SHOWN_CHARS: usize = 64;

/// Decides what a reply means, in the state before it.
pub(super) fn judge(setup: &Setup, state: &State, mut reply: ModelReply) -> Entry {
    repair_ids(&mut reply.calls, &state.call_ids, state.step + 1);
    let is_last = state.tally.steps + 1 >= setup.limits.steps();
    if reply.stop == StopReason::ContentFilter {
        let why = "not run: the provider's content filter stopped the reply";
        return fail(reply, why, bounds::filtered());
    }
    if reply.calls.is_empty() {
        let then = answer::judge(setup, state, &reply, is_last);
        return Plan::default().into_entry(reply, then);
    }
    if is_last {
        let why = "not run: the limit of steps is reached";
        return fail(reply, why, bounds::out_of_steps(setup.limits.steps()));
    }
    if reply.stop == StopReason::Length {
        let why = "not run: the reply was cut by the length limit, so its arguments may be incomplete; call again, with \
                   less in one reply";
        if state.tally.cut_turns + 1 >= bounds::CUT_TURNS_MAX {
            return fail(reply, why, bounds::cut_turns());
        }
        return refuse_all(&reply.calls, why).into_entry(reply, Then::GoOn);
    }
    Plan::of(setup, state, &reply.calls).into_entry(reply, Then::GoOn)
}

/// Gives each call an id that no other call of the conversation has and that each provider takes.
fn repair_ids(calls: &mut [ToolCall], taken: &BTreeSet<CallId>, step: u32) {
    let good = |id: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !id.is_empty() && id.len() <= bounds::CALL_ID_CHARS_MAX && id.bytes().all(plain)
    };
    let mut seen: BTreeSet<CallId> = BTreeSet::new();
    for index in 0..calls.len() {
        let id = &calls[index].id;
        if !good(id) || taken.contains(id) || seen.contains(id) {
            let free =
                |id: &CallId| !taken.contains(id) && !seen.contains(id) && calls.iter().all(|call| call.id != *id);
            let made = (0_u32..).map(|salt| match salt {
                0 => format!("call_{step}_{index}"),
                salt => format!("call_{step}_{index}_{salt}"),
            });
            // There are more numbers than calls, so one of them is free.
            calls[index].id = made.into_iter().find(free).unwrap_or_default();
        }
        seen.insert(calls[index].id.clone());
    }
}

fn refuse_all(calls: &[ToolCall], why: &str) -> Plan {
    Plan {
        answered: calls.iter().map(|call| bounds::refuse(call, why)).collect(),
        ..Plan::default()
    }
}

fn fail(reply: ModelReply, why: &str, error: crate::job::JobError) -> Entry {
    refuse_all(&reply.calls, why).into_entry(reply, Then::Fail { error })
}

/// What becomes of the calls of one reply: some are answered here, the others are left to run.
#[derive(Default)]
struct Plan {
    answered: Vec<ToolReply>,
    /// The ids of jobs whose calls were refused.
    lost: Vec<String>,
    todos: Option<Vec<Todo>>,
    children: Vec<ChildRequest>,
    controls: Vec<ControlCall>,
}

impl Plan {
    fn of(setup: &Setup, state: &State, calls: &[ToolCall]) -> Self {
        let mut plan = Self::default();
        let mut wanted = Vec::new();
        let lists = calls.iter().filter(|call| call.name == todos::WRITE).count();
        let has_tool = |name: &str| setup.tools.iter().any(|tool| tool.name == name);
        for call in calls {
            let own_list = setup.todos && [todos::WRITE, todos::READ].contains(&call.name.as_str());
            let delegates = !setup.agents.is_empty() && delegation::NAMES.contains(&call.name.as_str());
            if !own_list && !delegates && !has_tool(&call.name) {
                plan.refuse(call, unknown_tool(setup, &call.name));
                continue;
            }
            let read = match arguments::parse(&call.arguments) {
                Ok(read) => read,
                Err(problem) => {
                    plan.refuse(call, format!("{}: {problem}", bounds::MALFORMED));
                    continue;
                }
            };
            if own_list {
                plan.own_list(state, call, &read, lists);
            } else if delegates {
                match children::mode_of(&call.name) {
                    Some(mode) => plan.want(setup, call, mode, &read, &mut wanted),
                    None => plan.control(state, call, &read),
                }
            }
        }
        let (accepted, refused) = children::plan(setup, state, wanted, &plan.lost);
        plan.children = accepted;
        plan.answered.extend(refused);
        plan
    }

    fn refuse(&mut self, call: &ToolCall, why: String) {
        self.answered.push(bounds::refuse(call, why));
    }

    fn own_list(&mut self, state: &State, call: &ToolCall, read: &Map<String, Value>, lists: usize) {
        let said = if call.name == todos::READ {
            Ok(todos::show(&state.todos))
        } else if lists > 1 {
            Err(todos::ONLY_ONE.to_owned())
        } else {
            todos::parse(read).map(|list| {
                let said = todos::updated(&list);
                self.todos = Some(list);
                said
            })
        };
        let error = said.is_err();
        self.answered.push(ToolReply {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: said.unwrap_or_else(|problem| problem),
            error,
        });
    }

    fn want(
        &mut self,
        setup: &Setup,
        call: &ToolCall,
        mode: ChildMode,
        read: &Map<String, Value>,
        wanted: &mut Vec<children::Wanted>,
    ) {
        match children::read(setup, call, mode, read) {
            Ok(child) => wanted.push(child),
            Err(problem) => {
                self.lost
                    .extend(read.get("id").and_then(Value::as_str).map(str::to_owned));
                self.refuse(call, problem);
            }
        }
    }

    fn control(&mut self, state: &State, call: &ToolCall, read: &Map<String, Value>) {
        match control::read(&call.name, read, &state.children) {
            Ok(Control::List { .. }) if !state.children.iter().any(|child| child.mode == ChildMode::Background) => {
                self.answered.push(ToolReply {
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    content: control::NONE_TRACKED.to_owned(),
                    error: false,
                });
            }
            Ok(control) => self.controls.push(ControlCall {
                call_id: call.id.clone(),
                control,
            }),
            Err(problem) => self.refuse(call, problem),
        }
    }

    fn into_entry(self, reply: ModelReply, then: Then) -> Entry {
        Entry::Replied(Box::new(Replied {
            reply,
            answered: self.answered,
            todos: self.todos,
            children: self.children,
            controls: self.controls,
            then,
        }))
    }
}

fn unknown_tool(setup: &Setup, name: &str) -> String {
    let known: Vec<String> = setup.all_tools().iter().map(|tool| tool.name.clone()).collect();
    let shown = shown(name);
    if known.is_empty() {
        return format!("unknown_tool: there is no tool `{shown}`, nor any other; answer without tools");
    }
    let hint = nearest(&shown, known.iter().map(String::as_str))
        .map(|name| format!(", did you mean `{name}`?"))
        .unwrap_or_default();
    format!(
        "unknown_tool: there is no tool `{shown}`{hint}; there are: {}",
        known.join(", ")
    )
}

/// A name that a model wrote, fit to be repeated in a sentence.
pub(super) fn shown(name: &str) -> String {
    name.chars()
        .filter(|letter| !letter.is_control())
        .take(SHOWN_CHARS)
        .collect()
}

/// The remark with which a cut answer is continued.
pub(super) fn go_on() -> Then {
    Then::Ask {
        why: Nudge::Continue,
        text: "Your reply was cut by the length limit. Go on exactly where it was cut: no repetition, no remark."
            .to_owned(),
    }
}
