//! "Did you mean": the most similar of the names there are.

/// The candidate most similar to `name`, if one is similar enough to be worth a suggestion.
///
/// Similarity is Jaro-Winkler, which favours names with the same beginning; 0.75 lets `planer` find `planner` and keeps
/// `writer` from being offered for `banana`.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typing_error_finds_its_name_and_another_word_finds_none() {
        let names = ["researcher", "reviewer", "analyst", "planner"];
        assert_eq!(nearest("planer", names), Some("planner"));
        assert_eq!(nearest("Researcher", names), Some("researcher"));
        assert_eq!(nearest("xyz", names), None);
    }
}
