//! The researcher: finds the sentences that bear on each aspect of a question.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::citation::{Citation, Quote};
use super::lexicon;
use super::quality;
use super::question::{Aspect, Question};
use super::similarity::{Weights, term_set};
use super::weigh::{Candidate, Scale};
use crate::docs::index::SentenceId;
use crate::docs::{DocIndex, IndexError, query};

/// How many sentences each search may bring; the best of a large corpus are far above this rank.
const CANDIDATES_MAX: usize = 1_500;

/// How many findings a report can carry before nobody reads them, and the least that an aspect gets.
const FINDINGS_MAX: usize = 18;
const FINDINGS_PER_ASPECT_MIN: usize = 4;
const FINDINGS_PER_ASPECT_MAX: usize = 12;

/// How many of an aspect's findings, in percent, one document may give while others have something to say.
const DOCUMENT_PERCENT_MAX: usize = 34;

/// How much a candidate loses for each finding that its document already has, and for what it repeats.
const LOSS_PER_FINDING: f64 = 0.08;
const LOSS_PER_REPETITION: f64 = 0.9;

/// What a point gains that another document makes too, and among how many of the best that is looked for.
const CORROBORATED: f64 = 0.12;
const CORROBORATION_CANDIDATES_MAX: usize = 160;

/// Two sentences this alike are one finding; the second is kept as its echo.
const REPEATS: f64 = 0.55;

/// Sentences this alike are copies of each other, which says nothing in favour of either.
const COPIES: f64 = 0.9;

/// Sentences of two documents this alike make the same point in different words.
const ECHOES: f64 = 0.30;
const ECHOES_MAX: usize = 2;
const ECHO_TERMS_MIN: usize = 3;

/// What is left of a candidate's score must reach this, so that an aspect ends where the evidence does.
const SCORE_MIN: f64 = 0.7;

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

/// The sentences that bear on the question, in the order of the corpus.
fn candidates<'a>(question: &'a Question, index: &'a DocIndex) -> Result<Vec<Candidate<'a>>, IndexError> {
    let subject = question.subject_text();
    let mut ranked: BTreeMap<SentenceId, f64> = BTreeMap::new();
    let mut queries: Vec<String> = query::any_of(&subject).into_iter().collect();
    for cues in question.aspects.iter().filter_map(|aspect| lexicon::cues(*aspect)) {
        queries.extend(query::both_of(
            &subject,
            &[cues.strong.join(" "), cues.strong_chinese.join(" ")].join(" "),
        ));
    }
    for query in queries {
        for (id, score) in index.ranked(&query, CANDIDATES_MAX)? {
            let best = ranked.entry(id).or_default();
            *best = best.max(score);
        }
    }
    let top = ranked.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let scale = Scale::new(question, index)?;
    let weigh = |(id, score): (SentenceId, f64)| {
        let (document, sentence) = index.sentence(id);
        scale.weigh(document, sentence, score / top)
    };
    Ok(ranked.into_iter().filter_map(weigh).collect())
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
        let weights = Weights::of(candidates.iter().map(|candidate| &candidate.told));
        let repeated = vec![0.0; candidates.len()];
        let mut pool = Self {
            candidates,
            weights,
            repeated,
        };
        pool.favour_corroborated();
        pool
    }

    /// Raises what several documents say: of two points alike in worth, a reader wants that one first.
    fn favour_corroborated(&mut self) {
        let best = |candidate: &Candidate<'_>| candidate.worth.values().copied().fold(0.0, f64::max);
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        order.sort_by(|a, b| best(&self.candidates[*b]).total_cmp(&best(&self.candidates[*a])));
        order.truncate(CORROBORATION_CANDIDATES_MAX);
        let corroborated: Vec<usize> = order
            .iter()
            .copied()
            .filter(|at| order.iter().any(|other| self.is_echo(*at, *other).is_some()))
            .collect();
        for at in corroborated {
            self.candidates[at]
                .worth
                .values_mut()
                .for_each(|worth| *worth += CORROBORATED);
        }
    }

    /// Whether two sentences are the same but for markup and spelling.
    fn is_copy(&self, at: usize, other: usize) -> bool {
        let (a, b) = (&self.candidates[at], &self.candidates[other]);
        let alike = a.numbers == b.numbers && self.weights.similarity(&a.told, &b.told) >= COPIES;
        alike || a.sentence.text == b.sentence.text
    }

    /// How alike two sentences of different documents are, if they make the same point in different words.
    fn is_echo(&self, at: usize, other: usize) -> Option<f64> {
        let (a, b) = (&self.candidates[at], &self.candidates[other]);
        if b.warned || std::ptr::eq(a.document, b.document) || a.polarity != b.polarity || self.is_copy(at, other) {
            return None;
        }
        // Different numbers are a difference, however alike the words are.
        if !a.numbers.is_empty() && !b.numbers.is_empty() && a.numbers != b.numbers {
            return None;
        }
        let similarity = self.weights.similarity(&a.told, &b.told);
        let stands = !quality::points_elsewhere(&b.sentence.text);
        (stands && similarity >= ECHOES && a.told.intersection(&b.told).count() >= ECHO_TERMS_MIN).then_some(similarity)
    }

    /// Picks the sentences of one aspect: the best, but none that repeats another, and not all from one document.
    fn select(&mut self, aspect: Aspect, share: usize) -> Vec<(usize, f64)> {
        let mut chosen: Vec<(usize, f64)> = Vec::new();
        let fair = (share * DOCUMENT_PERCENT_MAX).div_ceil(100);
        // What the others leave free goes to the documents that have more to say.
        for of_document_max in [fair, share] {
            while chosen.len() < share
                && let Some(found) = self.best(aspect, of_document_max, &chosen)
            {
                self.note_choice(found.0);
                chosen.push(found);
            }
        }
        chosen
    }

    fn best(&self, aspect: Aspect, of_document_max: usize, chosen: &[(usize, f64)]) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        for (at, candidate) in self.candidates.iter().enumerate() {
            let Some(worth) = belongs(candidate, aspect).filter(|_| self.repeated[at] < REPEATS) else {
                continue;
            };
            let same_document =
                |(other, _): &&(usize, f64)| std::ptr::eq(self.candidates[*other].document, candidate.document);
            let findings = chosen.iter().filter(same_document).count();
            if findings >= of_document_max {
                continue;
            }
            let findings = f64::from(u32::try_from(findings).unwrap_or(u32::MAX));
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
                .similarity(&self.candidates[chosen].told, &self.candidates[at].told);
            self.repeated[at] = self.repeated[at].max(similarity);
        }
        self.repeated[chosen] = 1.0;
    }

    fn finding(&self, at: usize, aspect: Aspect, value: f64) -> Finding {
        let chosen = &self.candidates[at];
        let mut alike: Vec<(f64, &Candidate<'_>)> = Vec::new();
        let mut copies = Vec::new();
        for (number, other) in self.candidates.iter().enumerate() {
            if number != at && self.is_copy(at, number) {
                copies.push(Quote::of(&other.document.path, other.sentence).citation);
            } else if let Some(similarity) = self.is_echo(at, number) {
                alike.push((similarity, other));
            }
        }
        let quote = Quote::of(&chosen.document.path, chosen.sentence);
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
        let repeats = |echo: &Quote| {
            echo.citation.file == other.document.path || term_set(&echo.text) == term_set(&other.sentence.text)
        };
        let new = !echoes.iter().any(repeats);
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
