//! The researcher: finds the sentences that bear on each aspect of a question.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::citation::{Citation, Quote};
use super::lexicon::{self, Cues};
use super::quality;
use super::question::{Aspect, Question};
use super::similarity::{TermSet, Weights, term_set};
use crate::docs::words::{Token, stem, tokens};
use crate::docs::{DocIndex, Document, IndexError, Sentence, index, query};

/// How many sentences each search may bring; the best of a large corpus are far above this rank.
const CANDIDATES_MAX: usize = 1_500;

/// How many findings a report can carry before nobody reads them, and the least that an aspect gets.
const FINDINGS_MAX: usize = 18;
const FINDINGS_PER_ASPECT_MIN: usize = 4;
const FINDINGS_PER_ASPECT_MAX: usize = 12;

/// How much a candidate loses for each finding that its document already has, and for what it repeats.
const LOSS_PER_FINDING: f64 = 0.14;
const LOSS_PER_REPETITION: f64 = 0.9;

/// Two sentences this alike are one finding; the second is kept as its echo.
const REPEATS: f64 = 0.55;

/// Sentences of two documents this alike make the same point in different words.
const ECHOES: f64 = 0.36;
const ECHOES_MAX: usize = 2;

/// What is left of a candidate's score must reach this, so that an aspect ends where the evidence does.
const SCORE_MIN: f64 = 0.45;

/// Whether a finding speaks for its subject or against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Polarity {
    /// For it.
    Positive,
    /// Against it.
    Negative,
    /// Neither.
    Neutral,
}

/// A sentence that bears on an aspect of the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The aspect.
    pub aspect: Aspect,
    /// The sentence and its place.
    pub quote: Quote,
    /// How well it bears on the aspect, in thousandths.
    pub score: u32,
    /// Whether it speaks for the subject or against it.
    pub polarity: Polarity,
    /// Sentences of other documents that make the same point.
    pub echoes: Vec<Quote>,
    /// Other places where the very same sentence stands.
    pub copies: Vec<Citation>,
}

/// What was searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Searched {
    /// Documents that were read.
    pub documents: usize,
    /// Their sentences, headings and rows.
    pub sentences: usize,
    /// Sentences that were weighed against the question.
    pub candidates: usize,
}

/// What the researcher found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// The question as it was asked.
    pub question: String,
    /// By aspect in the order of the question, the best first.
    pub findings: Vec<Finding>,
    /// What was searched for them.
    pub searched: Searched,
}

/// Finds the sentences that bear on each aspect of the question.
///
/// # Errors
/// [`IndexError`] if the index fails.
pub fn research(question: &Question, index: &DocIndex) -> Result<Findings, IndexError> {
    let candidates = candidates(question, index)?;
    let corpus = index.corpus();
    let searched = Searched {
        documents: corpus.documents.len(),
        sentences: index.len(),
        candidates: candidates.len(),
    };
    let mut pool = Pool::of(candidates);
    let mut findings = Vec::new();
    let share = (FINDINGS_MAX / question.aspects.len()).clamp(FINDINGS_PER_ASPECT_MIN, FINDINGS_PER_ASPECT_MAX);
    for aspect in &question.aspects {
        for (at, value) in pool.select(*aspect, share) {
            findings.push(pool.finding(at, *aspect, value));
        }
    }
    Ok(Findings {
        question: question.text.clone(),
        findings,
        searched,
    })
}

/// A sentence that might be quoted.
struct Candidate<'a> {
    document: &'a Document,
    sentence: &'a Sentence,
    terms: TermSet,
    /// What it is worth for each aspect of the question that it speaks of.
    worth: BTreeMap<Aspect, f64>,
    polarity: Polarity,
}

fn candidates<'a>(question: &Question, index: &'a DocIndex) -> Result<Vec<Candidate<'a>>, IndexError> {
    let subject = question.subject_text();
    let mut ranked: BTreeMap<index::SentenceId, f64> = BTreeMap::new();
    let mut queries: Vec<String> = query::any_of(&subject).into_iter().collect();
    for cues in question.aspects.iter().filter_map(|aspect| lexicon::cues(*aspect)) {
        queries.extend(query::both_of(
            &subject,
            &[cues.strong, cues.strong_chinese].concat().join(" "),
        ));
    }
    for query in queries {
        for (id, score) in index.ranked(&query, CANDIDATES_MAX)? {
            let best = ranked.entry(id).or_default();
            *best = best.max(score);
        }
    }
    let top = ranked.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let caveats: BTreeSet<&str> = warned_documents(index);
    let weigh = |(id, score): (index::SentenceId, f64)| {
        let (document, sentence) = index.sentence(id);
        let warned = caveats.contains(document.path.as_str());
        weighed(question, document, sentence, score / top, warned)
    };
    Ok(ranked.into_iter().filter_map(weigh).collect())
}

