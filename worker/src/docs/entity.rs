//! Character references of HTML: `&amp;`, `&#8212;`, `&#x2014;`.

/// The longest reference that is looked at; the longest name in the table has six letters.
const REFERENCE_BYTES_MAX: usize = 12;

/// The named references that occur in running text; others stay as they are written.
const NAMED: &[(&str, &str)] = &[
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", "\u{A0}"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("sbquo", "‚"),
    ("bdquo", "„"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("deg", "°"),
    ("plusmn", "±"),
    ("times", "×"),
    ("divide", "÷"),
    ("micro", "µ"),
    ("para", "¶"),
    ("sect", "§"),
    ("euro", "€"),
    ("pound", "£"),
    ("yen", "¥"),
    ("cent", "¢"),
    ("frac12", "½"),
    ("le", "≤"),
    ("ge", "≥"),
    ("ne", "≠"),
    ("asymp", "≈"),
    ("infin", "∞"),
    ("rarr", "→"),
    ("larr", "←"),
    ("harr", "↔"),
    ("shy", ""),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("auml", "ä"),
    ("ouml", "ö"),
    ("uuml", "ü"),
    ("Auml", "Ä"),
    ("Ouml", "Ö"),
    ("Uuml", "Ü"),
    ("szlig", "ß"),
    ("eacute", "é"),
    ("egrave", "è"),
    ("agrave", "à"),
    ("ccedil", "ç"),
    ("ntilde", "ñ"),
    ("aring", "å"),
    ("oslash", "ø"),
    ("aelig", "æ"),
    ("ecirc", "ê"),
];

/// The text of the reference at the start of `rest` and its length in bytes; `None` if there is none.
#[must_use]
pub fn decode(rest: &str) -> Option<(String, usize)> {
    let end = rest.bytes().take(REFERENCE_BYTES_MAX).position(|byte| byte == b';')?;
    let name = rest.get(1..end)?;
    let text = match name.strip_prefix('#') {
        Some(number) => {
            let hex = number.strip_prefix(['x', 'X']).map(|hex| u32::from_str_radix(hex, 16));
            let code = hex.unwrap_or_else(|| number.parse()).ok()?;
            char::from_u32(code).filter(|c| *c != '\0')?.to_string()
        }
        None => NAMED.iter().find(|(known, _)| *known == name)?.1.to_owned(),
    };
    Some((text, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_decoded() {
        assert_eq!(decode("&amp; more"), Some(("&".to_owned(), 5)));
        assert_eq!(decode("&#8212;"), Some(("—".to_owned(), 7)));
        assert_eq!(decode("&#x2014;"), Some(("—".to_owned(), 8)));
    }

    #[test]
    fn what_is_no_reference_stays_text() {
        for text in ["& so", "&unknown;", "&#xD800;", "&#0;", "&#99999999;", "&", "&é;"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
