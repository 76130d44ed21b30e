//! The events of a stream before they are sent, and what both wires share in making them.

use serde_json::{Value, json};

use super::asked::Asked;
use super::script::{CallTurn, Turn, UsageTurn};

/// The longest piece of text in one event.
const PIECE_BYTES_MAX: usize = 4096;
/// How many bytes count as one token.
const BYTES_PER_TOKEN: usize = 4;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its name, on the wire that names its events.
    pub name: Option<String>,
    /// Its data.
    pub data: String,
}

impl Frame {
    /// An event as it goes over the wire.
    pub(super) fn text(&self) -> String {
        let name = self
            .name
            .as_ref()
            .map(|name| format!("event: {name}\n"))
            .unwrap_or_default();
        let data = self.data.replace('\n', "\ndata: ");
        format!("{name}data: {data}\n\n")
    }
}

/// `text` word by word, as a model streams it.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let mut rest = word;
        while rest.len() > PIECE_BYTES_MAX {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES_MAX));
            pieces.push(piece);
            rest = more;
        }
        pieces.push(rest);
    }
    pieces
}

/// `arguments` in two pieces, so that whoever reads them has to put them together.
pub(super) fn halves(arguments: &str) -> [&str; 2] {
    let (first, second) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
    [first, second]
}

/// The id of the call at `place` of its answer.
pub(super) fn call_id(asked: &Asked, call: &CallTurn, place: usize, prefix: &str) -> String {
    call.id
        .clone()
        .unwrap_or_else(|| format!("{prefix}_{}_{place}", asked.turn))
}

/// What the answer says it read and wrote; none if it does not say.
pub(super) fn usage(asked: &Asked, turn: &Turn) -> Option<(Value, Value)> {
    match &turn.usage {
        UsageTurn::Absent => None,
        UsageTurn::Exactly { input, output } => Some((input.clone(), output.clone())),
        UsageTurn::Counted => {
            let read = asked.system.len() + asked.messages.iter().map(|said| said.text.len()).sum::<usize>();
            let written = turn.text.len() + turn.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
            Some((
                json!(read.div_ceil(BYTES_PER_TOKEN)),
                json!(written.div_ceil(BYTES_PER_TOKEN)),
            ))
        }
    }
}
