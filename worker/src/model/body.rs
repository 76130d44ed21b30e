//! What an answer's body turns out to be: a stream of events, one JSON value, or neither.

use super::failure::Failure;
use super::sse::{Event, SseDecoder};

/// Reads the body of a 200 answer.
///
/// The first byte decides, not the content type, which proxies get wrong: `{` or `[` is one JSON value, handed on as a
/// single event at the end (an error, or a reply of a server that cannot stream); `<` is a web page.
#[derive(Debug)]
pub(crate) struct BodyDecoder {
    shape: Shape,
    event_bytes_max: usize,
}

#[derive(Debug)]
enum Shape {
    Unknown,
    Events(SseDecoder),
    Json(Vec<u8>),
}

impl BodyDecoder {
    /// A decoder that refuses events and JSON values of more than `event_bytes_max` bytes.
    pub(crate) fn new(event_bytes_max: usize) -> Self {
        Self {
            shape: Shape::Unknown,
            event_bytes_max,
        }
    }

    /// Takes the next bytes and returns the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Failure> {
        if let Shape::Unknown = self.shape {
            match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return Ok(Vec::new()),
                Some(b'{' | b'[') => self.shape = Shape::Json(Vec::new()),
                Some(b'<') => return Err(Failure::NotAStream("an HTML page; is the base URL right?".into())),
                Some(_) => self.shape = Shape::Events(SseDecoder::new(self.event_bytes_max)),
            }
        }
        match &mut self.shape {
            Shape::Unknown => Ok(Vec::new()),
            Shape::Events(decoder) => decoder.feed(bytes),
            Shape::Json(value) if value.len() + bytes.len() > self.event_bytes_max => Err(Failure::ReplyTooLarge(
                format!("a body of more than {} bytes", self.event_bytes_max),
            )),
            Shape::Json(value) => {
                value.extend_from_slice(bytes);
                Ok(Vec::new())
            }
        }
    }

    /// What is left when the body has ended cleanly; it may be cut.
    pub(crate) fn finish(self) -> Option<Event> {
        match self.shape {
            Shape::Unknown => None,
            Shape::Events(decoder) => decoder.finish(),
            Shape::Json(value) => Some(Event {
                name: String::new(),
                data: String::from_utf8_lossy(&value).into_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(data: &str) -> Event {
        Event {
            name: String::new(),
            data: data.into(),
        }
    }

    #[test]
    fn a_json_body_is_one_event_at_the_end() {
        let mut body = BodyDecoder::new(100);
        assert_eq!(body.feed(b" \n"), Ok(vec![]));
        assert_eq!(body.feed(b"{\"a\":\n\n"), Ok(vec![]));
        assert_eq!(body.feed(b"1}"), Ok(vec![]));
        assert_eq!(body.finish(), Some(event("{\"a\":\n\n1}")));
    }

    #[test]
    fn a_stream_is_cut_into_events() {
        let mut body = BodyDecoder::new(100);
        assert_eq!(body.feed(b"data: 1\n\ndata: 2"), Ok(vec![event("1")]));
        assert_eq!(body.finish(), Some(event("2")));
    }

    #[test]
    fn a_web_page_and_an_endless_value_are_refused_and_nothing_is_nothing() {
        assert!(matches!(
            BodyDecoder::new(100).feed(b"\n<!doctype html>"),
            Err(Failure::NotAStream(_))
        ));
        let too_large = Err(Failure::ReplyTooLarge("a body of more than 4 bytes".into()));
        assert_eq!(BodyDecoder::new(4).feed(b"{    "), too_large);
        assert_eq!(BodyDecoder::new(100).finish(), None);
    }
}
