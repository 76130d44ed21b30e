//! Which sentences can stand alone in a report, and how well.

use super::lexicon::{APPARATUS, BOILERPLATE, CAVEATS, OPEN, SELF_REFERENCES};
use super::question::Question;
use crate::docs::words::{is_cjk, is_mostly_cjk};
use crate::docs::{Document, Role, Sentence};

/// The shortest and longest quote in characters: a fragment says nothing, a page is no quote.
const QUOTE_CHARS: std::ops::RangeInclusive<usize> = 30..=360;

/// The same for Chinese and Japanese, where a character is about a third of a word.
const QUOTE_CHARS_CJK: std::ops::RangeInclusive<usize> = 12..=160;

/// The fewest words of a quote in a script with spaces.
const QUOTE_WORDS_MIN: usize = 6;

/// The length up to which a quote is pleasant to read.
const PLEASANT_CHARS: usize = 230;

/// Below how many words a sentence may be a label.
const LABEL_WORDS_MAX: usize = 12;

/// Verbs of which nearly every whole sentence in an explanatory text has one.
const VERBS: &[&str] = &[
    "is", "are", "was", "were", "be", "has", "have", "had", "can", "cannot", "could", "may", "might", "must", "will",
    "would", "should", "does", "do", "did", "needs", "need", "takes", "take", "gives", "give", "makes", "make", "uses",
    "use", "keeps", "keep", "returns", "allows", "allow", "provides", "supports", "requires", "require", "finds",
    "find", "shows", "reads", "costs", "grows", "reduces", "works", "comes", "becomes", "means", "contains", "differs",
    "helps", "saves", "suffers",
];

/// How many sentences at the start of a document may say what the document is.
const PREFACE_SENTENCES: usize = 12;

/// First words that point at something outside of the sentence.
const POINTERS: &[&str] = &[
    "this",
    "that",
    "these",
    "those",
    "it",
    "its",
    "they",
    "their",
    "them",
    "both",
    "such",
    "he",
    "she",
    "his",
    "her",
    "then",
    "therefore",
    "thus",
    "hence",
    "so",
    "also",
    "but",
    "and",
    "or",
    "however",
    "instead",
    "otherwise",
    "moreover",
    "furthermore",
    "here",
    "there",
    "similarly",
    "likewise",
    "again",
    "as",
    "if",
    "one",
    "another",
    "other",
    "for",
    "neither",
    "either",
    "nor",
    "finally",
    "step",
    "first",
    "second",
    "third",
    "next",
    "additionally",
    "the",
    "dies",
    "er",
    "sie",
];

/// Of those, words that are harmless before a noun: weighed at a fraction.
const MILD_POINTERS: &[&str] = &[
    "the", "if", "for", "as", "one", "another", "other", "here", "there", "first", "second", "third",
];

/// Chinese beginnings that point at something outside of the sentence.
const POINTERS_CHINESE: &[&str] = &[
    "这", "它", "其", "此", "因此", "所以", "但", "而", "例如", "本文", "否则", "该",
];

/// Whether a sentence may be quoted at all.
#[must_use]
pub fn is_quotable(sentence: &Sentence) -> bool {
    matches!(sentence.role, Role::Prose | Role::Item)
        && has_fit_length(&sentence.text)
        && begins_and_ends(sentence)
        && is_mostly_letters(&sentence.text)
        && is_safe_in_markdown(&sentence.text)
}

fn has_fit_length(text: &str) -> bool {
    let chars = text.chars().count();
    if is_mostly_cjk(text) {
        return QUOTE_CHARS_CJK.contains(&chars);
    }
    QUOTE_CHARS.contains(&chars) && text.split_whitespace().count() >= QUOTE_WORDS_MIN
}

fn begins_and_ends(sentence: &Sentence) -> bool {
    let text = sentence.text.as_str();
    let opens = text.trim_start_matches(['"', '“', '(', '*', '_', '`', '[', '‘', '「']);
    let begins = opens.starts_with(|c: char| c.is_uppercase() || is_cjk(c) || c.is_ascii_digit())
        || text.starts_with(['`', '[']);
    let core = text.trim_end_matches(['"', '”', '’', ')', '*', '_', '`', '」', '）', '》']);
    let ends = core.ends_with(['.', '!', '。', '！', '；', '…']);
    begins && ends && !core.ends_with("...")
}

