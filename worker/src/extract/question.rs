//! What a question asks: its language, its aspects, and the subject that they are aspects of.

use serde::{Deserialize, Serialize};

use super::lexicon::{self, LEXICON};
use crate::docs::words::{Token, is_cjk, is_mostly_cjk, is_particle, is_stop_word, stem, terms, tokens};

/// How much of a question is looked at; a longer one is a text, and its beginning says what it wants.
const QUESTION_CHARS_MAX: usize = 2_000;

/// The language of the report's own words. Quotes stay in the language of their documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// English, and every language without words of its own here.
    English,
    /// Chinese.
    Chinese,
}

/// A side from which a subject is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// What it is.
    Definition,
    /// What speaks for it.
    Advantages,
    /// What speaks against it.
    Drawbacks,
    /// What can go wrong.
    Risks,
    /// What it costs.
    Costs,
    /// How fast it is and how far it scales.
    Performance,
    /// How it is protected.
    Security,
    /// How it is used.
    Usage,
    /// What can be used instead.
    Alternatives,
    /// The question names no side.
    Whole,
}

/// How the words of a subject belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subjects {
    /// They name one thing.
    One,
    /// They name things that are set beside each other.
    Several,
}

/// A word of the question with which documents are searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// As the question has it.
    pub shown: String,
    /// The terms by which sentences are compared with it.
    pub terms: Vec<String>,
}

/// A question, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question on one line.
    pub text: String,
    /// In what language the report speaks.
    pub language: Language,
    /// What is asked, in the order of the question; never empty.
    pub aspects: Vec<Aspect>,
    /// Whether its subject is one thing or several that are compared.
    pub subjects: Subjects,
    /// What it is asked of; empty if the question names only aspects or nothing.
    pub subject: Vec<Word>,
}

impl Question {
    /// Takes a question apart. Any text is a question, even an empty one.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let bounded: String = text.chars().take(QUESTION_CHARS_MAX).collect();
        let text = bounded.split_whitespace().collect::<Vec<_>>().join(" ");
        let language = if is_chinese(&text) {
            Language::Chinese
        } else {
            Language::English
        };
        let mut found: Vec<(usize, Aspect)> = Vec::new();
        let mut rest = text.clone();
        for cues in LEXICON.iter() {
            for phrase in &cues.asked_chinese {
                // Looked for in the whole text, as one phrase may ask for two aspects.
                found.extend(text.match_indices(phrase).map(|(at, _)| (at, cues.aspect)));
                // The place stays as wide as it was, so that the order of the aspects is that of the question.
                rest = rest.replace(phrase, &" ".repeat(phrase.len()));
            }
        }
        for phrase in lexicon::SCAFFOLD_CHINESE {
            rest = rest.replace(phrase, &" ".repeat(phrase.len()));
        }
        let subject = subject(&rest, &mut found);
        found.sort();
        let mut aspects: Vec<Aspect> = Vec::new();
        for (_, aspect) in found {
            if !aspects.contains(&aspect) {
                aspects.push(aspect);
            }
        }
        if aspects.is_empty() {
            let lower = text.to_lowercase();
            let defines = lexicon::DEFINITIONS.iter().any(|start| lower.starts_with(start));
            aspects.extend((defines || text.contains("是什么")).then_some(Aspect::Definition));
            aspects.push(Aspect::Whole);
        }
        let subjects = if compares(&text) {
            Subjects::Several
        } else {
            Subjects::One
        };
        Self {
            text,
            language,
            aspects,
            subjects,
            subject,
        }
    }

    /// The words of the subject, for a search.
    #[must_use]
    pub fn subject_text(&self) -> String {
        self.subject
            .iter()
            .map(|word| word.shown.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The terms of the subject, each once.
    #[must_use]
    pub fn subject_terms(&self) -> Vec<String> {
        let mut terms: Vec<String> = Vec::new();
        for term in self.subject.iter().flat_map(|word| &word.terms) {
            if !terms.contains(term) {
                terms.push(term.clone());
            }
        }
        terms
    }
}

/// The words that are neither aspects nor scaffolding; aspects met on the way go to `found`.
fn subject(text: &str, found: &mut Vec<(usize, Aspect)>) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut push = |shown: &str| {
        let terms = terms(shown);
        if !terms.is_empty() && !words.iter().any(|word| word.terms == terms) {
            words.push(Word {
                shown: shown.to_owned(),
                terms,
            });
        }
    };
    for token in tokens(text) {
        match token {
            Token::Word(word) => {
                let lower = word.to_lowercase();
                let at = word.as_ptr() as usize - text.as_ptr() as usize;
                let stem = stem(&lower);
                if let Some(cues) = LEXICON.iter().find(|cues| cues.asked.contains(&stem)) {
                    found.push((at, cues.aspect));
                } else if !is_stop_word(&lower) && !lexicon::SCAFFOLD.contains(&stem) {
                    push(word);
                }
            }
            Token::Run(run) => run
                .split(is_particle)
                .filter(|part| !part.is_empty())
                .for_each(&mut push),
        }
    }
    words
}

