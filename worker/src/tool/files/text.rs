//! Bytes as lines of text for a model.

use std::borrow::Cow;

/// Longest shown line: beyond it a line is data, and one such line would crowd out the rest.
pub const LINE_CHARS_MAX: usize = 2_000;

/// The lines of a file, without their ends (`\n` or `\r\n`); a line end at the end of the file begins no further line.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let count = if bytes.is_empty() { 0 } else { usize::MAX };
    body.split(|byte| *byte == b'\n')
        .take(count)
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// A line as text: what is not UTF-8 as U+FFFD, cut to `chars_max` with a marker that states what is missing.
pub fn shown(line: &[u8], chars_max: usize) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(chars_max) {
        None => text,
        Some((end, _)) => {
            let missing = text[end..].chars().count();
            Cow::Owned(format!("{}… [{missing} more characters]", &text[..end]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_every_kind_of_line_end_and_an_empty_file_has_none() {
        let split = |text: &'static str| {
            lines(text.as_bytes())
                .map(|line| std::str::from_utf8(line).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(split(""), Vec::<&str>::new());
        assert_eq!(split("\n"), [""]);
        assert_eq!(split("a\r\nb\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(split("a\n\n"), ["a", ""]);
    }

    #[test]
    fn d29_bytes_that_are_not_utf8_are_shown_as_replacement_characters() {
        assert_eq!(shown(b"\xf0\x28\xff", 10), "\u{fffd}(\u{fffd}");
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_says_how_much_is_missing() {
        assert_eq!(shown("äöü".as_bytes(), 3), "äöü");
        assert_eq!(shown("äöü".as_bytes(), 1), "ä… [2 more characters]");
    }
}
