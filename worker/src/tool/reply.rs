//! The bound on what a call shows to the model.

/// Shows as much of `text` as `bytes_max` allows, cut between two characters, with a marker that states its true size.
#[must_use]
pub fn bounded(text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let end = text.floor_char_boundary(bytes_max);
    let size = text.len();
    format!(
        "{}\n[cut here: the first {end} of {size} bytes are shown; ask for less at once to see the rest]",
        &text[..end]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d21_a_long_reply_is_cut_between_characters_and_says_its_true_size() {
        assert_eq!(bounded("aé".to_owned(), 3), "aé");
        assert_eq!(
            bounded("aéb".to_owned(), 2),
            "a\n[cut here: the first 1 of 4 bytes are shown; ask for less at once to see the rest]"
        );
    }
}