fn compares(text: &str) -> bool {
    let compares = |token| match token {
        Token::Word(word) => lexicon::COMPARISONS.contains(&stem(&word.to_lowercase())),
        Token::Run(run) => lexicon::COMPARISONS_CHINESE.iter().any(|phrase| run.contains(phrase)),
    };
    tokens(text).into_iter().any(compares)
}

/// Japanese is written with ideographs too, but always with kana between them.
fn is_chinese(text: &str) -> bool {
    is_mostly_cjk(text)
        && !text
            .chars()
            .any(|c| is_cjk(c) && ('\u{3041}'..='\u{30FF}').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Language, Vec<Aspect>, String) {
        let question = Question::parse(text);
        (question.language, question.aspects.clone(), question.subject_text())
    }

    #[test]
    fn aspects_come_in_the_order_of_the_question_and_the_rest_is_the_subject() {
        let expected = (
            Language::English,
            vec![Aspect::Drawbacks, Aspect::Advantages],
            "vector databases".to_owned(),
        );
        assert_eq!(
            parsed("What are the drawbacks and  advantages\nof vector databases?"),
            expected
        );
        let expected = (
            Language::Chinese,
            vec![Aspect::Advantages, Aspect::Drawbacks],
            "向量数据库".to_owned(),
        );
        assert_eq!(parsed("向量数据库的优点和缺点是什么？"), expected);
        let expected = (
            Language::English,
            vec![Aspect::Security, Aspect::Costs],
            "tokio".to_owned(),
        );
        assert_eq!(parsed("Security and cost of tokio"), expected);
    }

    #[test]
    fn a_question_without_aspects_asks_for_the_whole() {
        assert_eq!(parsed("How does tokio schedule work?").1, [Aspect::Whole]);
        assert_eq!(parsed("How does tokio schedule work?").2, "tokio schedule work");
    }

    #[test]
    fn what_something_is_and_how_things_compare_are_heard() {
        assert_eq!(parsed("What is a lease?").1, [Aspect::Definition, Aspect::Whole]);
        assert_eq!(parsed("租约是什么？").1, [Aspect::Definition, Aspect::Whole]);
        assert_eq!(Question::parse("Compare HNSW and IVF").subjects, Subjects::Several);
        assert_eq!(Question::parse("HNSW 和 IVF 的区别").subjects, Subjects::Several);
        assert_eq!(Question::parse("Advantages of HNSW").subjects, Subjects::One);
    }

    #[test]
    fn an_empty_question_is_a_question() {
        for text in ["", "???", "🙂", "\u{0}"] {
            assert_eq!(
                parsed(text),
                (Language::English, vec![Aspect::Whole], String::new()),
                "{text}"
            );
        }
    }

    #[test]
    fn japanese_is_answered_in_english() {
        assert_eq!(parsed("ベクトルデータベースの長所").0, Language::English);
    }

    #[test]
    fn a_question_of_any_length_is_bounded() {
        assert_eq!(
            Question::parse(&"word ".repeat(10_000)).text.chars().count(),
            QUESTION_CHARS_MAX - 1
        );
    }
}
