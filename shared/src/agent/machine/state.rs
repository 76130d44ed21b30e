//! What an agent's loop knows: a fold over the journal, and nothing else.

use std::collections::BTreeSet;

use super::entry::{Child, Entry, JOURNAL_VERSION, Nudge, Replied, Then, Update};
use super::turn::Turn;
use crate::agent::data;
use crate::agent::tool::CallId;
use crate::agent::transcript::{Message, ModelReply, StopReason};
use crate::job::{JobError, Todo};

/// Where the conversation stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Stage {
    /// It has not begun.
    #[default]
    Unopened,
    /// The model is to be asked.
    Asking,
    /// Calls of the last reply wait for their results.
    Working(Turn),
    /// The last reply was the final one.
    Finished {
        /// What a reader must know about the answer.
        notes: Vec<String>,
    },
    /// It ended with an error.
    Failed(JobError),
}

/// What is counted against the limits; begins anew with each generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    /// Model replies.
    pub steps: u32,
    /// Replies in a row of whose calls none could be used.
    pub bad_turns: u32,
    /// Replies in a row whose calls were cut by the length limit.
    pub cut_turns: u32,
    /// Answers in a row that were cut and continued.
    pub continuations: u32,
    /// Answers that did not fit the schema.
    pub rejections: u32,
}

/// The fold over the journal.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct State {
    pub stage: Stage,
    pub system: String,
    pub messages: Vec<Message>,
    /// What the user said while calls were open; said to the model after their results.
    pub held: Vec<String>,
    /// All call ids of the conversation.
    pub call_ids: BTreeSet<CallId>,
    pub children: Vec<Child>,
    pub todos: Vec<Todo>,
    /// Model replies over all generations.
    pub step: u32,
    pub generation: u32,
    pub tally: Tally,
    /// The last text of the model that is not blank.
    pub last_text: String,
    /// The answer so far, while it is cut and continued.
    pub pieces: String,
    pub last_tool: Option<String>,
    /// What the last call was told in the last reply of whose calls none could be used.
    pub last_refusal: String,
}

