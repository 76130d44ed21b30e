//! Reading JSON that a provider wrote.

use std::borrow::Cow;

use serde_json::Value;

/// What a lone surrogate is replaced by: the escape of U+FFFD, of the same length.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Parses `text`. A lone surrogate, which JSON can write and Unicode does not have, becomes U+FFFD.
///
/// # Errors
/// What is wrong with the text and where; nesting deeper than 128 levels is wrong too, so the stack is safe.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).or_else(|first| match replace_lone_surrogates(text) {
        Cow::Borrowed(_) => Err(first.to_string()),
        Cow::Owned(repaired) => serde_json::from_str(&repaired).map_err(|second| second.to_string()),
    })
}

fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut repaired: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match surrogate(bytes, at) {
            Some(Half::High) if surrogate(bytes, at + 6) == Some(Half::Low) => at += 12,
            Some(_) => {
                repaired.get_or_insert_with(|| bytes.to_vec())[at..at + 6].copy_from_slice(REPLACEMENT);
                at += 6;
            }
            // Also steps over an escaped backslash, so that `\\ud800` stays what it is.
            None => at += 2,
        }
    }
    match repaired.map(String::from_utf8) {
        Some(Ok(repaired)) => Cow::Owned(repaired),
        Some(Err(_)) | None => Cow::Borrowed(text),
    }
}

#[derive(PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Which half of a surrogate pair the escape at `at` is, if it is one.
fn surrogate(bytes: &[u8], at: usize) -> Option<Half> {
    let escape = bytes.get(at..at + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

/// The text of `value`, if it is one.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lone_surrogates_become_replacement_characters_and_pairs_stay() {
        assert_eq!(parse(r#"{"t":"a\ud800b"}"#), Ok(json!({"t": "a\u{fffd}b"})));
        assert_eq!(parse(r#"["\udc00\ud83d\ude00"]"#), Ok(json!(["\u{fffd}😀"])));
        assert_eq!(parse(r#"["\ud83d","\\ud800"]"#), Ok(json!(["\u{fffd}", "\\ud800"])));
        assert_eq!(parse(r#"["\ud83d\u0041"]"#), Ok(json!(["\u{fffd}A"])));
    }

    #[test]
    fn a_nul_character_passes() {
        assert_eq!(parse(r#""a\u0000b""#), Ok(json!("a\0b")));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
        let error = parse(&"[".repeat(100_000)).expect_err("far too deep");
        assert!(error.starts_with("recursion limit exceeded"), "{error}");
    }

    #[test]
    fn broken_text_keeps_its_own_error() {
        assert_eq!(
            parse(r#"{"t":"\ud800"#),
            Err("EOF while parsing a string at line 1 column 12".to_owned())
        );
        assert_eq!(
            parse("{").expect_err("broken"),
            "EOF while parsing an object at line 1 column 1"
        );
    }
}
