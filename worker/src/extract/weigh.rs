//! Weighs sentences against a question: which aspect each one speaks of, and how much it is worth there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::figure::numbers;
use super::lexicon::{self, Cues, LEXICON};
use super::quality;
use super::question::{Aspect, Question, Subjects};
use super::researcher::Polarity;
use super::similarity::{TermSet, term_set};
use crate::docs::words::{Token, is_mostly_cjk, stem, tokens};
use crate::docs::{DocIndex, Document, IndexError, Sentence, index, query};

/// What a sentence gains for naming the whole subject itself, and what a heading above it counts instead.
const ABOUT_SUBJECT: f64 = 0.8;
const ABOUT_BY_CONTEXT: f64 = 0.55;

/// How much of the subject a sentence and its context must name: more where nothing else is asked of it.
const ABOUT_WHOLE_MIN: f64 = 0.5;
const ABOUT_ASPECT_MIN: f64 = 0.12;

/// Up to how many sentences with a word of the subject are counted: beyond it the word is simply common.
const COUNTED_MAX: usize = 20_000;

/// What the rank of the full-text search adds at most.
const RANK: f64 = 0.25;

/// What a document loses that warns of itself, and a sentence that the asker may not be able to read.
const LOSS_WARNED: f64 = 0.7;
const LOSS_OTHER_SCRIPT: f64 = 0.8;

/// What a sentence is worth that says what the subject is.
const DEFINES: f64 = 1.1;

/// What a sentence gains for calling its point the greatest one.
const SUPERLATIVE: f64 = 0.15;

/// A sentence that might be quoted.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// Its document.
    pub document: &'a Document,
    /// The sentence.
    pub sentence: &'a Sentence,
    /// What it tells: its terms without those of the subject, which all candidates share.
    pub told: TermSet,
    /// Whether its document warns of itself.
    pub warned: bool,
    /// Its numbers.
    pub numbers: BTreeSet<String>,
    /// What it is worth for each aspect of the question that it speaks of.
    pub worth: BTreeMap<Aspect, f64>,
    /// Whether it speaks for its subject or against it.
    pub polarity: Polarity,
}

/// The scale for one question and one corpus.
#[derive(Debug)]
pub struct Scale<'a> {
    question: &'a Question,
    /// The terms of the subject with what each tells: a rare one more than a common one.
    subject: Vec<(String, f64)>,
    chinese: bool,
    warned: BTreeSet<&'a str>,
    /// What was learned of a section, as its sentences share it.
    sections: RefCell<HashMap<(*const Document, u32), Rc<Surroundings>>>,
}

/// What the headings around a sentence say.
#[derive(Debug)]
struct Surroundings {
    terms: TermSet,
    apparatus: bool,
    /// For each aspect: what the headings say of it.
    aspects: BTreeMap<Aspect, Heading>,
}

/// What the headings above a sentence say of an aspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heading {
    /// The section is about it.
    Section,
    /// Only the title of the document names it.
    Title,
    /// The section is about the opposite.
    Opposite,
}

impl<'a> Scale<'a> {
    /// A scale for the sentences of this index.
    ///
    /// # Errors
    /// [`IndexError`] if the index fails.
    pub fn new(question: &'a Question, index: &'a DocIndex) -> Result<Self, IndexError> {
        let warned = index
            .corpus()
            .documents
            .iter()
            .filter(|document| quality::caveat(document).is_some());
        let mut subject: Vec<(String, f64)> = Vec::new();
        for word in &question.subject {
            let found = match query::any_of(&word.shown) {
                Some(query) => index.ranked(&query, COUNTED_MAX)?.len(),
                None => 0,
            };
            let weight = telling(found, index.len());
            for term in &word.terms {
                if subject.iter().all(|(known, _)| known != term) {
                    subject.push((term.clone(), weight));
                }
            }
        }
        Ok(Self {
            question,
            subject,
            chinese: is_mostly_cjk(&question.text),
            warned: warned.map(|document| document.path.as_str()).collect(),
            sections: RefCell::default(),
        })
    }