fn warned_documents(index: &DocIndex) -> BTreeSet<&str> {
    let warned = index
        .corpus()
        .documents
        .iter()
        .filter(|document| quality::caveat(document).is_some());
    warned.map(|document| document.path.as_str()).collect()
}

/// Weighs one sentence; `None` if it cannot be quoted or does not bear on the question.
fn weighed<'a>(
    question: &Question,
    document: &'a Document,
    sentence: &'a Sentence,
    rank: f64,
    warned: bool,
) -> Option<Candidate<'a>> {
    if !quality::is_quotable(sentence)
        || quality::is_apparatus(document, sentence)
        || quality::is_boilerplate(&sentence.text, question)
    {
        return None;
    }
    let terms = term_set(&sentence.text);
    let about = relevance(question, document, sentence, &terms)?;
    let base = 0.6 * about + 0.25 * rank - quality::penalty(sentence) - if warned { 0.4 } else { 0.0 };
    let mut worth = BTreeMap::new();
    for aspect in &question.aspects {
        let speaks = match lexicon::cues(*aspect) {
            Some(cues) => speaks_of(cues, document, sentence),
            None => Some(0.4),
        };
        if let Some(speaks) = speaks {
            worth.insert(*aspect, base + speaks);
        }
    }
    (!worth.is_empty()).then(|| Candidate {
        document,
        sentence,
        terms,
        worth,
        polarity: polarity(document, sentence),
    })
}

/// How much of the subject a sentence and its surroundings name, 0 to 1; `None` if nothing of it.
fn relevance(question: &Question, document: &Document, sentence: &Sentence, terms: &TermSet) -> Option<f64> {
    let subject = question.subject_terms();
    if subject.is_empty() {
        return Some(0.5);
    }
    let around = term_set(&index::context(document, sentence));
    let mut sum = 0.0;
    for term in &subject {
        if terms.contains(term) {
            sum += 1.0;
        } else if around.contains(term) {
            sum += 0.55;
        }
    }
    let wanted = f64::from(u32::try_from(subject.len()).unwrap_or(u32::MAX));
    (sum > 0.0).then_some(sum / wanted)
}

/// How strongly a sentence speaks of an aspect, by its own words and by the heading above it.
fn speaks_of(cues: &Cues, document: &Document, sentence: &Sentence) -> Option<f64> {
    let words = Words::of(&sentence.text);
    let named = words.first(cues.strong, cues.strong_chinese);
    let hinted = words.first(cues.weak, cues.weak_chinese).is_some();
    let headings = document
        .sections
        .get(sentence.section as usize)
        .map_or(&[][..], |section| section.headings());
    // The nearest heading that names this aspect or its opposite decides.
    let heading = headings.iter().rev().find_map(|heading| {
        let words = Words::of(heading);
        let this = words.first(cues.strong, cues.strong_chinese).is_some();
        let others = lexicon::LEXICON
            .iter()
            .filter(|other| opposes(cues.aspect, other.aspect));
        let other = others
            .into_iter()
            .any(|other| words.first(other.strong, other.strong_chinese).is_some());
        (this != other).then_some(this)
    });
    match (named, heading) {
        (Some(early), Some(true)) => Some(0.9 + early),
        (Some(early), None) => Some(0.7 + early),
        (Some(early), Some(false)) => Some(0.3 + early),
        (None, Some(true)) => Some(if hinted { 0.75 } else { 0.6 }),
        (None, None) if hinted => Some(0.1),
        (None, _) => None,
    }
}

/// Whether a heading with the other aspect says that its section is not about this one.
fn opposes(aspect: Aspect, other: Aspect) -> bool {
    matches!(
        (aspect, other),
        (Aspect::Advantages, Aspect::Drawbacks | Aspect::Risks | Aspect::Costs)
            | (Aspect::Drawbacks | Aspect::Risks | Aspect::Costs, Aspect::Advantages)
    )
}

fn polarity(document: &Document, sentence: &Sentence) -> Polarity {
    let strength = |aspect| {
        lexicon::cues(aspect)
            .and_then(|cues| speaks_of(cues, document, sentence))
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
struct Words<'a> {
    text: &'a str,
    stems: Vec<String>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let word = |token| match token {
            Token::Word(word) => Some(stem(&word.to_lowercase())),
            Token::Run(_) => None,
        };
        Self {
            text,
            stems: tokens(text).into_iter().filter_map(word).collect(),
        }
    }

    /// How early the first of these words stands: 0.2 at the beginning, 0 from the middle on; `None` if none does.
    fn first(&self, stems: &[&str], phrases: &[&str]) -> Option<f64> {
        let word = self.stems.iter().position(|stem| stems.contains(&stem.as_str()));
        let early = |at: usize, of: usize| if at * 3 <= of { 0.2 } else { 0.0 };
        if let Some(at) = word {
            return Some(early(at, self.stems.len()));
        }
        let phrase = phrases.iter().filter_map(|phrase| self.text.find(phrase)).min()?;
        Some(early(phrase, self.text.len()))
    }
}