fn is_mostly_letters(text: &str) -> bool {
    let visible = text.chars().filter(|c| !c.is_whitespace()).count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    letters * 100 >= visible * 72
}

/// Text that would not show as itself, or that would look like a citation of the report.
fn is_safe_in_markdown(text: &str) -> bool {
    let tag = text.match_indices('<').any(|(at, _)| {
        let outside_code = text[..at].matches('`').count().is_multiple_of(2);
        outside_code && text[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
    });
    let balanced = |open: char, close: char| {
        let mut depth = 0_i32;
        let fits = text.chars().all(|c| {
            depth += i32::from(c == open) - i32::from(c == close);
            depth >= 0
        });
        fits && depth == 0
    };
    // A regular expression is only tried where it could match: this runs over every sentence.
    let cites = text.contains('[') && super::citation::mentions_citation(text);
    let even_code = text.matches('`').count().is_multiple_of(2);
    !tag && even_code
        && !cites
        && balanced('“', '”')
        && balanced('(', ')')
        && balanced('[', ']')
        && !text.contains(['\u{FFFD}', '|', '{', '}', '\\'])
        && !text.contains("://")
        && !text.contains('\u{0}')
}

/// What a quotable sentence loses, from 0 (stands alone) to about 1.
#[must_use]
pub fn penalty(sentence: &Sentence) -> f64 {
    let text = sentence.text.as_str();
    let mut penalty = 0.0;
    if points_elsewhere(text) {
        penalty += 0.45;
    } else if lacks_its_noun(text) || may_lack_a_verb(text) {
        penalty += 0.35;
    } else if begins_with_any(text, MILD_POINTERS) {
        penalty += 0.06;
    }
    let chars = text.chars().count();
    if chars > PLEASANT_CHARS {
        penalty += 0.1;
    }
    let digits = text.chars().filter(char::is_ascii_digit).count();
    if digits * 12 > chars {
        penalty += 0.3;
    }
    if names_a_file(text) {
        penalty += 0.35;
    }
    penalty
}

/// Whether the sentence begins with a word that points at something before it.
#[must_use]
pub fn points_elsewhere(text: &str) -> bool {
    let strongly = begins_with_any(text, POINTERS) && !begins_with_any(text, MILD_POINTERS);
    strongly || POINTERS_CHINESE.iter().any(|pointer| text.starts_with(pointer))
}

/// Whether a short sentence that begins with a noun has no common verb: it is mostly a label of something.
fn may_lack_a_verb(text: &str) -> bool {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .collect();
    let labels = matches!(
        words.first().map(String::as_str),
        Some("the" | "a" | "an" | "number" | "hooks" | "all")
    );
    labels && words.len() < LABEL_WORDS_MAX && !words.iter().any(|word| VERBS.contains(&word.as_str()))
}

/// Whether the sentence says what its document is going to say.
#[must_use]
pub fn announces(text: &str) -> bool {
    let lower = text.to_lowercase();
    SELF_REFERENCES.iter().any(|reference| lower.starts_with(reference))
}

/// Whether the sentence begins like "The benefit is …", and leaves to the one before it of what.
fn lacks_its_noun(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let article = words
        .next()
        .is_some_and(|word| matches!(word, "The" | "Another" | "One"));
    let verb = words
        .skip(1)
        .take(2)
        .any(|word| matches!(word, "is" | "are" | "was" | "were" | "would"));
    article && verb
}

fn begins_with_any(text: &str, words: &[&str]) -> bool {
    let first = text
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty())
        .unwrap_or("");
    words.contains(&first.to_lowercase().as_str())
}

fn names_a_file(text: &str) -> bool {
    const ENDINGS: &[&str] = &[".md", ".txt", ".html", ".csv", ".json", ".rs", ".toml", ".py", ".yaml"];
    ENDINGS.iter().any(|ending| text.contains(ending))
}