    /// Weighs a sentence of this full-text rank, 0 to 1; `None` if it cannot be quoted or does not bear on the question.
    #[must_use]
    pub fn weigh(&self, document: &'a Document, sentence: &'a Sentence, rank: f64) -> Option<Candidate<'a>> {
        if !quality::is_quotable(sentence) || quality::is_boilerplate(&sentence.text, self.question) {
            return None;
        }
        let around = self.surroundings(document, sentence);
        if around.apparatus || quality::announces(&sentence.text) {
            return None;
        }
        let terms = term_set(&sentence.text);
        let base =
            ABOUT_SUBJECT * self.relevance(&terms, &around.terms)? + RANK * rank - self.losses(document, sentence);
        // A name in code says nothing about the thing, as a file called `drawbacks.md` is none.
        let spoken = without_code(&sentence.text);
        let words = Words::of(&spoken);
        let mut worth = BTreeMap::new();
        for aspect in &self.question.aspects {
            let speaks = match (aspect, lexicon::cues(*aspect)) {
                (Aspect::Definition, _) => self.defines(&words).then_some(DEFINES),
                (_, Some(cues)) => speaks_of(cues, &words, &around),
                (_, None) => Some(0.4),
            };
            if let Some(speaks) = speaks {
                worth.insert(*aspect, base + speaks);
            }
        }
        let polarity = polarity(&words, &around);
        let warned = self.warned.contains(document.path.as_str());
        let is_subject = |term: &String| self.subject.iter().any(|(subject, _)| subject == term);
        let told = terms.into_iter().filter(|term| !is_subject(term)).collect();
        let numbers = numbers(&sentence.text)
            .all
            .into_iter()
            .map(|(_, number)| number)
            .collect();
        (!worth.is_empty()).then_some(Candidate {
            document,
            sentence,
            told,
            warned,
            numbers,
            worth,
            polarity,
        })
    }

    /// Whether the sentence begins with the subject and then says what it is.
    fn defines(&self, words: &Words<'_>) -> bool {
        let is_subject = |word: &String| self.subject.iter().any(|(term, _)| term == word);
        let first = words.lower.first().map(String::as_str);
        let article = matches!(first, Some("a" | "an" | "the"));
        let begins = words.lower.iter().take(1 + usize::from(article)).position(&is_subject);
        let Some(begins) = begins.filter(|_| !self.subject.is_empty()) else {
            return self
                .question
                .subject
                .iter()
                .any(|word| words.text.starts_with(&format!("{}是", word.shown)));
        };
        let rest = &words.lower[begins..];
        let named = rest.iter().take_while(|word| is_subject(word)).count();
        named == self.subject.len()
            && rest
                .get(named)
                .is_some_and(|next| lexicon::DEFINING.contains(&next.as_str()))
    }

    fn losses(&self, document: &Document, sentence: &Sentence) -> f64 {
        let mut losses = quality::penalty(sentence);
        if self.warned.contains(document.path.as_str()) {
            losses += LOSS_WARNED;
        }
        if is_mostly_cjk(&sentence.text) != self.chinese {
            losses += LOSS_OTHER_SCRIPT;
        }
        losses
    }

    /// How much of the subject a sentence and its surroundings name, 0 to 1; `None` if too little of it.
    fn relevance(&self, terms: &TermSet, around: &TermSet) -> Option<f64> {
        if self.subject.is_empty() {
            return Some(0.5);
        }
        let named = |(term, weight): &(String, f64)| {
            if terms.contains(term) {
                *weight
            } else if around.contains(term) {
                ABOUT_BY_CONTEXT * weight
            } else {
                0.0
            }
        };
        let sum: f64 = self.subject.iter().map(named).sum();
        let all: f64 = self.subject.iter().map(|(_, weight)| weight).sum();
        let relevance = match self.question.subjects {
            Subjects::One => sum / all,
            // Of things that are compared, a sentence on one of them is to the point.
            Subjects::Several => {
                let best = self
                    .subject
                    .iter()
                    .map(|subject| named(subject) / subject.1)
                    .fold(0.0, f64::max);
                f64::midpoint(best, sum / all)
            }
        };
        let wanted = if self.question.aspects == [Aspect::Whole] {
            ABOUT_WHOLE_MIN
        } else {
            ABOUT_ASPECT_MIN
        };
        (relevance >= wanted).then_some(relevance)
    }

    fn surroundings(&self, document: &Document, sentence: &Sentence) -> Rc<Surroundings> {
        let key = (std::ptr::from_ref(document), sentence.section);
        let mut sections = self.sections.borrow_mut();
        Rc::clone(
            sections
                .entry(key)
                .or_insert_with(|| Rc::new(Surroundings::of(document, sentence))),
        )
    }
}

