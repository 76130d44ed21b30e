//! Names of files as one line of text, whatever bytes they are made of.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::super::VPath;
use super::super::vpath::{SOURCES_FOLDER, VPathError};

/// Writes a path below a source folder as a virtual path under `sources/`, behind `folder` if that has a name.
///
/// A part that is not plain text, or that a virtual path may not hold, has its odd bytes and its `%` written as `%XX`.
/// So does a part that already looks like that; thus two files never share a path.
///
/// # Errors
/// [`VPathError::TooLong`]: nothing else is left to refuse.
pub fn virtual_path(folder: Option<&str>, relative: &Path) -> Result<VPath, VPathError> {
    let below = relative.components().map(|part| escape(part.as_os_str()));
    let above = [Some(SOURCES_FOLDER), folder].into_iter().flatten().map(str::to_owned);
    let parts: Vec<String> = above.chain(below).collect();
    VPath::parse(&parts.join("/"))
}

/// The last part of a path as a person would read it, if its virtual name is an escaped one.
pub fn readable_name(relative: &Path) -> Option<String> {
    let name = relative.file_name()?;
    (!is_plain(name)).then(|| {
        name.to_string_lossy()
            .chars()
            .filter(|letter| !letter.is_control())
            .collect()
    })
}

/// Writes one part of a path as text from which its bytes can be told.
pub fn escape(name: &OsStr) -> String {
    if is_plain(name) {
        return name.to_string_lossy().into_owned();
    }
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() || matches!(letter, '\\' | '%') {
                let mut bytes = [0; 4];
                letter
                    .encode_utf8(&mut bytes)
                    .bytes()
                    .for_each(|byte| push_escaped(&mut text, byte));
            } else {
                text.push(letter);
            }
        }
        chunk.invalid().iter().for_each(|byte| push_escaped(&mut text, *byte));
    }
    text
}

fn push_escaped(text: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.push('%');
    text.push(char::from(DIGITS[usize::from(byte >> 4)]));
    text.push(char::from(DIGITS[usize::from(byte & 15)]));
}

fn is_plain(name: &OsStr) -> bool {
    let looks_escaped = name
        .as_bytes()
        .windows(3)
        .any(|three| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit));
    !looks_escaped
        && name
            .to_str()
            .is_some_and(|text| !text.contains(|letter: char| letter.is_control() || letter == '\\'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(bytes: &[u8]) -> String {
        escape(OsStr::from_bytes(bytes))
    }

    #[test]
    fn d29_a_name_that_is_not_utf8_gets_a_text_from_which_its_bytes_can_be_told() {
        assert_eq!(escaped(b"caf\xff.txt"), "caf%FF.txt");
        assert_eq!(escaped(b"a\nb"), "a%0Ab");
        assert_eq!(escaped(b"a\\b 100%"), "a%5Cb 100%25");
        assert_eq!(escaped("naïve 100%.md".as_bytes()), "naïve 100%.md");
        assert_eq!(escaped(b"caf%FF.txt"), "caf%25FF.txt");
        assert_eq!(
            readable_name(Path::new(OsStr::from_bytes(b"d/caf\xff.txt"))),
            Some("caf\u{fffd}.txt".to_owned())
        );
        assert_eq!(readable_name(Path::new("d/plain.txt")), None);
    }

    #[test]
    fn a_virtual_path_lies_under_sources_and_its_folder() {
        let path = |folder, relative: &str| virtual_path(folder, Path::new(relative)).map(String::from);
        assert_eq!(path(None, "a/b.md"), Ok("sources/a/b.md".to_owned()));
        assert_eq!(path(Some("docs"), "~x/C:y"), Ok("sources/docs/~x/C:y".to_owned()));
        assert_eq!(path(None, &"x".repeat(505)), Err(VPathError::TooLong { bytes: 513 }));
    }

    proptest! {
        #[test]
        fn no_two_names_share_a_text_and_every_text_is_a_valid_path(
            one in prop::collection::vec(prop_oneof![Just(b'%'), Just(b'F'), Just(0xff_u8), 1_u8..=255], 1..6),
            other in prop::collection::vec(prop_oneof![Just(b'%'), Just(b'F'), Just(0xff_u8), 1_u8..=255], 1..6),
        ) {
            let usable = |name: &[u8]| !name.contains(&b'/') && name != b"." && name != b"..";
            prop_assume!(usable(&one) && usable(&other) && one != other);
            prop_assert_ne!(escaped(&one), escaped(&other));
            let path = virtual_path(None, Path::new(OsStr::from_bytes(&one))).unwrap();
            prop_assert_eq!(path.as_str(), format!("sources/{}", escaped(&one)));
        }
    }
}