/// The candidates, with what the choice so far makes of them.
struct Pool<'a> {
    candidates: Vec<Candidate<'a>>,
    weights: Weights,
    /// How much each candidate repeats of what was chosen.
    repeated: Vec<f64>,
}

impl<'a> Pool<'a> {
    fn of(candidates: Vec<Candidate<'a>>) -> Self {
        let weights = Weights::of(candidates.iter().map(|candidate| &candidate.terms));
        let repeated = vec![0.0; candidates.len()];
        Self {
            candidates,
            weights,
            repeated,
        }
    }

    /// Picks the sentences of one aspect: the best, but none that repeats another, and not all from one document.
    fn select(&mut self, aspect: Aspect, share: usize) -> Vec<(usize, f64)> {
        let mut chosen: Vec<(usize, f64)> = Vec::new();
        while chosen.len() < share {
            let Some(found) = self.best(aspect, &chosen) else { break };
            self.note_choice(found.0);
            chosen.push(found);
        }
        chosen
    }

    fn best(&self, aspect: Aspect, chosen: &[(usize, f64)]) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        for (at, candidate) in self.candidates.iter().enumerate() {
            let Some(worth) = belongs(candidate, aspect).filter(|_| self.repeated[at] < REPEATS) else {
                continue;
            };
            let same_document =
                |(other, _): &&(usize, f64)| std::ptr::eq(self.candidates[*other].document, candidate.document);
            let findings = f64::from(u32::try_from(chosen.iter().filter(same_document).count()).unwrap_or(u32::MAX));
            let value = worth - LOSS_PER_FINDING * findings - LOSS_PER_REPETITION * self.repeated[at];
            // Only a better one replaces: of equals the first in the order of documents and lines wins.
            if value >= SCORE_MIN && best.is_none_or(|(_, most)| value > most) {
                best = Some((at, value));
            }
        }
        best
    }

    fn note_choice(&mut self, chosen: usize) {
        for at in 0..self.candidates.len() {
            let similarity = self
                .weights
                .similarity(&self.candidates[chosen].terms, &self.candidates[at].terms);
            self.repeated[at] = self.repeated[at].max(similarity);
        }
        self.repeated[chosen] = 1.0;
    }

    fn finding(&self, at: usize, aspect: Aspect, value: f64) -> Finding {
        let chosen = &self.candidates[at];
        let mut alike: Vec<(f64, &Candidate<'_>)> = Vec::new();
        let mut copies = Vec::new();
        for other in &self.candidates {
            let elsewhere = !std::ptr::eq(other.document, chosen.document);
            if other.sentence.text == chosen.sentence.text {
                copies.push(Quote::of(&other.document.path, other.sentence).citation);
            } else if elsewhere && other.polarity == chosen.polarity {
                let similarity = self.weights.similarity(&chosen.terms, &other.terms);
                if similarity >= ECHOES && !quality::points_elsewhere(&other.sentence.text) {
                    alike.push((similarity, other));
                }
            }
        }
        let quote = Quote::of(&chosen.document.path, chosen.sentence);
        copies.retain(|copy| *copy != quote.citation);
        Finding {
            aspect,
            quote,
            score: thousandths(value),
            polarity: chosen.polarity,
            echoes: echoes(alike),
            copies,
        }
    }
}

/// The worth of a candidate for an aspect, if it speaks of no other aspect of the question more.
fn belongs(candidate: &Candidate<'_>, aspect: Aspect) -> Option<f64> {
    let worth = *candidate.worth.get(&aspect)?;
    candidate.worth.values().all(|other| *other <= worth).then_some(worth)
}

/// The most alike sentences, one of each document.
fn echoes(mut alike: Vec<(f64, &Candidate<'_>)>) -> Vec<Quote> {
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut echoes: Vec<Quote> = Vec::new();
    for (_, other) in alike {
        let new = echoes.iter().all(|echo| echo.citation.file != other.document.path);
        if new && echoes.len() < ECHOES_MAX {
            echoes.push(Quote::of(&other.document.path, other.sentence));
        }
    }
    echoes
}

fn thousandths(value: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a small range"
    )]
    let thousandths = (value.clamp(0.0, 1_000.0) * 1_000.0).round() as u32;
    thousandths
}