impl State {
    /// Folds one entry in.
    ///
    /// # Errors
    /// Why the entry does not follow from the state; the state is then of no use.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), String> {
        match entry {
            Entry::Opened { v, system, text } => self.opened(*v, system, text),
            Entry::Replied(replied) => self.replied(replied),
            Entry::Answered { replies } => {
                let turn = self.turn("answers")?;
                for reply in replies {
                    turn.answer(reply.clone(), true)?;
                }
                self.close_turn();
                Ok(())
            }
            Entry::Delegated { children } => {
                let turn = self.turn("children")?;
                for child in children {
                    turn.queued(child)?;
                }
                self.children.extend(children.iter().cloned());
                self.close_turn();
                Ok(())
            }
            Entry::Applied { updates } => {
                for update in updates {
                    self.held.push(said(update));
                }
                self.hear_updates();
                Ok(())
            }
            Entry::Retried { generation } => {
                self.retried(*generation);
                Ok(())
            }
        }
    }

    fn opened(&mut self, v: u32, system: &str, text: &str) -> Result<(), String> {
        if self.stage != Stage::Unopened {
            return Err("the conversation has begun already".to_owned());
        }
        if v > JOURNAL_VERSION {
            return Err(format!(
                "it has form {v}, and this version reads up to {JOURNAL_VERSION}"
            ));
        }
        system.clone_into(&mut self.system);
        self.generation = self.generation.max(1);
        self.stage = Stage::Asking;
        self.push_user(text);
        Ok(())
    }

    fn replied(&mut self, replied: &Replied) -> Result<(), String> {
        if self.stage != Stage::Asking {
            return Err("no reply of the model is due".to_owned());
        }
        let reply = &replied.reply;
        self.step += 1;
        self.count(reply, &replied.then);
        self.remember_text(reply, &replied.then);
        self.call_ids.extend(reply.calls.iter().map(|call| call.id.clone()));
        if let Some(call) = reply.calls.last() {
            self.last_tool = Some(call.name.clone());
        }
        if let Some(todos) = &replied.todos {
            self.todos.clone_from(todos);
        }
        self.push_assistant(reply);
        let mut turn = Turn::new(replied);
        for answer in &replied.answered {
            turn.answer(answer.clone(), false)?;
        }
        self.stage = Stage::Working(turn);
        self.close_turn();
        Ok(())
    }

    fn count(&mut self, reply: &ModelReply, then: &Then) {
        let tally = &mut self.tally;
        tally.steps += 1;
        let cut = reply.stop == StopReason::Length;
        if !reply.calls.is_empty() {
            tally.cut_turns = if cut { tally.cut_turns + 1 } else { 0 };
            tally.continuations = 0;
        }
        match then {
            Then::Ask {
                why: Nudge::Continue, ..
            } => tally.continuations += 1,
            Then::Ask { why: Nudge::Schema, .. } => {
                tally.rejections += 1;
                tally.continuations = 0;
            }
            Then::GoOn | Then::Finish { .. } | Then::Fail { .. } => {}
        }
    }

    fn remember_text(&mut self, reply: &ModelReply, then: &Then) {
        let answer = self.answer_with(reply);
        if !answer.trim().is_empty() {
            self.last_text.clone_from(&answer);
        }
        match then {
            Then::Ask {
                why: Nudge::Continue, ..
            } => self.pieces = answer,
            Then::GoOn | Then::Ask { .. } | Then::Finish { .. } | Then::Fail { .. } => self.pieces.clear(),
        }
    }

    /// What the model has said with this reply: the pieces before it belong to it if they were cut.
    pub fn answer_with(&self, reply: &ModelReply) -> String {
        if reply.calls.is_empty() {
            format!("{}{}", self.pieces, reply.text)
        } else {
            reply.text.clone()
        }
    }

    fn retried(&mut self, generation: u32) {
        self.generation = generation;
        self.tally = Tally::default();
        self.pieces.clear();
        if let Stage::Failed(error) = &self.stage {
            let remark = format!(
                "This work was ended here with the error `{}` and has now been taken up again. Go on from where you \
                 are and bring it to its end.",
                error.code
            );
            self.stage = Stage::Asking;
            self.push_user(&remark);
            self.say_held();
        }
    }

    fn turn(&mut self, what: &str) -> Result<&mut Turn, String> {
        match &mut self.stage {
            Stage::Working(turn) => Ok(turn),
            Stage::Unopened | Stage::Asking | Stage::Finished { .. } | Stage::Failed(_) => {
                Err(format!("no call waits for {what}"))
            }
        }
    }

    /// Goes on once every call of the last reply has its result.
    fn close_turn(&mut self) {
        let Stage::Working(turn) = &self.stage else { return };
        let Some((results, then)) = turn.complete() else { return };
        match turn.all_refused() {
            Some(refusal) => {
                self.tally.bad_turns += 1;
                self.last_refusal = refusal.to_owned();
            }
            None => self.tally.bad_turns = 0,
        }
        self.messages.extend(results.into_iter().map(Message::Tool));
        self.stage = match then {
            Then::GoOn => Stage::Asking,
            Then::Ask { text, .. } => {
                self.push_user(&text);
                Stage::Asking
            }
            Then::Finish { notes } => Stage::Finished { notes },
            Then::Fail { error } => Stage::Failed(error),
        };
        self.hear_updates();
    }

    /// Says what the user said, where it can be said now; a finished conversation goes on with it.
    fn hear_updates(&mut self) {
        if self.held.is_empty() {
            return;
        }
        match self.stage {
            Stage::Asking => self.say_held(),
            Stage::Finished { .. } => {
                self.stage = Stage::Asking;
                self.say_held();
            }
            Stage::Unopened | Stage::Working(_) | Stage::Failed(_) => {}
        }
    }

    fn say_held(&mut self) {
        for text in std::mem::take(&mut self.held) {
            self.push_user(&text);
        }
    }

    /// Adds to the user's turn: two messages of one side in a row are refused by some providers.
    fn push_user(&mut self, text: &str) {
        if let Some(Message::User { text: before }) = self.messages.last_mut() {
            before.push_str("\n\n");
            before.push_str(text);
        } else {
            self.messages.push(Message::User { text: text.to_owned() });
        }
    }

    /// Adds the model's turn; an empty one is left out, because providers refuse to read it back.
    fn push_assistant(&mut self, reply: &ModelReply) {
        let text = if reply.text.trim().is_empty() { "" } else { &reply.text };
        if !text.is_empty() || !reply.calls.is_empty() {
            self.messages.push(Message::Assistant {
                text: text.to_owned(),
                calls: reply.calls.clone(),
            });
        }
    }
}

fn said(update: &Update) -> String {
    let data = update
        .data
        .as_ref()
        .map(|data| data::quote("update", &data.to_string()));
    match (update.text.trim().is_empty(), data) {
        (false, Some(data)) => format!("{}\n\n{data}", update.text),
        (false, None) => update.text.clone(),
        (true, Some(data)) => data,
        (true, None) => "(an empty update)".to_owned(),
    }
}
