//! Bytes to text: byte order marks, UTF-16, bytes that are not UTF-8, and files that are not text at all.

use super::Note;

/// How many bytes decide whether a file is text; binary formats show themselves in their header.
const SNIFFED_BYTES: usize = 8 * 1024;

/// The largest share of control characters, in percent of the sniffed bytes, that text may have.
const CONTROL_PERCENT_MAX: usize = 2;

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text without a byte order mark; line ends are as in the file.
    pub text: String,
    /// What had to be done for it.
    pub notes: Vec<Note>,
}

/// The text of these bytes, or `None` if they are not text.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Decoded> {
    if let Some(rest) = bytes.strip_prefix(&[0xFF, 0xFE]) {
        return utf16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFE, 0xFF]) {
        return utf16(rest, u16::from_be_bytes);
    }
    let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
    if is_binary(bytes) {
        return None;
    }
    match str::from_utf8(bytes) {
        Ok(text) => Some(Decoded {
            text: text.to_owned(),
            notes: vec![],
        }),
        // A file that was cut at its bound may end within a character: that is no fault of the file.
        Err(error) if error.error_len().is_none() => {
            let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            Some(Decoded { text, notes: vec![] })
        }
        Err(_) => Some(Decoded {
            text: String::from_utf8_lossy(bytes).into_owned(),
            notes: vec![Note::NotUtf8],
        }),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<Decoded> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    (!text.contains('\0')).then_some(Decoded {
        text,
        notes: vec![Note::Utf16],
    })
}

fn is_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    if head.starts_with(b"%PDF-") || head.contains(&0) {
        return true;
    }
    let control = head
        .iter()
        .filter(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
        .count();
    // Escape sequences of terminals make a log no less a text; a fiftieth of the bytes does.
    control * 100 > head.len() * CONTROL_PERCENT_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        let decoded = decode(b"\xEF\xBB\xBF# Title\r\n").expect("text");
        assert_eq!(
            decoded,
            Decoded {
                text: "# Title\r\n".to_owned(),
                notes: vec![]
            }
        );
    }

    #[test]
    fn utf16_of_both_byte_orders_is_decoded_and_noted() {
        let expected = Some(Decoded {
            text: "中a".to_owned(),
            notes: vec![Note::Utf16],
        });
        assert_eq!(decode(b"\xFF\xFE\x2D\x4E\x61\x00"), expected);
        assert_eq!(decode(b"\xFE\xFF\x4E\x2D\x00\x61"), expected);
    }

    #[test]
    fn bytes_outside_utf8_become_the_replacement_character_and_are_noted() {
        let decoded = decode(b"caf\xE9 au lait").expect("text");
        assert_eq!(
            decoded,
            Decoded {
                text: "caf\u{FFFD} au lait".to_owned(),
                notes: vec![Note::NotUtf8]
            }
        );
    }

    #[test]
    fn a_character_cut_at_the_end_is_dropped_without_a_note() {
        let whole = "ab中".as_bytes();
        assert_eq!(
            decode(&whole[..4]),
            Some(Decoded {
                text: "ab".to_owned(),
                notes: vec![]
            })
        );
    }

    #[test]
    fn binary_files_are_not_text() {
        assert_eq!(decode(b"\x7FELF\x02\x01\x01\x00\x00"), None);
        assert_eq!(decode(b"%PDF-1.7 binary follows"), None);
        assert_eq!(decode(&[0x1F, 0x8B, 0x08, 0x03, 0x01, 0x02]), None);
        assert!(decode(b"").is_some());
    }
}
