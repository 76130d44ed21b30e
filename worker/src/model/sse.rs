//! Server-sent events out of bytes, in linear time and bounded memory.

use super::failure::Failure;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// Its name; empty where the stream does not name its events.
    pub name: String,
    /// Its data, the lines joined by `\n`.
    pub data: String,
}

/// Cuts a stream of bytes into events, as the WHATWG specification says, however the bytes are split into chunks.
///
/// Bytes that are no UTF-8 become U+FFFD: a provider that cuts a character in two must not cost the whole reply.
#[derive(Debug)]
pub(crate) struct SseDecoder {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a carriage return that ended a line; a line feed right after it belongs to it.
    after_cr: bool,
    first_line: bool,
    event_bytes_max: usize,
}

impl SseDecoder {
    /// A decoder that refuses an event of more than `event_bytes_max` bytes.
    pub(crate) fn new(event_bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            after_cr: false,
            first_line: true,
            event_bytes_max,
        }
    }

    /// Takes the next bytes and returns the events that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, Failure> {
        let mut events = Vec::new();
        if bytes.is_empty() {
            return Ok(events);
        }
        if std::mem::take(&mut self.after_cr) && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&bytes[..end])?;
            events.extend(self.end_line());
            let is_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_cr && bytes.is_empty() {
                self.after_cr = true;
            } else if is_cr && bytes[0] == b'\n' {
                bytes = &bytes[1..];
            }
        }
        self.extend_line(bytes)?;
        Ok(events)
    }

    /// The event that the stream's end left without its empty line, as careless servers do. It may be cut.
    pub(crate) fn finish(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.dispatch()
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.line.len() + self.event.data.len() + bytes.len() > self.event_bytes_max {
            return Err(Failure::ReplyTooLarge(format!(
                "an event of more than {} bytes",
                self.event_bytes_max
            )));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let decoded = String::from_utf8_lossy(&bytes);
        let mut line = &*decoded;
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // Comments, `id` and `retry` say nothing about the reply.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event {
            name: name.into(),
            data: data.into(),
        }
    }

    fn decode(chunks: &[&[u8]]) -> (Vec<Event>, Option<Event>) {
        let mut decoder = SseDecoder::new(1 << 20);
        let events = chunks
            .iter()
            .flat_map(|chunk| decoder.feed(chunk).expect("small"))
            .collect();
        (events, decoder.finish())
    }

    #[test]
    fn events_are_cut_at_empty_lines_of_every_ending() {
        let text = b"\xef\xbb\xbfevent: a\ndata: 1\n\n: ping\n\ndata:2\r\ndata: 3\r\n\r\ndata\r\rid: 7\nretry: 1\n\n";
        let expected = vec![event("a", "1"), event("", "2\n3"), event("", "")];
        assert_eq!(decode(&[text]), (expected, None));
    }

    #[test]
    fn the_last_event_may_lack_its_empty_line() {
        assert_eq!(
            decode(&[b"data: 1\n\ndata: [DONE]"]),
            (vec![event("", "1")], Some(event("", "[DONE]")))
        );
        assert_eq!(decode(&[b"data: 1\n"]), (vec![], Some(event("", "1"))));
        assert_eq!(decode(&[b": only a comment\n"]), (vec![], None));
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(
            decode(&[b"data: a\xff\xfeb\n\n"]).0,
            vec![event("", "a\u{fffd}\u{fffd}b")]
        );
    }

    #[test]
    fn an_event_over_the_limit_is_refused_in_one_line_or_in_many() {
        let too_large = Err(Failure::ReplyTooLarge("an event of more than 16 bytes".into()));
        assert_eq!(SseDecoder::new(16).feed(b"data: 0123456789abcdef\n\n"), too_large);
        assert_eq!(
            SseDecoder::new(16).feed(b"data: 01234\ndata: 56789\ndata: a\n\n"),
            too_large
        );
        assert_eq!(
            SseDecoder::new(16)
                .feed(b"data: 01\n\ndata: 23\n\ndata: 45\n\n")
                .map(|events| events.len()),
            Ok(3)
        );
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_split_makes_no_difference(
            text in "(data: [a-zé]{0,4}|event: b|: c|)(\n|\r|\r\n)(data: x|)(\n|\r|\r\n){0,3}(data: y\n\n)?",
            cuts in proptest::collection::vec(0_usize..60, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(decode(&chunks), decode(&[bytes]));
        }
    }
}
