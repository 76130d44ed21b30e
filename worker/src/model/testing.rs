//! What the tests of both folds share.

use std::sync::Mutex;

use legwork_shared::agent::ModelReply;

use super::Delta;
use super::failure::Failure;
use super::reply::{Fold, Progress};
use super::sse::Event;

/// What the listener of a reply was told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// The fragments of text.
    pub text: Vec<String>,
    /// The names of the calls that began.
    pub calls: Vec<String>,
}

/// Folds the `data` of recorded events, as a stream that then ends cleanly.
pub(crate) fn fold_all<F: Fold>(mut fold: F, events: &[&str]) -> (Result<ModelReply, Failure>, Told) {
    let told = Mutex::new(Told::default());
    let on_delta = |delta: Delta<'_>| {
        let mut told = told.lock().expect("one thread");
        match delta {
            Delta::Text(text) => told.text.push(text.to_owned()),
            Delta::CallBegun { name } => told.calls.push(name.to_owned()),
        }
    };
    let mut outcome = Ok(Progress::More);
    for data in events {
        outcome = fold.event(
            &Event {
                name: String::new(),
                data: (*data).to_owned(),
            },
            &on_delta,
        );
        if outcome != Ok(Progress::More) {
            break;
        }
    }
    let reply = match outcome {
        Err(failure) => Err(failure),
        Ok(Progress::More) if !fold.may_end() => Err(Failure::Incomplete),
        Ok(_) => Ok(fold.reply().finish()),
    };
    (reply, told.into_inner().expect("one thread"))
}
