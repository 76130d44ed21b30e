//! Text from outside, made fit for a message or a record.

/// The longest excerpt of a provider's words in an error: enough for its sentence, too little for a page.
pub(crate) const EXCERPT_CHARS_MAX: usize = 500;

/// The start of `text` on one line: runs of white space and control characters become one space, and a cut is marked.
pub(crate) fn excerpt(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut len = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = len > 0;
            continue;
        }
        if len + usize::from(gap) >= chars_max {
            line.push('…');
            break;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
            len += 1;
        }
        line.push(c);
        len += 1;
    }
    line
}

/// The longest start of `text` that has at most `bytes_max` bytes and cuts no character.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line_and_marks_its_cut() {
        assert_eq!(excerpt("  one\n\n two\u{1b}[31m ", 40), "one two [31m");
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(excerpt("abc def", 4), "abc …".replace(" …", "…"));
        assert_eq!(excerpt("abc", 3), "abc");
    }

    #[test]
    fn a_head_never_cuts_a_character() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(head("aé", 3), "aé");
        assert_eq!(head("", 3), "");
    }
}