impl Surroundings {
    fn of(document: &Document, sentence: &Sentence) -> Self {
        let headings: Vec<Words<'_>> = document
            .headings(sentence)
            .iter()
            .map(|heading| Words::of(heading))
            .collect();
        let names = |words: &Words<'_>, cues: &Cues| {
            words.first(&cues.strong, &cues.strong_chinese).is_some() || words.first(&cues.headings, &[]).is_some()
        };
        let mut aspects = BTreeMap::new();
        for cues in LEXICON.iter() {
            // The nearest heading that names this aspect or its opposite, but not both, decides.
            let decided = headings.iter().enumerate().rev().find_map(|(depth, words)| {
                let mut opposed = LEXICON.iter().filter(|other| opposes(cues.aspect, other.aspect));
                let other = opposed.any(|other| names(words, other));
                let decided = match (other, depth) {
                    (true, _) => Heading::Opposite,
                    (false, 0) => Heading::Title,
                    (false, _) => Heading::Section,
                };
                (names(words, cues) != other).then_some(decided)
            });
            if let Some(decided) = decided {
                aspects.insert(cues.aspect, decided);
            }
        }
        Self {
            terms: term_set(&index::context(document, sentence)),
            apparatus: quality::is_apparatus(document, sentence),
            aspects,
        }
    }
}

fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// What a word tells that stands in `found` of all `sentences`.
fn telling(found: usize, sentences: usize) -> f64 {
    let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    (1.0 + count(sentences + 1) / count(found + 1)).ln()
}

/// How strongly a sentence speaks of an aspect, by its own words and by the heading above it.
fn speaks_of(cues: &Cues, words: &Words<'_>, around: &Surroundings) -> Option<f64> {
    let named = words.first(&cues.strong, &cues.strong_chinese);
    let hinted = words.first(&cues.weak, &cues.weak_chinese).is_some();
    let superlative = if named.is_some() && words.is_superlative() {
        SUPERLATIVE
    } else {
        0.0
    };
    match (named, around.aspects.get(&cues.aspect)) {
        (Some(early), Some(Heading::Section)) => Some(0.9 + early + superlative),
        (Some(early), Some(Heading::Title) | None) => Some(0.7 + early + superlative),
        (Some(early), Some(Heading::Opposite)) => Some(0.3 + early),
        (None, Some(Heading::Section)) => Some(if hinted { 0.85 } else { 0.7 }),
        (None, Some(Heading::Title)) if hinted => Some(0.3),
        (None, None) if hinted => Some(-0.25),
        (None, _) => None,
    }
}

/// Whether a heading with the other aspect says that its section is not about this one.
fn opposes(aspect: Aspect, other: Aspect) -> bool {
    matches!(
        (aspect, other),
        (Aspect::Advantages, Aspect::Drawbacks | Aspect::Risks)
            | (Aspect::Drawbacks | Aspect::Risks, Aspect::Advantages)
    )
}

fn polarity(words: &Words<'_>, around: &Surroundings) -> Polarity {
    let strength = |aspect| {
        lexicon::cues(aspect)
            .and_then(|cues| speaks_of(cues, words, around))
            .unwrap_or(0.0)
    };
    let (good, bad) = (strength(Aspect::Advantages), strength(Aspect::Drawbacks));
    if good > bad {
        Polarity::Positive
    } else if bad > good {
        Polarity::Negative
    } else {
        Polarity::Neutral
    }
}

/// The words of a text, ready to be compared with cues.
struct Words<'t> {
    text: &'t str,
    /// Its words as stems, names left empty.
    stems: Vec<String>,
    /// Its words as stems, names included.
    lower: Vec<String>,
}

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Self {
        let mut stems = Vec::new();
        let mut lower = Vec::new();
        for token in tokens(text) {
            if let Token::Word(word) = token {
                // A capital inside of a text makes a name, and the name of a thing says nothing about it.
                let name = !stems.is_empty() && word.starts_with(char::is_uppercase);
                let stem = stem(&word.to_lowercase());
                stems.push(if name { String::new() } else { stem.clone() });
                lower.push(stem);
            }
        }
        Self { text, stems, lower }
    }

    /// How early the first of these words stands: 0.2 in the first third, else 0; `None` if none does.
    fn first(&self, stems: &[String], phrases: &[&str]) -> Option<f64> {
        let early = |at: usize, of: usize| if at * 3 <= of { 0.2 } else { 0.0 };
        if let Some(at) = self.stems.iter().position(|stem| stems.contains(stem)) {
            return Some(early(at, self.stems.len()));
        }
        let phrase = phrases.iter().filter_map(|phrase| self.text.find(phrase)).min()?;
        Some(early(phrase, self.text.len()))
    }

    fn is_superlative(&self) -> bool {
        self.first(&lexicon::SUPERLATIVES, lexicon::SUPERLATIVES_CHINESE)
            .is_some_and(|early| early > 0.0)
    }
}
