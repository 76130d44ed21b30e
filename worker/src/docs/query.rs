//! Turns what a person or a model typed into an FTS5 query that is always valid.

use super::words::{Token, bigrams, is_particle, is_stop_word, tokens};

/// How many terms of a query are looked for; more only cost time, as they all are alternatives.
const TERMS_MAX: usize = 48;

/// The FTS5 query that finds sentences with any of the words of `text`; `None` if it has no word at all.
///
/// Operators, quotes and punctuation of the input have no meaning. Stop words are left out unless nothing else
/// is there.
#[must_use]
pub fn any_of(text: &str) -> Option<String> {
    let mut terms = query_terms(text, Stop::Dropped);
    if terms.is_empty() {
        terms = query_terms(text, Stop::Kept);
    }
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

/// The FTS5 query that finds sentences with every word of `text`; `None` if it has no word at all.
#[must_use]
pub fn all_of(text: &str) -> Option<String> {
    let terms = query_terms(text, Stop::Kept);
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

/// The FTS5 query that finds sentences with any word of `text` and any word of `other`.
#[must_use]
pub fn both_of(text: &str, other: &str) -> Option<String> {
    match (any_of(text), any_of(other)) {
        (Some(a), Some(b)) => Some(format!("({a}) AND ({b})")),
        (one, other) => one.or(other),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Stop {
    Dropped,
    Kept,
}

fn query_terms(text: &str, stop: Stop) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    // Only letters and digits come through, so a quoted term cannot end early.
    let mut push = |term: &str| {
        let quoted = format!("\"{term}\"");
        if terms.len() < TERMS_MAX && !terms.contains(&quoted) {
            terms.push(quoted);
        }
    };
    for token in tokens(text) {
        match token {
            Token::Word(word) => {
                let word = word.to_lowercase();
                if stop == Stop::Kept || !is_stop_word(&word) {
                    push(&word);
                }
            }
            Token::Run(run) if stop == Stop::Kept => bigrams(run).for_each(&mut push),
            Token::Run(run) => {
                let parts = run.split(is_particle).filter(|part| !part.is_empty());
                parts.flat_map(bigrams).for_each(&mut push);
            }
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_quoted_alternatives_without_stop_words() {
        assert_eq!(
            any_of("What is the HNSW index?").as_deref(),
            Some("\"hnsw\" OR \"index\"")
        );
        assert_eq!(any_of("索引的缺点").as_deref(), Some("\"索引\" OR \"缺点\""));
    }

    #[test]
    fn operators_and_quotes_of_the_input_mean_nothing() {
        assert_eq!(
            any_of("a\" OR NEAR(b*) -c:").as_deref(),
            Some("\"near\" OR \"b\" OR \"c\"")
        );
        assert_eq!(any_of("🙂 … \"\""), None);
        assert_eq!(any_of(""), None);
    }

    #[test]
    fn a_query_of_stop_words_alone_is_still_a_query() {
        assert_eq!(
            any_of("to be or not").as_deref(),
            Some("\"to\" OR \"be\" OR \"or\" OR \"not\"")
        );
        assert_eq!(any_of("的").as_deref(), Some("\"的\""));
    }

    #[test]
    fn a_long_query_is_bounded() {
        let long = (0..500)
            .map(|number| format!("w{number}"))
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(
            any_of(&long).map(|query| query.matches(" OR ").count()),
            Some(TERMS_MAX - 1)
        );
    }
}
