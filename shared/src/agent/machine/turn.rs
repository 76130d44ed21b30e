//! The calls of one reply, until each has its one result.

use super::entry::{Child, ChildMode, ChildRequest, ControlCall, Replied, Then};
use crate::agent::tool::{ToolCall, ToolReply};
use crate::agent::transcript::StopReason;
use crate::agent::{control, data};

/// The calls of the last reply, their results, and what happens when all are there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    calls: Vec<ToolCall>,
    /// In the order of the calls.
    results: Vec<Option<ToolReply>>,
    children: Vec<ChildRequest>,
    queued: Vec<Child>,
    controls: Vec<ControlCall>,
    /// How many calls were refused: not run, for what they ask or how.
    refused: usize,
    /// What the last refused call was told.
    refusal: String,
    /// Whether the length limit cut the reply, so that none of its calls runs.
    is_cut: bool,
    then: Then,
}

impl Turn {
    pub fn new(replied: &Replied) -> Self {
        Self {
            results: vec![None; replied.reply.calls.len()],
            calls: replied.reply.calls.clone(),
            children: replied.children.clone(),
            queued: Vec::new(),
            controls: replied.controls.clone(),
            refused: 0,
            refusal: String::new(),
            is_cut: replied.reply.stop == StopReason::Length,
            then: replied.then.clone(),
        }
    }

    /// Takes the one result of a call. What a tool said (`ran`) is marked as data; what we say ourselves is not.
    pub fn answer(&mut self, mut reply: ToolReply, ran: bool) -> Result<(), String> {
        let Some(place) = self.calls.iter().position(|call| call.id == reply.call_id) else {
            return Err(format!(
                "it answers `{}`, which is no call of the last reply",
                reply.call_id
            ));
        };
        if self.results[place].is_some() {
            return Err(format!("call `{}` has its result already", reply.call_id));
        }
        if reply.error && (!ran || self.is_unqueued(&reply.call_id)) {
            self.refused += 1;
            self.refusal.clone_from(&reply.content);
        }
        if ran && self.is_ordinary(&reply.call_id) {
            reply.content = data::quote_output(&reply.name, &reply.content);
        }
        self.results[place] = Some(reply);
        Ok(())
    }

    /// Takes note that a child is queued; one in the background is answered by that.
    pub fn queued(&mut self, child: &Child) -> Result<(), String> {
        if !self.children.iter().any(|request| request.call_id == child.call_id) {
            return Err(format!("call `{}` handed out no job", child.call_id));
        }
        if self.queued.iter().any(|queued| queued.call_id == child.call_id) {
            return Err(format!("the job of call `{}` is queued already", child.call_id));
        }
        if child.mode == ChildMode::Background {
            self.answer(control::launched(child), false)?;
        }
        self.queued.push(child.clone());
        Ok(())
    }

    /// The results in the order of the calls and what comes next, once no result is missing.
    pub fn complete(&self) -> Option<(Vec<ToolReply>, Then)> {
        let results: Option<Vec<ToolReply>> = self.results.iter().cloned().collect();
        results.map(|results| (results, self.then.clone()))
    }

    /// What the last call was told, if all were refused although the reply was complete.
    pub fn all_refused(&self) -> Option<&str> {
        let all = !self.calls.is_empty() && self.refused == self.calls.len() && !self.is_cut;
        all.then_some(self.refusal.as_str())
    }

    /// Whether the call still waits for its result.
    pub fn is_open(&self, call_id: &str) -> bool {
        self.open().any(|call| call.id == call_id)
    }

    /// The calls without a result.
    pub fn open(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls
            .iter()
            .zip(&self.results)
            .filter(|(_, result)| result.is_none())
            .map(|(call, _)| call)
    }

    /// The open calls of ordinary tools.
    pub fn tools(&self) -> Vec<ToolCall> {
        self.open().filter(|call| self.is_ordinary(&call.id)).cloned().collect()
    }

    /// The open questions about jobs in the background.
    pub fn controls(&self) -> Vec<ControlCall> {
        let open = self.controls.iter().filter(|control| self.is_open(&control.call_id));
        open.cloned().collect()
    }

    /// The jobs that are still to be queued.
    pub fn unqueued(&self) -> Vec<ChildRequest> {
        let is_queued = |request: &ChildRequest| self.queued.iter().any(|child| child.call_id == request.call_id);
        let open = self
            .children
            .iter()
            .filter(|request| self.is_open(&request.call_id) && !is_queued(request));
        open.cloned().collect()
    }

    /// The queued children whose answers are waited for.
    pub fn awaited(&self) -> Vec<Child> {
        self.queued
            .iter()
            .filter(|child| self.is_open(&child.call_id))
            .cloned()
            .collect()
    }

    fn is_unqueued(&self, call_id: &str) -> bool {
        let asked = self.children.iter().any(|request| request.call_id == call_id);
        asked && !self.queued.iter().any(|child| child.call_id == call_id)
    }

    fn is_ordinary(&self, call_id: &str) -> bool {
        let delegates = self.children.iter().any(|request| request.call_id == call_id);
        !delegates && !self.controls.iter().any(|control| control.call_id == call_id)
    }
}