/// Whether a section lists, thanks, licenses or names what it leaves open, instead of saying something.
#[must_use]
pub fn is_apparatus(document: &Document, sentence: &Sentence) -> bool {
    let headings = document.headings(sentence);
    headings.iter().any(|heading| {
        let bare = heading.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
        APPARATUS.contains(&bare.as_str()) || OPEN.iter().any(|phrase| has_phrase(&bare, phrase))
    })
}

/// Whether a sentence is part of a licence or notice that the question does not ask about.
#[must_use]
pub fn is_boilerplate(text: &str, question: &Question) -> bool {
    let lower = text.to_lowercase();
    let asked = question.text.to_lowercase();
    BOILERPLATE.iter().any(|phrase| lower.contains(phrase)) && !asked.contains("licen") && !asked.contains("copyright")
}

/// Whether a phrase stands in a text as a word of its own; ideographs need no space around them.
#[must_use]
pub fn has_phrase(lower: &str, phrase: &str) -> bool {
    lower.match_indices(phrase).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + phrase.len()..].chars().next();
        !phrase.is_ascii() || [before, after].into_iter().flatten().all(|c| !c.is_alphanumeric())
    })
}

/// The sentence with which a document warns of itself, such as that it is a draft or that its figures are invented.
#[must_use]
pub fn caveat(document: &Document) -> Option<&Sentence> {
    let says = |sentence: &&Sentence| {
        let lower = sentence.text.to_lowercase();
        sentence.role == Role::Prose
            && CAVEATS.iter().any(|cue| lower.contains(cue))
            && SELF_REFERENCES.iter().any(|reference| lower.contains(reference))
            && is_safe_in_markdown(&sentence.text)
    };
    document.sentences.iter().take(PREFACE_SENTENCES).find(says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs::Lines;

    fn sentence(role: Role, text: &str) -> Sentence {
        Sentence {
            text: text.to_owned(),
            lines: Lines { first: 1, last: 1 },
            role,
            block: 0,
            section: 0,
        }
    }

    #[test]
    fn whole_sentences_are_quotable_and_fragments_are_not() {
        for text in [
            "Deletion is not part of the original algorithm.",
            "`spawn` starts a task that runs until it ends.",
            "向量数据库最大的优点是按语义检索。",
            "It said “never again” (and meant it) in a long text.",
        ] {
            assert!(is_quotable(&sentence(Role::Prose, text)), "{text}");
        }
        for text in [
            "Too short here.",
            "and so it goes on in the middle of a sentence.",
            "The following items are to be done in this order:",
            "Does a sentence that asks something say anything?",
            "The page holds <script>alert(1)</script> and more words.",
            "As the notes say [notes.md:12] this holds for all words.",
            "An unbalanced quote “ can hide where the quote begins.",
            "12.5 14.2 88.1 91.2 11.0 12.0 13.0 Total of all values.",
        ] {
            assert!(!is_quotable(&sentence(Role::Prose, text)), "{text}");
        }
        assert!(!is_quotable(&sentence(
            Role::Row,
            "Deletion is not part of the original algorithm."
        )));
    }

    #[test]
    fn a_sentence_that_points_elsewhere_loses() {
        let standing = penalty(&sentence(
            Role::Prose,
            "HNSW needs no training step before the first insertion.",
        ));
        let pointing = penalty(&sentence(
            Role::Prose,
            "It needs no training step before the first insertion.",
        ));
        assert!(standing < pointing, "{standing} {pointing}");
    }

    #[test]
    fn a_document_that_warns_of_itself_is_heard() {
        let read = |text: &str| Document::read("a.md", text.as_bytes()).expect("text");
        let notes = read("# Notes\n\n**This document is synthetic.** All entries were generated.\n");
        assert_eq!(
            caveat(&notes).map(|sentence| sentence.text.as_str()),
            Some("**This document is synthetic.**")
        );
        assert_eq!(caveat(&read("# Notes\n\nA draft is deprecated.\n")), None);
    }
}
